"""A cursor over a session on a Spark Thrift server.

A statement that writes a table by name carries a number of its own in the mark of its commit. When its
answer is lost, that number is looked for in the table's history, and the error says what became of it: the
session has ended with its connection, so nothing is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConnectionLostError, DeltaMaintError
from dbt.adapters.delta_maint.core.written_table import only_reads, written_table
from dbt.adapters.delta_maint.environments.base import Cursor
from dbt.adapters.delta_maint.environments.lost_statements import LostStatement
from dbt.adapters.delta_maint.environments.thrift_session import ThriftAnswer
from dbt.adapters.delta_maint.environments.thrift_sql import ThriftSql
from dbt.adapters.delta_maint.lake.statement_mark import StatementMark

_AFFECTED = "num_affected_rows"
_VERSION = "spark.databricks.delta.lastCommitVersionInSession"


class ThriftCursor(Cursor):
    def __init__(
        self,
        sql: ThriftSql,
        after_loss: Callable[[LostStatement], None],
        is_gone: Callable[[], bool],
    ) -> None:
        self._sql = sql
        self._after_loss = after_loss
        self._is_gone = is_gone
        self._answer: ThriftAnswer | None = None
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._is_command = False
        self._affected: int | None = None
        self._committed_version: int | None = None

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        if bindings:
            raise DeltaMaintError(
                "A Spark Thrift server takes no values beside a statement: write them into the SQL."
            )
        self.close()
        text = sql.strip().rstrip(";").rstrip()
        self._is_command = not only_reads(text)
        if self._is_command:
            self._write(text)
        else:
            with self._reading():
                self._answer = self._sql.session.run(text)

    def _write(self, text: str) -> None:
        table = written_table(text)
        mark: StatementMark | None = None
        try:
            mark = StatementMark.put_on(self._sql, table) if table else None
            self._answer = self._sql.session.run(text)
            self._committed_version = self._taken_version()
        except ConnectionLostError as exc:
            self._after_loss(LostStatement(mark, exc))
            raise
        finally:
            if mark is not None and not self._is_gone():
                mark.take_off(self._sql)

    def _taken_version(self) -> int | None:
        """The version that the statement committed; the next one finds none until it commits."""
        session = self._sql.session
        found = session.fresh_conf(_VERSION)
        if found is None:
            return None
        session.set_conf(_VERSION, None)
        return int(found)

    def run_to_end(self) -> None:
        """The server has executed the statement whole before it answered; what it found it may forget."""
        if self._is_command:
            _ = self.rows_affected
        self.let_go()

    def let_go(self) -> None:
        """Rows that are still on the server are fetched no more."""
        if self._answer is not None:
            self._answer.close()

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        if self._answer is None:
            return None
        with self._reading():
            return [
                (column.name, column.type_name, None, None, None, None, True)
                for column in self._answer.columns
            ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        with self._reading():
            return list(self._stream())

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        with self._reading():
            return list(islice(self._stream(), size))

    def fetchone(self) -> tuple[Any, ...] | None:
        found = self.fetchmany(1)
        return found[0] if found else None

    @property
    def rows_affected(self) -> int | None:
        """UPDATE, DELETE and MERGE answer with one row that counts; other statements do not."""
        if self._answer is None or not self._is_command or self._answer.is_ended:
            return self._affected
        with self._reading():
            names = [column.name for column in self._answer.columns]
            if _AFFECTED not in names:
                return None
            rows = list(self._stream())
        self._rows = iter(rows)
        count = rows[0][names.index(_AFFECTED)] if rows else None
        self._affected = None if count is None else int(count)
        return self._affected

    @property
    def committed_version(self) -> int | None:
        return self._committed_version

    def close(self) -> None:
        self.let_go()
        self._answer = None
        self._rows = None
        self._affected = None
        self._committed_version = None

    def _stream(self) -> Iterator[tuple[Any, ...]]:
        if self._rows is None:
            answer = self._answer
            self._rows = iter(()) if answer is None else chain.from_iterable(answer.batches())
        return self._rows

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except ConnectionLostError as exc:
            self._after_loss(LostStatement(None, exc))
            raise
