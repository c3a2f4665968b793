"""What a model wants of its table against what the table has: the statements that close the gap.

Wanted and observed are the same frozen type. The comparison is one-sided: a property that the table has
and the model does not name is somebody else's and stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.errors import ConfigError


@dataclass(frozen=True)
class TableSettings:
    """`clustered_by` and `partitioned_by` are None when the model says nothing about them."""

    properties: Mapping[str, str] = field(default_factory=dict)
    clustered_by: tuple[str, ...] | None = None
    partitioned_by: tuple[str, ...] | None = None

    @classmethod
    def wanted(
        cls,
        *,
        properties: Mapping[str, object] | None,
        clustered_by: str | Sequence[str] | None,
        partitioned_by: str | Sequence[str] | None,
    ) -> TableSettings:
        return cls(
            properties={
                key: sql_text.property_text(value) for key, value in (properties or {}).items()
            },
            clustered_by=_names(clustered_by),
            partitioned_by=_names(partitioned_by),
        )

    @property
    def says_anything(self) -> bool:
        return bool(self.properties) or self.clustered_by is not None or bool(self.partitioned_by)


def changes(table: str, wanted: TableSettings, observed: TableSettings) -> list[str]:
    """The ALTER statements, none when the table is as wanted.

    >>> changes("t", TableSettings({"a": "1", "b": "2"}), TableSettings({"a": "1", "c": "3"}))
    ["alter table t set tblproperties ('b' = '2')"]
    """
    found = []
    different = {
        key: value
        for key, value in wanted.properties.items()
        if observed.properties.get(key) != value
    }
    if different:
        found.append(f"alter table {table} set tblproperties ({sql_text.properties(different)})")
    if wanted.clustered_by is not None and _lowered(wanted.clustered_by) != _lowered(
        observed.clustered_by or ()
    ):
        columns = (
            f"({sql_text.identifier_list(wanted.clustered_by)})" if wanted.clustered_by else "none"
        )
        found.append(f"alter table {table} cluster by {columns}")
    return found


def refuse_other_partitions(table: str, wanted: TableSettings, observed: TableSettings) -> None:
    """Delta cannot repartition a table in place, and writing as if it had would be wrong."""
    if wanted.partitioned_by is None:
        return
    if _lowered(wanted.partitioned_by) != _lowered(observed.partitioned_by or ()):
        raise ConfigError(
            f"partition_by is {_told(wanted.partitioned_by)}, but {table} is partitioned by "
            f"{_told(observed.partitioned_by or ())}: run this model once with --full-refresh, or "
            "set partition_by back."
        )


def _names(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def _lowered(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def _told(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
