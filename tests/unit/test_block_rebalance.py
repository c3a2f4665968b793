"""Rebalancing by whole blocks: the worked example of Delta's optimized-write proposal."""

from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.block_rebalance import cut_blocks, rebalance_blocks
from dbt.adapters.delta_maint.core.placement import PlacementPolicy, ValueRows, place
from hypothesis import given
from hypothesis import strategies as st

TARGET = 100.0
# Four values, three input partitions; the third holds no rows of A and B.
PROPOSAL = {"D": [90, 95, 98], "A": [20, 15, 0], "B": [10, 12, 0], "E": [90, 15, 97]}


def test_written_plainly_every_block_is_a_file() -> None:
    assert sum(1 for sizes in PROPOSAL.values() for size in sizes if size) == 10


def test_repartitioned_by_value_every_value_is_a_file() -> None:
    tasks = rebalance_blocks(PROPOSAL, target_bytes=float("inf"))
    assert sum(task.files for task in tasks) == 4


def test_rebalanced_the_example_gives_seven_files_by_six_tasks() -> None:
    tasks = rebalance_blocks(PROPOSAL, target_bytes=TARGET)
    assert [task.pieces for task in tasks] == [
        (("D", 0, 0),),
        (("D", 1, 1),),
        (("D", 2, 2),),
        (("A", 0, 2), ("B", 0, 2)),
        (("E", 0, 1),),
        (("E", 2, 2),),
    ]
    assert sum(task.files for task in tasks) == 7


def test_without_the_factors_the_small_tail_stays_a_file_of_its_own() -> None:
    tasks = rebalance_blocks(
        PROPOSAL, target_bytes=TARGET, small_partition_factor=0.0, merged_partition_factor=0.0
    )
    assert (("E", 1, 1),) in [task.pieces for task in tasks]


def test_a_block_larger_than_the_target_stays_whole_here_and_is_split_by_placement() -> None:
    tasks = rebalance_blocks({"hot": [1_000.0]}, target_bytes=TARGET)
    assert [task.bytes for task in tasks] == [1_000.0]
    policy = PlacementPolicy(target_bytes=int(TARGET))
    assert place([ValueRows(1, 1_000, 1.0)], policy).files == 10


@pytest.mark.parametrize(
    ("sizes", "pieces"),
    [
        ([50, 50, 50], [(0, 1), (2, 2)]),
        ([100, 10, 100], [(0, 1), (2, 2)]),
        ([60, 59], [(0, 1)]),
        ([60, 61], [(0, 0), (1, 1)]),
    ],
)
def test_cuts_follow_the_two_factors(sizes: list[float], pieces: list[tuple[int, int]]) -> None:
    found = cut_blocks(
        sizes, target_bytes=TARGET, small_partition_factor=0.2, merged_partition_factor=1.2
    )
    assert found == pieces


@given(st.dictionaries(st.text(max_size=3), st.lists(st.integers(0, 300), min_size=1), max_size=8))
def test_every_block_is_written_once(blocks: dict[str, list[int]]) -> None:
    tasks = rebalance_blocks(blocks, target_bytes=TARGET)
    written = [
        (name, index)
        for task in tasks
        for name, first, last in task.pieces
        for index in range(first, last + 1)
    ]
    expected = [
        (name, index) for name, sizes in blocks.items() if sum(sizes) for index in range(len(sizes))
    ]
    assert sorted(written) == sorted(expected)
