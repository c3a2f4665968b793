"""A write ready to run over a connection that knows nothing but SQL: its rows are a query."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.lake.prepared_write import PreparedWrite
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection


@dataclass
class SqlPreparedWrite(PreparedWrite):
    """`query` is None for a MERGE, whose rows Delta reads from where the statement says."""

    sql: SqlConnection | None = None
    query: str | None = None

    @property
    def has_rows(self) -> bool:
        return self.query is not None

    def show_as(self, view: str) -> None:
        assert self.query is not None
        self._connection.run(f"create or replace temporary view {identifier(view)} as {self.query}")
        self.view = view

    @contextmanager
    def running(self, spark: Any) -> Iterator[None]:
        """As a session does it: the settings are in force inside, and as before afterwards."""
        sql = self._connection
        before = {key: sql.conf(key) for key in self.settings}
        try:
            for key, value in self.settings.items():
                sql.set_conf(key, value)
            yield
        except BaseException:
            # What went wrong is told, not that a session which is gone cannot be tidied up.
            with contextlib.suppress(Exception):
                self._take_back(before)
            raise
        self._take_back(before)

    def _take_back(self, before: dict[str, str | None]) -> None:
        try:
            for key, previous in before.items():
                self._connection.set_conf(key, previous)
        finally:
            self.release(None)

    def release(self, spark: Any) -> None:
        if self.view is not None:
            self._connection.run(f"drop view if exists {identifier(self.view)}")
            self.view = None

    @property
    def _connection(self) -> SqlConnection:
        assert self.sql is not None
        return self.sql
