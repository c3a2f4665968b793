"""One Delta table by its SQL name: where it lies, and whether it is Delta at all."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.delta_maint.core.errors import NotDeltaError
from dbt.adapters.delta_maint.core.table import Snapshot
from dbt.adapters.delta_maint.lake.inventory import read_snapshot
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.log_reader import VersionBefore
from dbt.adapters.delta_maint.lake.spark_errors import error_class, telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner, has_driver


@dataclass(frozen=True)
class DeltaTable:
    """`name` is SQL text, already quoted: a relation, or delta.`/path`."""

    name: str
    location: str
    table_id: str

    @classmethod
    def find(cls, sql: SqlRunner, name: str) -> DeltaTable:
        """The table of that name; NotDeltaError for a view, another format, or none at all."""
        spark = getattr(sql, "spark", None)
        if has_driver(spark):
            # DESCRIBE counts the files of the table: jobs, on one that Delta has not read yet.
            known = JvmDelta(spark).identify(name)
            if known is not None:
                return cls(name, *known)
        try:
            rows = list(sql.rows(f"describe detail {name}"))
        except Exception as exc:
            sentence = telling_sentence(exc)
            if (error_class(sentence) or "").endswith("_NOT_FOUND"):
                raise NotDeltaError(f"{name} does not exist.") from exc
            if (error_class(sentence) or "").startswith("EXPECT_TABLE_NOT_VIEW"):
                raise NotDeltaError(f"{name} is a view, not a Delta table.") from exc
            if (error_class(sentence) or "").startswith("DELTA_UNSUPPORTED_FEATURES"):
                raise NotDeltaError(f"{name} cannot be read: {sentence}") from exc
            raise NotDeltaError(f"{name} is not a Delta table: {sentence}") from exc
        kind, table_id, _, _, location = rows[0][:5]
        if str(kind).lower() != "delta":
            raise NotDeltaError(f"{name} is not a Delta table: its format is {kind}.")
        return cls(name, str(location), str(table_id))

    def snapshot(self, sql: SqlRunner, *, version_before: VersionBefore | None = None) -> Snapshot:
        return read_snapshot(sql, self.location, version_before=version_before)
