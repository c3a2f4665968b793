"""Where rows are written: files near their target, bounded tasks, every value in range."""

from __future__ import annotations

import math

import pytest
from dbt.adapters.delta_maint.core.placement import (
    Placement,
    PlacementPolicy,
    ValueRows,
    file_count,
    place,
)
from dbt.adapters.delta_maint.core.slot_table import build_slot_table
from dbt.adapters.delta_maint.lake.write_settings import MIB, OPEN_FILES, open_files
from hypothesis import given, settings
from hypothesis import strategies as st

TARGET = 1_000_000
POLICY = PlacementPolicy(target_bytes=TARGET)
KEYS = st.integers(-(2**63), 2**63 - 1)


def value(key: int, rows: int, bytes_per_row: float = 100.0) -> ValueRows:
    return ValueRows(key, rows, bytes_per_row, str(key))


def zipf(count: int, total_rows: int) -> list[ValueRows]:
    weights = [1 / (rank + 1) ** 1.1 for rank in range(count)]
    return [
        value(rank * 7919 - 3, int(total_rows * weight / sum(weights)))
        for rank, weight in enumerate(weights)
    ]


@pytest.mark.parametrize(
    ("value_bytes", "files"),
    [(0.1, 1), (0.75, 1), (1.0, 1), (1.4, 1), (1.45, 2), (2.0, 2), (2.4, 2), (2.5, 3), (68, 68)],
)
def test_a_value_gets_the_number_of_files_closest_to_the_target(
    value_bytes: float, files: int
) -> None:
    assert file_count(value_bytes * TARGET, TARGET, POLICY) == files


def test_a_file_of_a_cut_value_is_never_below_the_small_partition_factor() -> None:
    policy = PlacementPolicy(target_bytes=TARGET, small_partition_factor=0.9)
    assert file_count(1.7 * TARGET, TARGET, policy) == 1


def test_every_large_value_of_a_skewed_table_comes_out_near_the_target() -> None:
    placement = place(zipf(50, 640_000), POLICY)
    large = [placed for placed in placement.values if placed.value.bytes > 1.25 * TARGET]
    assert large
    assert all(0.7 * TARGET <= placed.file_bytes <= 1.42 * TARGET for placed in large)
    ideal = sum(max(1, round(placed.value.bytes / TARGET)) for placed in placement.values)
    assert abs(placement.files - ideal) <= 1


def test_small_values_share_tasks_and_large_ones_do_not() -> None:
    placement = place([value(1, 100_000), *(value(key, 10) for key in range(2, 40))], POLICY)
    hot = next(placed for placed in placement.values if placed.value.key == 1)
    hot_tasks = set(range(hot.first_task, hot.first_task + hot.files))
    small_tasks = {placed.first_task for placed in placement.values if placed.value.key != 1}
    assert hot.files == 10
    assert not hot_tasks & small_tasks
    assert len(small_tasks) == 3  # opening a file counts as a sixteenth of the target


def test_merged_partition_factor_bounds_what_shares_a_task() -> None:
    values = [value(key, 6_000) for key in range(12)]
    for factor, tasks in ((0.7, 12), (1.4, 6)):
        policy = PlacementPolicy(target_bytes=TARGET, merged_partition_factor=factor)
        assert place(values, policy).tasks == tasks


def test_one_task_never_opens_more_files_than_allowed() -> None:
    placement = place([value(key, 1, 1.0) for key in range(5_000)], POLICY)
    per_task: dict[int, int] = {}
    for placed in placement.values:
        per_task[placed.first_task] = per_task.get(placed.first_task, 0) + 1
    assert max(per_task.values()) <= POLICY.max_values_per_task
    assert placement.files == 5_000


def test_tiny_values_are_spread_until_every_core_has_a_task() -> None:
    values = [value(key, 10) for key in range(32)]
    assert place(values, POLICY).tasks <= 3
    assert place(values, PlacementPolicy(target_bytes=TARGET, min_tasks=8)).tasks >= 8


