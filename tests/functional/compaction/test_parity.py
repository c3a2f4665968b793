"""Cases of Delta's own auto compaction suite, on real tables; docs/auto_compaction_parity.md lists them all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy, PolicyKind

from tests.functional.compaction.small_table import SmallTable

ANY = CompactionPolicy(kind=PolicyKind.COUNT, min_num_files=0)


def test_min_num_files_zero_one_append_one_optimize_also_with_variants(spark: Any) -> None:
    table = SmallTable.create(spark, columns="id bigint, v variant")
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
    # OPTIMIZE itself, and a second look, change nothing.
    assert not table.compact(ANY).did_something


def test_null_empty_and_blank_partitions_give_one_file_each_in_one_commit(spark: Any) -> None:
    table = SmallTable.create(spark, columns="id bigint, p string", layout="partitioned by (p)")
    for n in range(2):
        table.run(f"insert into {{t}} values ({n}, null), ({n}, ''), ({n}, ' '), ({n}, 'a')")
    before = table.rows()
    assert set(table.files()) == {(None,), (" ",), ("a",)}
    assert table.compact(ANY).errors == []
    assert set(table.files().values()) == {1}
    assert table.operations().count("OPTIMIZE") == 1
    assert table.rows() == before


def test_five_files_merge_and_four_wait(spark: Any) -> None:
    """modifiedPartitionsOnly=false, minNumFiles=5."""
    policy = replace(ANY, min_num_files=5, modified_partitions_only=False)
    table = SmallTable.create(spark)
    table.append(4)
    assert "fewer than min_num_files 5" in table.compact(policy).sentence()
    table.append(4, start=100)
    assert table.compact(policy).total("files_removed") == 8
    assert table.files() == {(): 1}


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
