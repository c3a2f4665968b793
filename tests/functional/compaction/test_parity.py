"""Cases of Delta's own auto compaction suite, on real tables; docs/auto_compaction_parity.md lists them all."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.compaction_plan import Action
from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy, PolicyKind

from tests.functional.compaction.small_table import SmallTable

ANY = CompactionPolicy(kind=PolicyKind.COUNT, min_num_files=0)
# Delta's suite runs a second time with column mapping by id, and a third time by name.
MAPPINGS = {
    mode: f"'delta.columnMapping.mode' = '{mode}'"
    for mode in (("none", "id", "name") if os.environ.get("DELTA_MAINT_TEST_ALL") else ("name",))
}
mapped = pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=list(MAPPINGS))


@mapped
def test_min_num_files_zero_one_append_one_optimize_also_with_variants(
    spark: Any, mapping: str
) -> None:
    table = SmallTable.create(spark, columns="id bigint, v variant", properties=mapping)
    for start in (0, 100):
        table.run(
            f"insert into {{t}} select id, parse_json(concat('{{{{\"k\":', id, '}}}}')) "
            f"from range({start}, {start + 30}, 1, 3)"
        )
        assert table.compact(ANY).errors == []
        assert table.files() == {(): 1}
    assert table.operations() == ["CREATE TABLE", "WRITE", "OPTIMIZE", "WRITE", "OPTIMIZE"]
    found = {row[0] for row in table.run("select variant_get(v, '$.k', 'bigint') from {t}")}
    assert found == {*range(30), *range(100, 130)}
    # OPTIMIZE itself, and a second look, change nothing; what Delta calls auto it did not do.
    assert not table.compact(ANY).did_something
    told = [row.operationParameters for row in table.run("describe history {t}")]
    assert {parameters["auto"] for parameters in told if "auto" in parameters} == {"false"}


@mapped
def test_null_empty_and_blank_partitions_give_one_file_each_in_one_commit(
    spark: Any, mapping: str
) -> None:
    table = SmallTable.create(
        spark, columns="id bigint, p string", layout="partitioned by (p)", properties=mapping
    )
    for n in range(2):
        table.run(f"insert into {{t}} values ({n}, null), ({n}, ''), ({n}, ' '), ({n}, 'a')")
    before = table.rows()
    assert set(table.files()) == {(None,), (" ",), ("a",)}
    assert table.compact(ANY).errors == []
    assert set(table.files().values()) == {1}
    assert table.operations().count("OPTIMIZE") == 1
    assert table.rows() == before


@mapped
def test_five_files_merge_and_four_wait(spark: Any, mapping: str) -> None:
    """modifiedPartitionsOnly=false, minNumFiles=5."""
    policy = replace(ANY, min_num_files=5, modified_partitions_only=False)
    table = SmallTable.create(spark, properties=mapping)
    table.append(4)
    assert "fewer than min_num_files 5" in table.compact(policy).sentence()
    table.append(4, start=100)
    assert table.compact(policy).total("files_removed") == 8
    assert table.files() == {(): 1}


@mapped
def test_thirty_files_in_each_of_three_partitions(spark: Any, mapping: str) -> None:
    """minNumFiles=30; Delta considers 93 files, removes 93 and adds 3. Differs: nothing runs before."""
    policy = replace(ANY, min_num_files=30)
    table = SmallTable.create(spark, layout="partitioned by (p)", properties=mapping)

    def append(files: int) -> None:
        table.run(
            f"insert into {{t}} select /*+ repartition({files}) */ id, p from range({files * 10}) "
            "cross join (values (1), (2), (3)) as t(p)"
        )

    for files, reason in ((1, "nothing to merge"), (10, "fewer than"), (18, "fewer than")):
        append(files)
        assert reason in table.compact(policy).sentence()
    append(2)
    result = table.compact(policy)
    assert table.files() == {("1",): 1, ("2",): 1, ("3",): 1}
    assert (result.total("considered_files"), result.total("files_removed")) == (93, 93)
    assert (result.total("files_added"), result.total("partitions")) == (3, 3)
    assert table.operations().count("OPTIMIZE") == 1


def test_files_with_many_deleted_rows_are_rewritten_one_tiny_file_is_not(spark: Any) -> None:
    """Ten files of 1000 rows, of which three lose 6 %, 6 % and 1 %, and a tiny one; a ratio of 5 %.

    Differs: Delta merges the two of 6 % with the tiny one. Ours purges the partition, which rewrites the
    third file with a vector too, and lets the tiny one wait for company.
    """
    table = SmallTable.create(spark, properties="'delta.enableDeletionVectors' = 'true'")
    table.append(10, rows=1000)
    table.append(1, start=20_000, rows=1)
    table.run(
        "delete from {t} where id < 60 or id between 1000 and 1059 or id between 2000 and 2009"
    )
    before = table.rows()
    tiny = min(file.size_bytes for file in table.snapshot().files)
    policy = CompactionPolicy(
        target_bytes=20 * tiny, min_file_bytes=tiny + 1, max_deleted_rows_ratio=0.05
    )
    plan = table.plan(policy)
    assert [(work.action, work.input_files) for work in plan.chosen] == [(Action.PURGE, 3)]
    assert table.compact(policy, plan=plan).errors == []
    files = table.snapshot().files
    assert not any(file.has_deletion_vector for file in files)
    assert tiny in {file.size_bytes for file in files}
    assert table.rows() == before
    assert table.operations()[-1] == "REORG"


def test_a_purge_finds_nothing_without_vectors(spark: Any) -> None:
    table = SmallTable.create(spark)
    table.append(5)
    assert not table.compact(CompactionPolicy(max_deleted_rows_ratio=0.01)).did_something
    assert "REORG" not in table.operations()


def test_two_notations_of_one_timestamp_become_one_file_whatever_the_profile_says(
    spark: Any,
) -> None:
    table = SmallTable.create(
        spark, columns="id bigint, at timestamp", layout="partitioned by (at)"
    )
    for is_utc in ("true", "false"):
        table.spark.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", is_utc)
        table.run("insert into {t} values (1, timestamp'2026-01-02 03:04:05')")
    assert len(table.files()) == 2, "the log has one notation only"
    profile = spark.sparkContext._jsc.sc().conf()
    profile.set("spark.databricks.delta.normalizePartitionValuesOnRead", "false")
    try:
        result = table.compact(ANY)
    finally:
        profile.remove("spark.databricks.delta.normalizePartitionValuesOnRead")
    assert result.errors == []
    assert len(table.snapshot().files) == 1


def test_purge_touches_the_files_with_vectors_of_the_chosen_partition_only(spark: Any) -> None:
    """Differs in which files: Delta's executor picks those above the ratio, REORG all with a vector."""
    table = SmallTable.create(
        spark,
        layout="partitioned by (p)",
        properties="'delta.enableDeletionVectors' = 'true'",
    )
    for p in ("1", "2"):
        table.append(3, p=p, rows=100)
    table.run("delete from {t} where id between 0 and 49")
    table.run("delete from {t} where p = 1 and id = 150")
    before = table.rows()
    policy = CompactionPolicy(min_input_files=99)
    plan = table.plan(policy, touched=frozenset({("1",)}))
    assert plan.input_files == 2
    assert table.compact(policy, plan=plan).errors == []
    vectors = {f.partition for f in table.snapshot().files if f.has_deletion_vector}
    assert vectors == {("2",)}
    assert table.rows() == before


def test_max_records_per_file_of_the_profile_does_not_split_our_bins(spark: Any) -> None:
    table = SmallTable.create(spark)
    table.append(4, rows=50)
    table.spark.conf.set("spark.sql.files.maxRecordsPerFile", "10")
    assert table.compact(ANY).total("files_added") == 1
    assert not table.compact(ANY).did_something
