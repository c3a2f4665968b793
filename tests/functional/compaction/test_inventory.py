"""What we read from the log is what Delta's own snapshot says, whatever the table's features."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from dbt.adapters.delta_maint.core.errors import LogError, NotDeltaError
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.table import Snapshot
from dbt.adapters.delta_maint.lake import local_log
from dbt.adapters.delta_maint.lake.commit_mark import CONF, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.inventory import SqlLogReader, read_snapshot
from dbt.adapters.delta_maint.lake.local_log import LocalLogReader, UnreadHereError
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

from tests.functional.compaction.delta_truth import delta_files, delta_log

DV = "'delta.enableDeletionVectors' = 'true'"
MAPPING = "'delta.columnMapping.mode' = 'name'"
EVERY_2 = "'delta.checkpointInterval' = '2'"

TABLES = {
    "plain": ("(id bigint, s string)", ""),
    "partitioned with vectors": ("(id bigint, s string) partitioned by (s)", DV),
    "column mapping by name": (
        "(id bigint, `a b` string) partitioned by (`a b`)",
        f"{DV}, {MAPPING}",
    ),
    "clustered": ("(id bigint, s string) cluster by (id)", DV),
    "row tracking and change feed": (
        "(id bigint, s string) partitioned by (s)",
        "'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true'",
    ),
    "classic checkpoint": ("(id bigint, s string) partitioned by (s)", f"{DV}, {EVERY_2}"),
    "checkpoint with statistics as a struct": (
        "(id bigint, s string) partitioned by (s)",
        f"{EVERY_2}, 'delta.checkpoint.writeStatsAsJson' = 'false', "
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
    ),
    "multi-part checkpoint": ("(id bigint, s string) partitioned by (s)", f"{DV}, {EVERY_2}"),
    "V2 checkpoint with sidecars": (
        "(id bigint, s string) partitioned by (s)",
        f"{DV}, {EVERY_2}, 'delta.checkpointPolicy' = 'v2'",
    ),
    "V2 checkpoint as JSON": (
        "(id bigint, s string) partitioned by (s)",
        f"{EVERY_2}, 'delta.checkpointPolicy' = 'v2'",
    ),
}
CONFS = {
    "multi-part checkpoint": {"spark.databricks.delta.checkpoint.partSize": "2"},
    "V2 checkpoint with sidecars": {"spark.databricks.delta.checkpoint.partSize": "2"},
    "V2 checkpoint as JSON": {"spark.databricks.delta.checkpointV2.topLevelFileFormat": "json"},
}


SECOND_TIER = (
    "plain",
    "row tracking and change feed",
    "classic checkpoint",
    "V2 checkpoint as JSON",
)
IN_EVERY_RUN = [kind for kind in TABLES if kind not in SECOND_TIER]
KINDS = list(TABLES) if os.environ.get("DELTA_MAINT_TEST_ALL") else IN_EVERY_RUN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A path that globs, URIs and SQL text would each read wrongly if they were let."""
    return tmp_path / "we ird {a,b} [c] 'q' 50%"


def our_files(snapshot: Any) -> set[tuple[Any, ...]]:
    names = [column.physical_name for column in snapshot.partition_columns]
    return {
        (
            file.path,
            file.size_bytes,
            tuple(sorted(zip(names, file.partition, strict=True))),
            file.num_records,
            file.deleted_rows if file.has_deletion_vector else None,
            file.modified_ms,
        )
        for file in snapshot.files
    }


def in_one_order(snapshot: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        files=sorted(snapshot.files, key=str),
        added=tuple(sorted(snapshot.added, key=str)),
    )


def assert_read_the_same_in_this_process(session: Any, location: str, kind: str) -> None:
    local = LocalLogReader.of(SessionSql(session), location)
    assert local is not None
    if kind.startswith("V2"):
        with pytest.raises(UnreadHereError):
            local.read(1, None, with_paths=True)
        return
    by_sql = SqlLogReader(SessionSql(session), location).read(1, None, with_paths=True)
    assert in_one_order(local.read(1, None, with_paths=True)) == in_one_order(by_sql)
    assert by_sql.added
    older = LocalLogReader(location, up_to=2).adds()
    names = sorted(row[0] for row in files_of_version(session, location, 2))
    assert sorted(unquote(add["path"]).rsplit("/", 1)[-1] for add in older) == names


