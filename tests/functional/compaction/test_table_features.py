"""Compaction on tables with features: what they promise still holds afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import Action
from dbt.adapters.delta_maint.core.compaction_policy import Clustered, CompactionPolicy
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.sizes import MIB
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.inventory import SqlLogReader
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

from tests.functional.compaction.small_table import EAGER, SmallTable


def test_row_tracking_change_feed_and_append_only_are_kept(spark: Any) -> None:
    table = SmallTable.create(
        spark,
        properties="'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true', "
        "'delta.appendOnly' = 'true'",
    )
    table.append(4)
    ids = "select id, _metadata.row_id, _metadata.row_commit_version from {t} order by id"
    before = table.run(ids)
    assert table.compact().total("files_added") == 1
    assert table.run(ids) == before
    version = table.snapshot().version
    assert table.operations()[-1] == "OPTIMIZE"
    assert table.run(f"select * from table_changes('{table.name.strip('`')}', {version})") == []


def test_a_lone_file_full_of_deleted_rows_is_purged_and_a_second_time_is_left(spark: Any) -> None:
    table = SmallTable.create(spark, properties="'delta.enableDeletionVectors' = 'true'")
    table.append(1, rows=100)
    table.run("delete from {t} where id < 50")
    policy = CompactionPolicy()
    plan = table.plan(policy)
    assert [work.action for work in plan.chosen] == [Action.PURGE]
    before = table.rows()
    assert table.compact(policy).errors == []
    assert table.operations()[-1] == "REORG"
    assert table.rows() == before
    assert not any(file.has_deletion_vector for file in table.snapshot().files)
    assert not table.compact(policy).did_something


def test_a_clustered_table_is_never_clustered_by_surprise(spark: Any) -> None:
    table = SmallTable.create(spark, layout="cluster by (id)")
    table.append(3)
    result = table.compact()
    assert "is clustered by id" in result.sentence()
    assert table.operations()[-1] == "WRITE"
    assert table.compact(replace(EAGER, clustered=Clustered.OPTIMIZE)).errors == []
    assert table.operations()[-1] == "OPTIMIZE"
    assert not table.compact(replace(EAGER, clustered=Clustered.OPTIMIZE)).did_something


def test_a_decision_lists_the_log_once_and_opens_no_data_file(spark: Any) -> None:
    table = SmallTable.create(spark, layout="partitioned by (p)")
    table.append(3)
    asked: list[str] = []

    class Watched(SessionSql):
        def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
            asked.append(sql)
            return super().rows(sql)

    found = DeltaTable.find(SessionSql(table.spark), table.name)
    for file in Path(found.location.removeprefix("file:")).rglob("*.parquet"):
        file.unlink()
    snapshot = found.snapshot(Watched(table.spark))
    assert asked == []  # a small log on this machine
    by_spark = SqlLogReader(Watched(table.spark), found.location)
    assert by_spark.read(None, None, with_paths=False) == snapshot
    assert len(asked) == 3, asked
    assert sum("binaryFile" in sql for sql in asked) == 1
    plan = prepare_auto_compact_request(
        snapshot,
        CompactionPolicy(),
        table=table.name,
        partitions_added_to=None,
        reservations=Reservations(),
    )
    assert "fewer than 8 inputs" in plan.reason


def test_a_feature_that_delta_does_not_know_is_a_reason_to_skip(spark: Any) -> None:
    table = SmallTable.create(spark)
    table.append(3)
    snapshot = table.snapshot()
    protocol = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "invariants", "fromTheFuture"],
    }
    log = Path(snapshot.location.removeprefix("file:")) / "_delta_log"
    (log / f"{snapshot.version + 1:020d}.json").write_text(json.dumps({"protocol": protocol}))
    result = table.compact()
    assert "fromTheFuture" in result.sentence()
    assert result.sentence().startswith("skipped: ")
    assert (result.errors, result.as_dict()["outcome"]) == ([], "skipNotSupported")


def test_batches_of_the_profile_do_not_split_a_statement(spark: Any) -> None:
    table = SmallTable.create(spark, layout="partitioned by (p)")
    table.append(2, p="1")
    table.append(2, p="2")
    profile = spark.sparkContext._jsc.sc().conf()
    profile.set("spark.databricks.delta.optimize.batchSize", "1")
    try:
        assert table.compact().errors == []
    finally:
        profile.remove("spark.databricks.delta.optimize.batchSize")
    assert table.operations().count("OPTIMIZE") == 1


def test_the_plan_is_what_delta_does_and_a_second_run_rewrites_nothing(spark: Any) -> None:
    """Random rows that do not compress, in several sizes, under the default rule and a byte budget."""
    table = SmallTable.create(
        spark, columns="id bigint, p int, x string", layout="partitioned by (p)"
    )
    for p, files in ((1, 9), (2, 3), (3, 20)):
        table.run(
            f"insert into {{t}} select id, {p}, sha2(cast(rand() as string), 512) "
            f"from range(0, {files * 400}, 1, {files})"
        )
    policy = CompactionPolicy(target_bytes=MIB)
    plan = table.plan(policy)
    result = table.compact(policy)
    assert result.errors == []
    assert result.total("files_removed") == plan.input_files
    assert result.total("files_added") == plan.output_files
    assert result.total("bytes_removed") == plan.input_bytes
    version = table.snapshot().version
    again = table.compact(policy)
    assert (again.did_something, table.snapshot().version) == (False, version)


def test_two_threads_with_different_targets_do_not_mix_and_confs_stay(spark: Any) -> None:
    import threading

    tables = [SmallTable.create(spark) for _ in range(2)]
    for table in tables:
        table.append(6, rows=200)
    size = sum(f.size_bytes for f in tables[0].snapshot().files) // 6
    targets = (size * 2 + size // 2, 64 * MIB)
    found: dict[int, int] = {}

    def work(index: int) -> None:
        policy = replace(EAGER, target_bytes=targets[index], min_file_bytes=targets[index])
        found[index] = tables[index].compact(policy).total("files_added")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == {0: 3, 1: 1}
    assert spark.conf.get("spark.databricks.delta.optimize.minFileSize", None) is None
