"""A cursor over a Spark Connect session.

A statement that writes a table by name carries a number of its own in the mark of its commit. When its
answer is lost, that number is looked for in the table's history before anything else happens: nothing is
sent twice that may have committed, and the error says what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.errors import ConnectionLostError
from dbt.adapters.delta_maint.core.written_table import only_reads, written_table
from dbt.adapters.delta_maint.environments.base import Cursor
from dbt.adapters.delta_maint.environments.connect_client import ConnectSession, is_lost
from dbt.adapters.delta_maint.environments.lost_statements import LostStatement
from dbt.adapters.delta_maint.lake.last_commit import forget_last_commit, last_committed_version
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql
from dbt.adapters.delta_maint.lake.statement_mark import StatementMark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AFFECTED = "num_affected_rows"


class ConnectCursor(Cursor):
    def __init__(
        self,
        session: Callable[[], ConnectSession],
        after_loss: Callable[[LostStatement], int | None],
        is_gone: Callable[[], bool],
    ) -> None:
        self._session = session
        self._after_loss = after_loss
        self._is_gone = is_gone
        self._frame: DataFrame | None = None
        self._is_command = False
        self._rows: Iterator[Any] | None = None
        self._committed_version: int | None = None

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        self.close()
        text = sql.strip().rstrip(";").rstrip()
        if only_reads(text):
            with self._reading():
                self._take(_run(self._session(), text, bindings))
            return
        for _ in range(2):
            # The second time the server never began it, and no commit carries its number.
            if self._write(text, bindings):
                return
        raise ConnectionLostError("The connection breaks whenever the statement is sent.")

    def _write(self, text: str, bindings: Sequence[Any] | None) -> bool:
        """Whether the statement has run; False where it certainly has not."""
        spark = self._session()
        table = written_table(text)
        mark: StatementMark | None = None
        try:
            forget_last_commit(spark)
            mark = StatementMark.put_on(SessionSql(spark), table) if table else None
            self._take(_run(spark, text, bindings))
            self._committed_version = last_committed_version(spark)
            return True
        except Exception as exc:
            if not is_lost(exc):
                raise
            self._frame, self._rows = None, iter(())
            self._committed_version = self._after_loss(LostStatement(mark, exc))
            return self._committed_version is not None
        finally:
            if mark is not None and not self._is_gone():
                mark.take_off(SessionSql(spark))

    def run_to_end(self) -> None:
        if self._frame is None or not self._frame.columns or self._is_command:
            return
        with self._reading():
            self._frame.write.format("noop").mode("overwrite").save()

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        if self._frame is None:
            return None
        with self._reading():
            return [
                (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
                for field in self._frame.schema.fields
            ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            return self._answer()
        with self._reading():
            return [tuple(row) for row in self._rows]

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        with self._reading():
            return [tuple(row) for row in islice(self._stream(), size)]

    def fetchone(self) -> tuple[Any, ...] | None:
        found = self.fetchmany(1)
        return found[0] if found else None

    @property
    def rows_affected(self) -> int | None:
        if self._frame is None or not self._is_command or _AFFECTED not in self._frame.columns:
            return None
        row = self._answer()[0]
        self._rows = iter([row])
        count = row[self._frame.columns.index(_AFFECTED)]
        return None if count is None else int(count)

    @property
    def committed_version(self) -> int | None:
        return self._committed_version

    def close(self) -> None:
        self._committed_version = None
        self._frame = None
        self._is_command = False
        self._rows = None

    def _take(self, frame: DataFrame) -> None:
        self._frame = frame
        # The server answers a command with its rows, a query with the query.
        relation: Any = getattr(frame._plan, "_plan", None)  # type: ignore[attr-defined]
        kind = relation.WhichOneof("rel_type") if relation is not None else None
        self._is_command = kind in ("local_relation", "chunked_cached_local_relation")

    def _stream(self) -> Iterator[Any]:
        """Rows as they are asked for; what nobody asks for the server need not send."""
        if self._rows is None:
            found = iter(()) if self._frame is None else self._frame.toLocalIterator()
            self._rows = found
        return self._rows

    def _answer(self) -> list[tuple[Any, ...]]:
        with self._reading():
            rows = [] if self._frame is None else [tuple(row) for row in self._frame.collect()]
        self._rows = iter(())
        return rows

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:
            if not is_lost(exc):
                raise
            self._after_loss(LostStatement(None, exc))
            raise ConnectionLostError("The answer was lost.") from exc


def _run(spark: ConnectSession, text: str, bindings: Sequence[Any] | None) -> DataFrame:
    return spark.sql(text, args=list(bindings)) if bindings else spark.sql(text)
