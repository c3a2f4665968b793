"""A run goes on until nothing more is worth it: a second run rewrites zero bytes, whatever the sizes."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_passes import (
    MOST_PASSES,
    expected_snapshot,
    may_find_more,
    with_expected_passes,
)
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy, PolicyKind
from dbt.adapters.delta_maint.core.output_ratio import Merge
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.table import (
    Commit,
    DataFile,
    PartitionColumn,
    Protocol,
    Snapshot,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

EXAMPLES = 1000 if os.environ.get("DELTA_MAINT_TEST_ALL") else 200
TARGET = 1000
BINS = CompactionPolicy(target_bytes=TARGET)
KNOWN = [1, 1, 1, 1, 1, 1, 190, 196, 203, 203, 203, 203]

layouts = st.lists(st.lists(st.integers(1, 1100), max_size=40), min_size=1, max_size=3)
policies = st.sampled_from(
    [
        BINS,
        replace(BINS, min_input_files=3),
        replace(BINS, small_ratio=0.3, done_ratio=0.6),
        replace(BINS, min_file_bytes=200),
        replace(BINS, kind=PolicyKind.EAGER),
        replace(BINS, kind=PolicyKind.COUNT, min_num_files=4),
    ]
)


def table_of(layout: list[list[int]]) -> Snapshot:
    return Snapshot(
        version=1, location="", table_id="t", protocol=Protocol(),
        partition_columns=(PartitionColumn("p", "p", "int"),), properties={}, schema_json="{}",
        clustering_columns=(),
        files=[DataFile(size, (str(p),)) for p, sizes in enumerate(layout) for size in sizes],
    )  # fmt: skip


def plan_of(
    table: Snapshot, policy: CompactionPolicy, budget: Budget | None = None
) -> CompactionPlan:
    return prepare_auto_compact_request(
        table, policy, table="t", partitions_added_to=None, reservations=Reservations(), budget=budget
    )  # fmt: skip


def carry_out(
    table: Snapshot, plan: CompactionPlan, luck: random.Random, *, shrinks: tuple[float, float]
) -> tuple[Snapshot, Merge]:
    """What Delta does, and the commit that tells of it; every output is smaller by a ratio of its own."""
    expected = expected_snapshot(table, replace(plan, output_ratio=1.0))
    before = set(map(id, table.files))
    files, added = [], 0
    for file in expected.files:
        if id(file) not in before:
            file = replace(file, size_bytes=max(1, int(file.size_bytes * luck.uniform(*shrinks))))
            added += file.size_bytes
        files.append(file)
    metrics = {"numRemovedBytes": str(plan.input_bytes), "numAddedBytes": str(added)}
    commit = Commit(table.version + 1, 0, "OPTIMIZE", metrics=metrics)
    done = replace(table, files=files, version=commit.version, commits=(*table.commits, commit))
    return done, (plan.input_bytes, added)


def run(
    table: Snapshot, policy: CompactionPolicy, luck: random.Random, *, shrinks: tuple[float, float]
) -> tuple[Snapshot, list[int]]:
    """One run as the product makes it; the bytes that each of its passes read."""
    rewritten = []
    while (plan := plan_of(table, policy)).runs:
        table, merge = carry_out(table, plan, luck, shrinks=shrinks)
        rewritten.append(plan.input_bytes)
        if not may_find_more(plan, policy, [merge]):
            break
    return table, rewritten


@pytest.mark.parametrize("shrinks", [(1.0, 1.0), (0.88, 0.88), (0.5, 1.1)])
@settings(max_examples=EXAMPLES)
@given(layout=layouts, policy=policies, luck=st.randoms(use_true_random=False))
@example(layout=[KNOWN], policy=BINS, luck=random.Random(0))
def test_a_second_run_rewrites_zero_bytes(
    shrinks: tuple[float, float],
    layout: list[list[int]],
    policy: CompactionPolicy,
    luck: random.Random,
) -> None:
    table, rewritten = run(table_of(layout), policy, luck, shrinks=shrinks)
    assert len(rewritten) <= MOST_PASSES
    assert not plan_of(table, policy).runs
    assert run(table, policy, luck, shrinks=shrinks)[1] == []


@settings(max_examples=EXAMPLES)
@given(layout=layouts, policy=policies)
@example(layout=[KNOWN], policy=BINS)
def test_the_plan_says_beforehand_all_that_will_be_rewritten(
    layout: list[list[int]], policy: CompactionPolicy
) -> None:
    """Where merging leaves what it is expected to leave, and all bytes may be spent."""
    table = table_of(layout)
    plan = plan_of(table, policy)
    told = with_expected_passes(plan, table, policy)
    done, rewritten = run(table, policy, random.Random(0), shrinks=(1.0, 1.0))
    assert told.input_bytes == sum(rewritten)
    assert (1 + len(told.later) if told.runs else 0) == len(rewritten)
    assert len(done.files) == len(table.files) - told.input_files + told.output_files


def test_a_plan_of_two_passes_says_so() -> None:
    table = table_of([KNOWN])
    plan = with_expected_passes(plan_of(table, BINS), table, BINS)
    assert plan.sentence() == "12 -> 2 files in 1 partition, 1.2 KiB in 2 passes"
    told = plan.as_dict()
    assert [(work["pass"], work["input_files"]) for work in told["chosen"]] == [(1, 8), (2, 4)]
    assert (told["passes"], told["statements"]) == (2, 2)


def test_what_is_expected_later_stays_within_the_budget() -> None:
    table = table_of([KNOWN])
    for max_bytes, passes in ((1204, 2), (1203, 1)):
        budget = Budget(max_bytes=max_bytes)
        plan = with_expected_passes(plan_of(table, BINS, budget), table, BINS)
        assert 1 + len(plan.later) == passes
        assert plan.input_bytes <= max_bytes


def test_looking_again_is_spared_where_one_file_is_left_per_partition() -> None:
    table = table_of([[1] * 9, [900, 2, 2, 2, 2, 2, 2, 2, 2]])
    plan = plan_of(table, BINS)
    assert not may_find_more(plan, BINS, [(25, 25)])
    # What the run has learnt may change what it thinks of partitions it left alone.
    table = table_of([[1] * 9, [300, 310]])
    plan = plan_of(table, BINS)
    assert not may_find_more(plan, BINS, [(9, 9)])
    assert may_find_more(plan, BINS, [(9, 6)])