def files_of_version(session: Any, location: str, version: int) -> list[Any]:
    frame = session.read.option("versionAsOf", version).format("delta").load(location[5:])
    return list(frame.selectExpr("_metadata.file_name").distinct().collect())


@pytest.mark.parametrize("kind", KINDS)
def test_live_files_equal_deltas_own_snapshot(spark: Any, folder: Path, kind: str) -> None:
    columns, properties = TABLES[kind]
    session = spark.newSession()
    for key, value in CONFS.get(kind, {}).items():
        session.conf.set(key, value)
    name = f"delta.{identifier(str(folder))}"
    tail = f" tblproperties ({properties})" if properties else ""
    create, _, layout = columns.partition(") ")
    session.sql(f"create table {name} {create}{')' if layout else ''} using delta {layout}{tail}")
    for start in (0, 40):
        session.sql(
            f"insert into {name} select id, case id % 4 when 0 then null when 1 then '' "
            f"when 2 then 'it\\'s 50%' else 'b' end from range({start}, {start + 40}, 1, 2)"
        )
    session.sql(f"delete from {name} where id % 10 = 3")
    session.sql(f"optimize {name}")
    session.sql(f"delete from {name} where id % 10 = 6")

    snapshot = read_snapshot(SessionSql(session), str(folder), with_paths=True)
    truth = delta_files(session, str(folder))
    assert our_files(snapshot) == truth
    assert_read_the_same_in_this_process(session, f"file:{folder}", kind)
    assert snapshot.version == 5
    assert [commit.operation for commit in snapshot.commits][-2:] == ["OPTIMIZE", "DELETE"]
    assert snapshot.is_clustered == (kind == "clustered")
    if kind == "clustered":
        assert snapshot.clustering_columns == ("id",)
    log = {path.name for path in (folder / "_delta_log").iterdir()}
    expected = {
        "classic checkpoint": lambda: any(n.endswith("checkpoint.parquet") for n in log),
        "multi-part checkpoint": lambda: any(".checkpoint.0000000001." in n for n in log),
        "V2 checkpoint with sidecars": lambda: any((folder / "_delta_log/_sidecars").iterdir()),
        "V2 checkpoint as JSON": lambda: any(
            ".checkpoint." in n and n.endswith("json") for n in log
        ),
    }
    assert expected.get(kind, lambda: True)(), log


def test_partitions_touched_since_a_version_are_told_even_across_a_checkpoint(
    spark: Any, folder: Path
) -> None:
    session = spark.newSession()
    name = f"delta.{identifier(str(folder))}"
    session.sql(
        f"create table {name} (id bigint, p int) using delta partitioned by (p) "
        "tblproperties ('delta.checkpointInterval' = '2')"
    )
    session.sql(f"insert into {name} values (1, 1)")
    mark = CommitMark("write", "0", invocation_id="one", node="model.shop.orders")
    session.conf.set(CONF, mark.text())
    session.sql(f"insert into {name} values (2, 2), (3, 3)")
    session.sql(f"insert into {name} values (4, 3)")
    session.sql(f"optimize {name}")
    snapshot = read_snapshot(SessionSql(session), str(folder), since_version=1)
    changed = {(a.version, a.partition, a.files) for a in snapshot.added if a.data_change}
    assert changed == {(2, ("2",), 1), (2, ("3",), 1), (3, ("3",), 1)}
    assert [(a.version, a.partition) for a in snapshot.added if not a.data_change] == [(4, ("3",))]
    assert all(a.size_bytes > 0 for a in snapshot.added)
    marks = [read_mark(commit.user_metadata) for commit in snapshot.commits]
    assert marks == [None, None, mark, mark, mark]
    assert snapshot.commits[2].is_blind_append is True
    assert snapshot.files[0].path is None


