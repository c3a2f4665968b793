"""What one run leaves, the next run leaves alone: on real Delta, through the adapter's own way of running."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.auto_compaction import AutoCompaction
from dbt.adapters.delta_maint.compaction_reports import Report, Request
from dbt.adapters.delta_maint.core.compaction_policy import Budget
from dbt.adapters.delta_maint.core.reservation import PROCESS_RESERVATIONS
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql
from dbt.adapters.delta_maint.policies.compaction import read_config
from dbt.adapters.delta_maint.relation import DeltaMaintRelation

from tests.functional.compaction.small_table import SmallTable


@pytest.fixture
def table(spark: Any) -> SmallTable:
    return SmallTable.create(spark, columns="id bigint, x string")


def append_file(table: SmallTable, rows: int, start: int = 0) -> None:
    """The same rows give the same file, to the byte; they share their values when they are merged."""
    table.run(
        "insert into {t} select id, sha2(cast(id as string), 224) "
        f"from range({start}, {start + rows}, 1, 1)"
    )


def known_sizes(table: SmallTable) -> int:
    """Six tiny files, two of medium size, and four of one size, which no size tells apart; the target."""
    for rows in [10] * 6:
        append_file(table, rows)
    append_file(table, 4000, start=100_000)
    append_file(table, 4080, start=200_000)
    for rows in [4300] * 4:
        append_file(table, rows)
    sizes = sorted(file.size_bytes for file in table.snapshot().files)
    assert len(set(sizes)) == 4
    target_bytes = sizes[-1] * 1000 // 204
    assert sum(sizes[:10]) <= target_bytes < sum(sizes[:11])
    return target_bytes


def compact(table: SmallTable, folder: Path, config: dict[str, Any], **asked: Any) -> Report:
    name = table.name.strip("`")
    relation = DeltaMaintRelation.create(schema="default", identifier=name, type="table")
    request = replace(Request(relation, read_config(config), run=None), **asked)
    work = AutoCompaction(target=folder, invocation_id="test", dbt_threads=1)
    return work.compact(SessionSql(table.spark), request)


def test_a_merge_that_makes_room_for_another_is_followed_by_it_in_the_same_run(
    table: SmallTable, tmp_path: Path
) -> None:
    config = {"target_file_size": known_sizes(table)}
    before = table.rows()
    planned = compact(table, tmp_path, config, dry_run=True)
    assert "12 -> 2 files" in planned.sentence
    assert "in 2 passes" in planned.sentence

    done = compact(table, tmp_path, config)
    assert done.sentence.startswith("compacted 12 -> 2 files")
    assert done.numbers["passes"] == 2
    assert done.numbers["bytes_removed"] == planned.numbers["input_bytes"]
    assert table.operations()[-3:] == ["WRITE", "OPTIMIZE", "OPTIMIZE"]
    assert table.rows() == before

    version = table.snapshot().version
    again = compact(table, tmp_path, config)
    assert again.sentence.startswith("skipped: ")
    assert again.numbers["bytes_removed"] == 0
    assert table.snapshot().version == version


def test_a_further_pass_stays_within_the_budget(table: SmallTable, tmp_path: Path) -> None:
    config = {"target_file_size": known_sizes(table)}
    first_bytes = sum(sorted(file.size_bytes for file in table.snapshot().files)[:8])
    done = compact(table, tmp_path, config, budget=Budget(max_bytes=first_bytes + 1000))
    assert (done.numbers["passes"], done.numbers["bytes_removed"]) == (1, first_bytes)
    assert compact(table, tmp_path, config).numbers["files_removed"] == 4


def test_files_that_shrink_by_merging_are_not_taken_again_by_the_next_run(
    spark: Any, tmp_path: Path
) -> None:
    """Names repeat, so that a merged file needs a fraction of its inputs' bytes."""
    table = SmallTable.create(
        spark, columns="id bigint, who string, p int", layout="partitioned by (p)"
    )
    for start in range(0, 24_000, 3_000):
        table.run(
            "insert into {t} select id, concat('customer number ', id % 300), id % 3 "
            f"from range({start}, {start + 3_000}, 1, 3)"
        )
    sizes = [file.size_bytes for file in table.snapshot().files]
    for config in (
        {"target_file_size": sum(sizes) // 6},
        {"target_file_size": sum(sizes) // 6, "policy": "eager"},
        {"target_file_size": sum(sizes) // 4, "policy": "count", "min_num_files": 3},
    ):
        compact(table, tmp_path, config)
        version = table.snapshot().version
        assert compact(table, tmp_path, config).numbers["bytes_removed"] == 0
        assert table.snapshot().version == version
    assert "OPTIMIZE" in table.operations()


def test_partitions_are_given_back_when_a_run_ends_and_when_it_fails(
    spark: Any, tmp_path: Path
) -> None:
    table = SmallTable.create(spark)
    table.append(4)
    table_id, whole = table.snapshot().table_id, frozenset({()})
    eager = {"policy": "eager"}

    assert PROCESS_RESERVATIONS.reserve(table_id, whole) == whole
    busy = compact(table, tmp_path, eager)
    assert busy.numbers["outcome"] == "skipAllPartitionsAlreadyReserved"
    PROCESS_RESERVATIONS.release(table_id, whole)

    failed = compact(table, tmp_path, {**eager, "zorder": "nowhere"})
    assert failed.has_failed
    assert PROCESS_RESERVATIONS.filter_free_partitions(table_id, whole) == whole
    compact(table, tmp_path, eager, dry_run=True)
    assert PROCESS_RESERVATIONS.filter_free_partitions(table_id, whole) == whole
    assert compact(table, tmp_path, eager).numbers["files_removed"] == 4
    assert PROCESS_RESERVATIONS.filter_free_partitions(table_id, whole) == whole
