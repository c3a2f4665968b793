"""SQL text in, rows out: all that reading a table's log needs of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]


class SqlRunner(Protocol):
    def run(self, sql: str) -> None:
        """A statement whose answer nobody needs."""

    def rows(self, sql: str) -> Iterator[Row]: ...


class SessionSql:
    """Runs in a Spark session of this process; rows travel as Arrow batches, not one by one."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def run(self, sql: str) -> None:
        self.spark.sql(sql)

    def rows(self, sql: str) -> Iterator[Row]:
        for batch in self.spark.sql(sql).toArrow().to_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
