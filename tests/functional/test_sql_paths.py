"""What a connection without a driver asks by SQL and EXPLAIN is what a driver would have told it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.adapters.delta_maint.lake import query_facts, sql_log
from dbt.adapters.delta_maint.lake.commit_files import (
    HadoopCommitFiles,
    LocalCommitFiles,
    commit_files,
)
from dbt.adapters.delta_maint.lake.commit_mark import CONF, WRITE, CommitMark
from dbt.adapters.delta_maint.lake.cores import cores_by_sql
from dbt.adapters.delta_maint.lake.last_commit import commit_lines
from dbt.adapters.delta_maint.lake.recent_writes import (
    added_files,
    read_commit,
    recent_writes,
    recent_writes_by_sql,
)
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql
from pyspark.sql import functions as F

QUERIES = [
    "select id, p from {t}",
    "select id, p from {t} where id > 3 order by p, id desc nulls last",
    "select p, count(*) as n from {t} group by p",
    "select l.id, r.p from {t} l join {t} r on l.id = r.id",
    "select id, p, rand() as r from {t}",
    "select id, p from {t} where rand() < 0.5",
    "select id, p, uuid() as u from {t} order by p",
    "select id, p from {t} order by id + 1",
    "select id, p, row_number() over (partition by p order by id) as n from {t}",
    "select explode(sequence(0, id)) as id, p from {t}",
    "select id, 0 as p from range(1000)",
    "select * from (select id, p from {t} union all select id, p from {t}) order by p",
    "select /*+ repartition(3) */ id, p from {t}",
]


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    return spark.newSession()


@pytest.fixture(scope="module")
def table(session: Any) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex}"
    session.sql(
        f"create table {name} using delta partitioned by (p) as "
        "select id, cast(id % 3 as int) as p from range(100)"
    )
    for number in range(3):
        details = {"fingerprint": f"f{number}", "mode": "exact", "target_bytes": 100}
        session.conf.set(CONF, CommitMark(WRITE, "1", details=details).text())
        session.sql(f"insert into {name} select id, 1 from range({number + 5})")
    session.conf.unset(CONF)
    session.sql(f"insert into {name} select 1, 1")
    yield name
    session.sql(f"drop table {name}")


@pytest.mark.parametrize("query", QUERIES)
def test_explain_tells_what_the_plan_tells(session: Any, table: str, query: str) -> None:
    frame = session.sql(query.format(t=table))
    keys = [F.col("p")]
    told = query_facts.inspect_text(frame, frame, keys)
    known = query_facts.inspect(frame, frame, keys)
    assert told.is_deterministic == known.is_deterministic
    assert told.random_columns == known.random_columns
    assert told.heavy_operators == known.heavy_operators
    assert told.may_multiply == known.may_multiply
    assert told.sort == known.sort
    assert told.scan_bytes == pytest.approx(known.scan_bytes, rel=0.06)


def test_commits_read_by_sql_are_those_in_the_files(session: Any, table: str) -> None:
    sql = SessionSql(session)
    location = session.sql(f"describe detail {table}").first()["location"]
    assert sql_log.newest_version(sql, location) == 4
    for version in range(5):
        assert sql_log.read_commit(sql, location, version) == read_commit(
            session, location, version
        )
        first = next(sql_log.commit_lines(sql, location, version, 1))
        assert first == next(commit_lines(session, location, version))
    assert sql_log.read_commit(sql, location, 99) == []
    found = recent_writes_by_sql(sql, location)
    assert found == recent_writes(session, location)
    assert [write.fingerprint for write in found] == ["f2", "f1", "f0"]


def test_commit_files_are_the_same_through_hadoop(session: Any, table: str) -> None:
    location = session.sql(f"describe detail {table}").first()["location"]
    here, there = commit_files(session, location), HadoopCommitFiles(session, location)
    assert isinstance(here, LocalCommitFiles)
    assert here.newest_version() == there.newest_version() == 4
    for version in range(6):
        assert here.text(version) == there.text(version)
    assert here.text(5) is None
    for files in (commit_files(session, f"{location}_gone"), HadoopCommitFiles(session, "/gone")):
        assert files.newest_version() == -1
        assert files.text(0) is None


def test_a_statistic_may_hold_what_python_takes_for_the_end_of_a_line(session: Any) -> None:
    name = f"t_{uuid.uuid4().hex}"
    session.sql(f"create table {name} using delta as select 'a\u2028b\u0085c' as s, 1 as n")
    location = session.sql(f"describe detail {name}").first()["location"]
    assert [file.rows for file in added_files(read_commit(session, location, 0))] == [1]
    session.sql(f"drop table {name}")


def test_cores_are_counted_as_the_driver_counts_them(session: Any) -> None:
    assert cores_by_sql(SessionSql(session)) == session.sparkContext.defaultParallelism
