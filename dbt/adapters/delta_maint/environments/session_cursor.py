"""A cursor over one Spark session of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.environments.base import Cursor
from dbt.adapters.delta_maint.lake.last_commit import forget_last_commit, last_committed_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AFFECTED = "num_affected_rows"


class SessionCursor(Cursor):
    def __init__(
        self,
        spark: SparkSession,
        before_statement: Callable[[], None],
        after_commit: Callable[[], None],
    ) -> None:
        self._spark = spark
        self._before_statement = before_statement
        self._after_commit = after_commit
        self._frame: DataFrame | None = None
        self._rows: list[tuple[Any, ...]] | None = None
        self._position = 0
        self._committed_version: int | None = None

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        self.close()
        self._before_statement()
        text = sql.strip().rstrip(";").rstrip()
        forget_last_commit(self._spark)
        self._frame = (
            self._spark.sql(text, args=list(bindings)) if bindings else self._spark.sql(text)
        )
        # Spark runs commands while it parses them, so the commit has happened by now.
        self._committed_version = last_committed_version(self._spark)
        if self._committed_version is not None:
            self._after_commit()

    def run_to_end(self) -> None:
        if self._frame is None or not self._frame.columns or self._is_command():
            return
        self._frame.write.format("noop").mode("overwrite").save()

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        if self._frame is None:
            return None
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows = self._all_rows()[self._position :]
        self._position += len(rows)
        return rows

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        if self._rows is None and self._frame is not None and self._position == 0:
            # What `limit` asks for: Spark stops early. Who asks for more gets the whole answer.
            rows = [tuple(row) for row in self._frame.take(size)]
        else:
            rows = self._all_rows()[self._position : self._position + size]
        self._position += len(rows)
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        rows = self._all_rows()
        if self._position >= len(rows):
            return None
        self._position += 1
        return rows[self._position - 1]

    @property
    def rows_affected(self) -> int | None:
        """UPDATE, DELETE and MERGE answer with one row that counts; other statements do not."""
        if self._frame is None or _AFFECTED not in self._frame.columns or not self._is_command():
            return None
        row = self._all_rows()[0]
        count = row[self._frame.columns.index(_AFFECTED)]
        return None if count is None else int(count)

    @property
    def committed_version(self) -> int | None:
        return self._committed_version

    def close(self) -> None:
        self._committed_version = None
        self._frame = None
        self._rows = None
        self._position = 0

    def _all_rows(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = [tuple(row) for row in self._frame.collect()] if self._frame else []
        return self._rows

    def _is_command(self) -> bool:
        """Spark runs commands when they are parsed; their DataFrame only holds the answer."""
        assert self._frame is not None
        executed = self._frame._jdf.queryExecution().commandExecuted()
        return str(executed.getClass().getSimpleName()) in ("CommandResult", "LocalRelation")
