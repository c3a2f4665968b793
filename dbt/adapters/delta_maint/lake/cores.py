"""How many tasks run side by side where the work is done."""

from __future__ import annotations

from typing import Any

from dbt.adapters.delta_maint.lake.sql_runner import (
    SessionSql,
    SqlConnection,
    SqlRunner,
    has_driver,
)

_KNOWN: dict[str, int] = {}


def session_cores(spark: Any) -> int:
    if has_driver(spark):
        return int(spark.sparkContext.defaultParallelism)
    server = str(getattr(spark, "settings", spark.client.host))
    if server not in _KNOWN:
        _KNOWN[server] = cores_by_sql(SessionSql(spark))
    return _KNOWN[server]


def connection_cores(sql: SqlConnection) -> int:
    if sql.spark is not None:
        return session_cores(sql.spark)
    server = str(getattr(sql, "server", ""))
    if server not in _KNOWN:
        _KNOWN[server] = cores_by_sql(sql)
    return _KNOWN[server]


def cores_by_sql(sql: SqlRunner) -> int:
    """Spark cuts a range into as many parts as it runs tasks at once."""
    query = (
        "select count(distinct part) from "
        "(select spark_partition_id() as part from range(0, 100000))"
    )
    return max(1, int(next(iter(sql.rows(query)))[0]))
