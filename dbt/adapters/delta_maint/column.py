"""Columns that know Spark's own names of types."""

from __future__ import annotations

from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.spark.column import SparkColumn

INTEGERS = {"tinyint", "smallint", "int", "integer", "bigint"}
FLOATS = {"float", "real", "double"}


class DeltaMaintColumn(SparkColumn):
    @property
    def quoted(self) -> str:
        return identifier(self.column)

    @property
    def _kind(self) -> str:
        return str(self.dtype).lower().split("(")[0]

    def is_string(self) -> bool:
        return self._kind in {"string", "varchar", "char"}

    def is_integer(self) -> bool:
        return self._kind in INTEGERS

    def is_float(self) -> bool:
        return self._kind in FLOATS

    def is_numeric(self) -> bool:
        return self._kind in {"decimal", "numeric"}

    def is_number(self) -> bool:
        return self.is_integer() or self.is_float() or self.is_numeric()