def test_a_stream_that_writes_is_known(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    target = tmp_path / "streamed"
    frame = session.range(3)
    frame.write.format("delta").option("txnAppId", "ingest").option("txnVersion", "7").save(
        str(target)
    )
    writers = read_snapshot(SessionSql(session), str(target)).stream_writers
    assert [(writer.app_id, writer.version) for writer in writers] == [("ingest", 7)]
    assert read_snapshot(SessionSql(session), str(target)).commits[-1].app_id == "ingest"


def test_what_is_not_a_delta_table_is_said_in_one_sentence(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    sql = SessionSql(session)
    schema = f"s{uuid.uuid4().hex}"
    session.sql(f"create schema {schema}")
    session.sql(f"create table {schema}.flat using parquet as select 1 as id")
    session.sql(f"create view {schema}.seen as select 1 as id")
    for name, words in (("flat", "its format is parquet"), ("seen", "is a view, not a Delta")):
        with pytest.raises(NotDeltaError, match=words):
            DeltaTable.find(sql, f"{schema}.{name}")
    # A temporary view hides the table of its name.
    session.sql(f"create table {schema}.hidden (id int) using delta")
    session.sql(f"use {schema}")
    named = DeltaTable.find(sql, "hidden")
    assert named.location == DeltaTable.find(sql, f"{schema}.hidden").location
    session.sql("create temporary view hidden as select 1 as id")
    with pytest.raises(NotDeltaError, match="is a view, not a Delta"):
        DeltaTable.find(sql, "hidden")
    session.sql("use default")
    for missing in (f"{schema}.none", "nowhere.none"):
        with pytest.raises(NotDeltaError, match="does not exist"):
            DeltaTable.find(sql, missing)
    session.sql(f"drop schema {schema} cascade")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(LogError, match="no commit and no checkpoint"):
        read_snapshot(sql, str(tmp_path))


class OnlySql:
    """A connection that knows nothing but SQL text, as one over a network does."""

    def __init__(self, session: Any) -> None:
        self._sql = SessionSql(session)

    def run(self, sql: str) -> None:
        self._sql.run(sql)

    def rows(self, sql: str) -> Any:
        return self._sql.rows(sql)


def test_a_table_is_found_without_a_job_and_is_the_one_that_describe_finds(
    spark: Any, folder: Path
) -> None:
    session = spark.newSession()
    schema = f"s{uuid.uuid4().hex}"
    session.sql(f"create schema {schema}")
    folder.mkdir()
    elsewhere = str(folder / "else where").replace("'", "\\'")
    session.sql(f"create table {schema}.here (id int) using delta")
    session.sql(f"create table {schema}.there_too (id int) using delta location '{elsewhere}'")
    names = [
        f"{schema}.here",
        f"`{schema}`.`HERE`",
        f"{schema}.there_too",
        f"delta.{identifier(str(folder / 'else where'))}",
    ]
    for name in names:
        before = jobs(session)
        found = DeltaTable.find(SessionSql(session), name)
        assert jobs(session) == before, name
        assert found == DeltaTable.find(OnlySql(session), name)
    with_catalog = f"spark_catalog.{schema}.here"
    assert DeltaTable.find(SessionSql(session), with_catalog).table_id == (
        DeltaTable.find(OnlySql(session), names[0]).table_id
    )
    session.sql(f"create or replace table {schema}.here (id int) using delta")
    again = DeltaTable.find(SessionSql(session), names[0])
    assert again == DeltaTable.find(OnlySql(session), names[0])
    session.sql(f"drop table {schema}.here")
    session.sql(f"create table {schema}.here (id int) using delta")
    assert DeltaTable.find(SessionSql(session), names[0]).table_id != again.table_id
    session.sql(f"drop schema {schema} cascade")


def jobs(session: Any) -> int:
    return int(session.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def test_a_log_that_is_large_or_elsewhere_is_read_by_spark(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = spark.newSession()
    session.range(0, 4, 1, 4).write.format("delta").save(str(folder))
    before = jobs(session)
    assert len(read_snapshot(SessionSql(session), f"file:{folder}").files) == 4
    assert jobs(session) == before
    with monkeypatch.context() as patch:
        patch.setattr(local_log, "MOST_BYTES", 100)
        assert len(read_snapshot(SessionSql(session), f"file:{folder}").files) == 4
    assert jobs(session) > before
    delta_log(session, str(folder)).checkpoint()
    assert len(LocalLogReader(f"file:{folder}").adds()) == 4
    monkeypatch.setattr(local_log, "MOST_CHECKPOINT_ROWS", 3)
    with pytest.raises(UnreadHereError):
        LocalLogReader(f"file:{folder}").adds()
    assert LocalLogReader.of(OnlySql(session), f"file:{folder}") is None
    assert LocalLogReader.of(SessionSql(session), f"hdfs://somewhere{folder}") is None


def test_a_log_with_a_missing_commit_is_refused(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    target = tmp_path / "broken"
    for _ in range(3):
        session.range(1).write.format("delta").mode("append").save(str(target))
    (target / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(LogError, match="lacks commit 1"):
        read_snapshot(SessionSql(session), str(target))
