"""The commit that a session has just made, and what it did, for a few milliseconds.

Delta notes in the session's own conf which version its last commit was. With it the commit is found
exactly, whoever else writes to the table at the same time, and its metrics are the first line of one
small file. DESCRIBE HISTORY says the same for a Spark job.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from dbt.adapters.delta_maint.core.commit_metrics import CommitMetrics
from dbt.adapters.delta_maint.lake import sql_log
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql, has_driver

_VERSION = "spark.databricks.delta.lastCommitVersionInSession"


def forget_last_commit(spark: Any) -> None:
    spark.conf.unset(_VERSION)


def last_committed_version(spark: Any) -> int | None:
    """The version committed since `forget_last_commit`; None when nothing was."""
    version = spark.conf.get(_VERSION, None)
    return None if version is None else int(version)


def commit_metrics(spark: Any, location: str, version: int) -> CommitMetrics | None:
    """None when the commit's file is no longer, or not yet, under its usual name."""
    for line in commit_lines(spark, location, version):
        return CommitMetrics.of_commit_line(line)
    return None


def commit_lines(spark: Any, location: str, version: int, limit: int = 100) -> Iterator[str]:
    """The first lines of a commit's file, as far as they are asked for."""
    if not has_driver(spark):
        yield from sql_log.commit_lines(SessionSql(spark), location, version, limit)
        return
    name = f"{location}/_delta_log/{version:020d}.json"
    try:
        if name.startswith("file:"):
            # The driver is this process's own: no need to ask it for every line.
            yield from _local_lines("/" + name.removeprefix("file:").lstrip("/"), limit)
        else:
            yield from _hadoop_lines(spark, name, limit)
    except OSError:  # a coordinated commit may still stand under another name
        return


def _local_lines(name: str, limit: int) -> Iterator[str]:
    with open(name, encoding="utf-8") as lines:
        for line in islice(lines, limit):
            yield line.rstrip("\n")


def _hadoop_lines(spark: Any, name: str, limit: int) -> Iterator[str]:
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(name)
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    try:
        stream = files.open(path)
    except Exception as exc:
        raise FileNotFoundError(name) from exc
    try:
        reader = jvm.java.io.BufferedReader(jvm.java.io.InputStreamReader(stream, "UTF-8"))
        for _ in range(limit):
            line = reader.readLine()
            if line is None:
                return
            yield str(line)
    finally:
        stream.close()
