"""Ranges of a sorted value: equal files, and every row in exactly one of them."""

from __future__ import annotations

import bisect

import pytest
from dbt.adapters.delta_maint.core.range_cuts import MAX_RANGES, KeyRange, key_ranges
from dbt.adapters.delta_maint.lake.placed_rows import RANGE_STEPS
from hypothesis import given
from hypothesis import strategies as st


def rows_per_file(keys: list[float], files: int) -> list[float]:
    """How many of the rows with these keys each file gets, as the write places them."""
    ordered = sorted(keys)
    percentiles = [ordered[len(ordered) * step // RANGE_STEPS] for step in range(1, RANGE_STEPS)]
    ranges = key_ranges(percentiles, files)
    starts = [part.start for part in ranges[1:]]
    found = [0.0] * files
    for key in ordered:
        part = ranges[bisect.bisect_right(starts, key)]
        for file in range(part.first, part.first + part.files):
            found[file] += 1 / part.files
    return found


@pytest.mark.parametrize("files", [2, 3, 7, 12, 40, 64, 65, 120, 300, 1000])
def test_files_of_distinct_keys_are_equal(files: int) -> None:
    rows = rows_per_file([float(key) for key in range(20_000)], files)
    even = 20_000 / files
    assert all(0.85 * even <= count <= 1.2 * even for count in rows)


def test_a_key_with_more_rows_than_a_file_is_spread() -> None:
    rows = rows_per_file([7.0] * 9_000 + [float(key) for key in range(100, 1_100)], 20)
    assert max(rows) <= 1.2 * 500
    assert min(rows) >= 0.8 * 500


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=399).map(sorted), st.integers(1, 3_000))
def test_the_ranges_share_all_files_in_order(percentiles: list[float], files: int) -> None:
    ranges = key_ranges(percentiles, files)
    assert len(ranges) <= MAX_RANGES
    assert ranges[0].start is None
    assert [part.first for part in ranges[1:]] == [part.first + part.files for part in ranges[:-1]]
    assert ranges[-1].first + ranges[-1].files == files
    assert all(part.files >= 1 for part in ranges)
    starts = [part.start for part in ranges[1:]]
    assert starts == sorted(set(starts))


def test_one_file_is_one_range() -> None:
    assert key_ranges([1.0, 2.0], 1) == [KeyRange(None, 0, 1)]
