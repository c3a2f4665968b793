"""Which way a write takes, and what it says about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.calibration import SizedFile
from dbt.adapters.delta_maint.core.row_cap import best_row_cap, plan_cap
from dbt.adapters.delta_maint.core.write_choice import (
    Capabilities,
    Choice,
    Mode,
    QueryFacts,
    SortColumn,
    Way,
    WritePolicy,
    choose,
    choose_merge,
)
from dbt.adapters.delta_maint.core.write_outcome import outcome
from dbt.adapters.delta_maint.lake.write_settings import row_cap
from hypothesis import given
from hypothesis import strategies as st

MIB = 1024**2
TARGET = 128 * MIB
LARGE = 10 * TARGET


def chosen(
    facts: QueryFacts | None = None, able: Capabilities | None = None, by: str = "p", **policy: Any
) -> Choice:
    return choose(
        WritePolicy(**policy),
        facts or QueryFacts(scan_bytes=LARGE),
        able or Capabilities(),
        partition_columns=tuple(by.split()),
        target_bytes=TARGET,
    )


HEAVY = QueryFacts(scan_bytes=LARGE, heavy_operators=("SortMergeJoin",))
STAGED = QueryFacts(
    scan_bytes=LARGE, heavy_operators=("MapInPandas",), has_history=False, may_multiply=True
)
SHUFFLED = QueryFacts(scan_bytes=LARGE, heavy_operators=("a shuffle",), has_stages=True)
RANDOM = QueryFacts(scan_bytes=LARGE, is_deterministic=False)
BY_DAY = QueryFacts(scan_bytes=LARGE, sort=(SortColumn("Day"),))


@pytest.mark.parametrize(
    ("asked", "way", "reason"),
    [
        ({}, Way.EXACT, "counting is cheap"),
        ({"facts": HEAVY}, Way.REBALANCE, "counting first would repeat SortMergeJoin"),
        ({"facts": SHUFFLED}, Way.EXACT, "after the query's last shuffle"),
        ({"facts": replace(SHUFFLED, reads_target=True)}, Way.REBALANCE, "would repeat"),
        ({"facts": replace(SHUFFLED, random_columns=("id",))}, Way.REBALANCE, "would repeat"),
        ({"facts": STAGED}, Way.EXACT, "MapInPandas: computed once, then counted"),
        ({"facts": replace(STAGED, has_history=True)}, Way.REBALANCE, "repeat MapInPandas"),
        ({"facts": replace(STAGED, scan_bytes=MIB)}, Way.EXACT, "computed once"),
        ({"by": "", "clustered_by": ("id",)}, Way.EXACT, "clustering columns"),
        ({"by": "", "clustered_by": ("id",), "facts": SHUFFLED}, Way.EXACT, "clustering columns"),
        ({"by": "", "clustered_by": ("id",), "facts": HEAVY}, Way.CAP, "SortMergeJoin"),
        ({"by": "", "write_order": ("id",), "facts": HEAVY}, Way.EXACT, "write_order"),
        ({"by": "", "write_order": ("id",), "facts": RANDOM}, Way.EXACT, "write_order"),
        (
            {"facts": QueryFacts(scan_bytes=MIB), "by": "", "clustered_by": ("id",)},
            Way.COALESCE,
            "",
        ),
        ({"facts": RANDOM}, Way.REBALANCE, "not deterministic"),
        ({"facts": QueryFacts(scan_bytes=MIB)}, Way.REBALANCE, "1 MiB of input"),
        ({"facts": HEAVY, "mode": Mode.EXACT}, Way.EXACT, "asked for"),
        ({"mode": Mode.REBALANCE}, Way.REBALANCE, "asked for"),
        ({"mode": Mode.DELTA}, Way.DELTA, "asked for"),
        ({"mode": Mode.OFF}, Way.PLAIN, "off"),
        ({"facts": BY_DAY}, Way.CAP, "ordered by Day"),
        ({"facts": BY_DAY, "by": "day"}, Way.EXACT, "cheap"),
        ({"facts": BY_DAY, "sorted_query": "within"}, Way.EXACT, "cheap"),
        ({"facts": QueryFacts(sort=())}, Way.CAP, "ordered by an expression"),
        ({"by": ""}, Way.COALESCE, "no shuffle"),
        ({"by": "", "facts": HEAVY}, Way.CAP, "SortMergeJoin"),
        ({"by": "", "facts": RANDOM}, Way.CAP, "not deterministic"),
        ({"by": "", "mode": Mode.EXACT}, Way.CHUNKS, "asked for"),
        ({"by": "", "write_order": ("id",)}, Way.EXACT, "write_order"),
        ({"able": Capabilities(can_place=False)}, Way.REBALANCE, "repartitionById"),
        ({"able": Capabilities(can_place=False, can_rebalance=False)}, Way.CAP, "neither"),
        (
            {"able": Capabilities(can_rebalance=False), "mode": Mode.REBALANCE},
            Way.EXACT,
            "adaptive execution or hints are off",
        ),
        ({"able": Capabilities(can_bin=False), "mode": Mode.DELTA}, Way.PLAIN, "shuffle manager"),
    ],
)
def test_the_choice_and_its_reason(asked: dict[str, Any], way: Way, reason: str) -> None:
    choice = chosen(**asked)
    assert choice.way is way
    assert reason in choice.reason


def test_what_is_not_deterministic_is_never_counted_unstaged() -> None:
    for by in ("p", ""):
        for mode in Mode:
            choice = chosen(RANDOM, by=by, mode=mode)
            assert choice.way not in (Way.EXACT, Way.CHUNKS) or choice.is_staged


def test_a_merge_is_delta_unless_it_is_off() -> None:
    assert choose_merge(WritePolicy(), Capabilities(), "merge").way is Way.DELTA
    assert choose_merge(WritePolicy(Mode.OFF), Capabilities(), "merge").way is Way.PLAIN
    assert choose_merge(WritePolicy(), Capabilities(can_bin=False), "merge").way is Way.PLAIN


@pytest.mark.parametrize(
    ("rows", "tasks", "files"),
    [
        ([100] * 4, 1, 1),  # small: one task
        ([250_000] * 4, None, 4),  # one target each: as they are
        ([2_600_000] * 2, None, 20),  # ten and a half targets each: cut evenly
        ([10_000] * 400, 15, 15),  # many small tasks: joined
        ([], 1, 0),
    ],
)
def test_tasks_are_joined_or_cut_without_a_shuffle(
    rows: list[int], tasks: int | None, files: int
) -> None:
    plan = plan_cap(rows, bytes_per_row=500, target_bytes=TARGET, cores=2)
    assert (plan.tasks, plan.files) == (tasks, files)


def test_cores_are_not_left_idle_for_a_larger_file() -> None:
    plan = plan_cap([5_000] * 64, bytes_per_row=500, target_bytes=4 * TARGET, cores=8)
    assert plan.tasks == 8


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=30), st.floats(1, 1000))
def test_a_row_cap_stays_near_the_target(rows: list[int], bytes_per_row: float) -> None:
    cap, files = best_row_cap(rows, bytes_per_row=bytes_per_row, target_bytes=TARGET)
    target_rows = max(1, TARGET / bytes_per_row)
    assert 0.6 * target_rows <= cap <= 1.4 * target_rows + 1
    assert files == sum(-(-count // cap) for count in rows)


@pytest.mark.parametrize(
    ("rows", "users", "cap"), [(10.2, "0", "11"), (0, None, "0"), (100, "50", "50"), (0, "7", "7")]
)
def test_a_users_own_row_cap_is_kept(rows: float, users: str | None, cap: str) -> None:
    assert list(row_cap(rows, users).values()) == [cap]


def test_the_console_line() -> None:
    files = [SizedFile(("a",), 8 * MIB, 10)] * 3 + [SizedFile(("b",), MIB, 1)]
    told = outcome(files, target_bytes=8 * MIB)
    assert told.sentence(way="exact", seconds=12.06) == (
        "wrote 4 files, 25 MiB (8 MiB target, 100 % in range), exact, 12.1 s"
    )
    off = outcome([SizedFile(("a",), 20 * MIB, 1), *files], target_bytes=8 * MIB)
    assert off.in_range_percent == 80
    assert outcome([], target_bytes=MIB).in_range_percent == 100


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            16,
            "wrote 16 files, 1.3 MiB (128 MiB target, one file per partition value), exact, 1.0 s",
        ),
        (1, "wrote 1 file, 81.2 KiB (128 MiB target), exact, 1.0 s"),
        (0, "wrote 0 files, 0 B (128 MiB target), exact, 1.0 s"),
    ],
)
def test_no_share_is_told_of_files_whose_values_have_no_more_rows(
    files: int, sentence: str
) -> None:
    written = [SizedFile((str(value),), 83_200, 10) for value in range(files)]
    assert outcome(written, target_bytes=128 * MIB).sentence(way="exact", seconds=1) == sentence


def test_over_partitioning_is_told_with_its_numbers() -> None:
    files = [SizedFile((str(day),), 1000, 1) for day in range(4_812)]
    told = outcome(files, target_bytes=TARGET).over_partitioned
    assert told is not None
    assert told == (
        "4,812 partition values got less than 1 MiB each, 4.6 MiB together, which 1 file of "
        "128 MiB would hold: consider a coarser partition column, such as the month instead of the day"
    )
    assert outcome(files[:50], target_bytes=TARGET).over_partitioned is None
