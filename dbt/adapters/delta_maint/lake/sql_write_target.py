"""The table a write goes to, asked by nothing but SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core.calibration import PastWrite
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.table import Snapshot
from dbt.adapters.delta_maint.lake.inventory import read_snapshot
from dbt.adapters.delta_maint.lake.recent_writes import recent_writes_by_sql
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.lake.write_target import WriteTarget


@dataclass
class SqlWriteTarget(WriteTarget):
    @classmethod
    def asked(
        cls, sql: SqlConnection, name: str, *, partition_columns: Sequence[str] | None = None
    ) -> SqlWriteTarget | None:
        """As `existing` of a session."""
        found = sql.answer(f"describe detail {name}")
        if not found or found[0][0] != "delta":
            return None
        _, _, _, _, location, _, _, columns, _, files, size = found[0][:11]
        return cls(
            tuple(columns if partition_columns is None else partition_columns),
            str(location),
            int(size or 0),
            int(files or 0),
        )

    def key_texts(self, sql: SqlConnection, offered: Sequence[str]) -> list[str]:
        """The partition columns of the rows as SQL; a generated one as Delta will compute it."""
        names = {name.lower() for name in offered}
        found = []
        for name in self.partition_columns:
            if name.lower() in names:
                found.append(identifier(name))
                continue
            expression = self._generation(sql, name)
            if expression is not None:
                found.append(f"({expression})")
        return found

    def past_writes(self, sql: Any) -> list[PastWrite]:
        return recent_writes_by_sql(sql, self.location) if self.location else []

    def _read(self, sql: Any, location: str) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = read_snapshot(sql, location)
        return self._snapshot
