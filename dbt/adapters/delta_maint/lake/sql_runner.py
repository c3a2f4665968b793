"""SQL text in, rows out: all that reading a table's log, and compacting it, need of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]


class SqlRunner(Protocol):
    def run(self, sql: str) -> None:
        """A statement whose answer nobody needs."""

    def rows(self, sql: str) -> Iterator[Row]: ...


class SqlConnection(SqlRunner, Protocol):
    """A connection with settings of its own."""

    @property
    def spark(self) -> SparkSession | None:
        """The session, classic or remote, where there is one and not only SQL."""

    def answer(self, sql: str) -> list[Row]:
        """The rows of a command, structures in them as dictionaries."""

    def conf(self, key: str) -> str | None: ...

    def set_conf(self, key: str, value: str | None) -> None:
        """None takes back what was set."""

    def fresh(self) -> AbstractContextManager[SqlConnection]:
        """Another connection, with the profile's settings and none that were made since."""


class SessionSql:
    """Runs in a Spark session, classic or remote; rows travel as Arrow batches, not one by one."""

    def __init__(self, spark: Any) -> None:
        self._session: SparkSession = spark

    @property
    def spark(self) -> SparkSession:
        return self._session

    def run(self, sql: str) -> None:
        self.spark.sql(sql)

    def rows(self, sql: str) -> Iterator[Row]:
        for batch in self.spark.sql(sql).toArrow().to_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def answer(self, sql: str) -> list[Row]:
        # Not through Arrow: Delta answers nulls in fields that it declares without.
        return [tuple(row.asDict(recursive=True).values()) for row in self.spark.sql(sql).collect()]

    def conf(self, key: str) -> str | None:
        return self.spark.conf.get(key, None)

    def set_conf(self, key: str, value: str | None) -> None:
        if value is None:
            self.spark.conf.unset(key)
        else:
            self.spark.conf.set(key, value)

    @contextmanager
    def fresh(self) -> Iterator[SessionSql]:
        session = self.spark.newSession()
        try:
            yield SessionSql(session)
        finally:
            # A session on a server stays there until somebody lets go of it.
            release = getattr(session, "release", None)
            if release is not None:
                release()


def has_driver(spark: Any) -> bool:
    """Whether Spark's driver is in reach of this process; a remote session only knows its server."""
    return getattr(spark, "_jsparkSession", None) is not None
