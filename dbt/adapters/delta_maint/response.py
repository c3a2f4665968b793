"""What a model did, for the console line and `run_results.json`.

One object per model: the write fills the numbers of its commit, later steps (compaction, an optimized
write) add theirs under their own key with `with_part`. Nothing here reads the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.delta_maint.core.commit_metrics import CommitMetrics


@dataclass
class DeltaMaintResponse(AdapterResponse):
    table_version: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    # What later steps said; the numbers of the commit may become known after them.
    sentences: list[str] = field(default_factory=list)

    def __post_serialize__(
        self, dct: dict[str, Any], context: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """`parts` stand beside the other numbers, each under its own key."""
        dct = super().__post_serialize__(dct, context)
        parts = dct.pop("parts", {})
        dct.pop("sentences", None)
        return {**dct, **parts}

    def with_metrics(self, metrics: CommitMetrics) -> DeltaMaintResponse:
        """The numbers of a commit. A row count that the statement itself gave is kept."""
        rows = self.rows_affected if self.rows_affected is not None else metrics.rows_affected
        known = {f.name for f in fields(self)} & {f.name for f in fields(metrics)}
        numbers = {name: getattr(metrics, name) for name in known}
        told = ", ".join((message(rows), *self.sentences))
        return self._but(_message=told, rows_affected=rows, **numbers)

    def with_part(
        self, key: str, numbers: dict[str, Any], *, sentence: str | None = None
    ) -> DeltaMaintResponse:
        """Adds what a later step did: `numbers` under `key`, `sentence` to the console line."""
        more = [sentence] if sentence else []
        return self._but(
            _message=", ".join((self._message, *more)),
            parts={**self.parts, key: numbers},
            sentences=[*self.sentences, *more],
        )

    def _but(self, **changes: Any) -> DeltaMaintResponse:
        return replace(self, **changes)


def message(rows: int | None) -> str:
    """
    >>> message(1)
    '1 row'
    """
    if rows is None:
        return "OK"
    return f"{rows} row" if rows == 1 else f"{rows} rows"


def of_statement(*, rows_affected: int | None, table_version: int | None) -> DeltaMaintResponse:
    return DeltaMaintResponse(
        _message=message(rows_affected), rows_affected=rows_affected, table_version=table_version
    )


def enlarged(response: Any) -> DeltaMaintResponse:
    """Any response of dbt's as one of ours."""
    if isinstance(response, DeltaMaintResponse):
        return response
    if isinstance(response, AdapterResponse):
        return DeltaMaintResponse(**{f.name: getattr(response, f.name) for f in fields(response)})
    return DeltaMaintResponse(_message=str(response))