def test_more_data_than_tasks_raises_the_file_size_instead_of_the_task_count() -> None:
    policy = PlacementPolicy(target_bytes=TARGET, max_tasks=10)
    placement = place([value(1, 1_000_000)], policy)
    assert placement.tasks == 10
    assert placement.target_bytes == 10 * TARGET


@pytest.mark.parametrize("values", [[], [value(1, 0)]])
def test_no_rows_need_one_task_and_no_file(values: list[ValueRows]) -> None:
    placement = place(values, POLICY)
    assert (placement.tasks, placement.files) == (1, 0)
    assert placement.lookup().task(99, 5) == 0


def test_two_values_of_one_hash_are_placed_as_one() -> None:
    placement = place([value(5, 8_000), value(5, 12_000)], POLICY)
    assert [(p.value.rows, p.files) for p in placement.values] == [(20_000, 2)]


@settings(deadline=None, max_examples=150)
@given(
    st.dictionaries(KEYS, st.integers(0, 400_000), max_size=80),
    st.integers(1, 16),
    st.floats(1, 500),
    st.lists(st.tuples(KEYS, KEYS), max_size=20),
)
def test_every_row_has_a_task_of_the_plan_and_every_cut_value_uses_all_of_its_tasks(
    rows: dict[int, int], min_tasks: int, bytes_per_row: float, strangers: list[tuple[int, int]]
) -> None:
    values = [value(key, count, bytes_per_row) for key, count in rows.items()]
    placement = place(values, PlacementPolicy(target_bytes=TARGET, min_tasks=min_tasks))
    lookup = placement.lookup()
    assert placement.rows == sum(rows.values())
    for placed in placement.values:
        tasks = {lookup.task(placed.value.key, salt) for salt in range(-placed.files, placed.files)}
        assert tasks == set(range(placed.first_task, placed.first_task + placed.files))
        assert max(tasks) < placement.tasks
        if placed.files > 1:
            assert abs(math.log(placed.file_bytes / TARGET)) <= math.log(1.42)
    # A value that nobody counted still lands inside the plan.
    assert all(0 <= lookup.task(key, salt) < placement.tasks for key, salt in strangers)
    _tasks_of_cut_values_are_their_own(placement)


def _tasks_of_cut_values_are_their_own(placement: Placement) -> None:
    owners: dict[int, set[int]] = {}
    for placed in placement.values:
        for task in range(placed.first_task, placed.first_task + placed.files):
            owners.setdefault(task, set()).add(placed.value.key)
    for placed in placement.values:
        if placed.files > 1:
            assert owners[placed.first_task] == {placed.value.key}


@settings(deadline=None, max_examples=100)
@given(st.sets(KEYS, min_size=1, max_size=300))
def test_no_two_keys_share_a_slot(keys: set[int]) -> None:
    table = build_slot_table(sorted(keys))
    assert len({table.slot(key) for key in keys}) == len(keys)
    assert all(0 <= table.slot(key) < table.slots for key in keys)


def test_ten_thousand_keys_fit_into_little_more_than_ten_thousand_slots() -> None:
    keys = [(index * 0x9E3779B97F4A7C15) % 2**64 - 2**63 for index in range(10_000)]
    table = build_slot_table(keys)
    assert len({table.slot(key) for key in keys}) == 10_000
    assert table.slots < 13_000
    assert build_slot_table(keys) == table


def test_a_task_opens_its_files_at_once_unless_they_would_take_much_memory() -> None:
    values = [value(key, 100) for key in range(100)]
    placement = place(values, PlacementPolicy(target_bytes=TARGET, max_values_per_task=12))
    assert placement.values_per_task == 12
    assert place([], POLICY).values_per_task == 1
    assert open_files(20, columns=100, target_bytes=TARGET) == {OPEN_FILES: "20"}
    assert open_files(20, columns=101, target_bytes=TARGET) == {}
    assert open_files(20, columns=100, target_bytes=1024 * MIB) == {}
    assert open_files(1, columns=9_000, target_bytes=1024 * MIB) == {OPEN_FILES: "1"}
