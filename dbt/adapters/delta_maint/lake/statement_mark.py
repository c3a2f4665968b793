"""A number for one statement in the mark of the commit it makes, and the search for it.

A server that is reached over a network may commit and never be heard. The number tells, from the history
of the table alone, whether it did.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.delta_maint.lake.commit_mark import CONF, WRITE, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection

STATEMENT = "statement"
LOOK_BACK = 50
_PARQUET = re.compile(r"^parquet\s*\.", re.IGNORECASE)

Rows = Callable[[str], Iterable[Any]]


@dataclass(frozen=True)
class StatementMark:
    """`number` is None where the user's own metadata takes the place of our mark."""

    table: str
    number: str | None
    before: str | None

    @classmethod
    def put_on(cls, sql: SqlConnection, table: str) -> StatementMark:
        before = sql.conf(CONF)
        mark = read_mark(before)
        if before and mark is None:
            return cls(table, None, before)
        number = uuid.uuid4().hex
        mark = mark or CommitMark(WRITE, "")
        text = replace(mark, details={**mark.details, STATEMENT: number}).text()
        sql.set_conf(CONF, text)
        return cls(table, number, before)

    def take_off(self, sql: SqlConnection) -> None:
        if self.number is not None:
            sql.set_conf(CONF, self.before)

    def committed_version(self, rows: Rows) -> int | None:
        """The version the statement committed; None when no commit carries its number."""
        # What CONVERT names as a folder of parquet has become one of Delta, if it has.
        table = _PARQUET.sub("delta.", self.table)
        history = f"describe history {table} limit {LOOK_BACK}"
        for row in rows(history):
            found = read_mark(row["userMetadata"])
            if found is not None and found.details.get(STATEMENT) == self.number:
                return int(row["version"])
        return None
