"""Packing is OPTIMIZE's own; a bin is worth its bytes or left alone; a byte is rewritten a few times only."""

from __future__ import annotations

import math

import pytest
from dbt.adapters.delta_maint.core.packing import Bin, BinRule, next_fit, worthwhile_cuts
from hypothesis import example, given, settings
from hypothesis import strategies as st

TARGET = 1000
RULE = BinRule(TARGET)
sizes = st.lists(st.integers(1, 2000), max_size=60).map(sorted)


@given(sizes, st.integers(1, 2000))
def test_bins_hold_every_file_once_and_stay_below_the_cap(files: list[int], cap: int) -> None:
    bins = next_fit(files, cap)
    assert sum(b.files for b in bins) == len(files)
    assert sum(b.size_bytes for b in bins) == sum(files)
    assert all(b.size_bytes <= cap or b.files == 1 for b in bins)


@given(sizes, st.integers(1, 2000))
def test_no_two_bins_fit_into_one_so_packing_again_changes_nothing(
    files: list[int], cap: int
) -> None:
    outputs = sorted(b.size_bytes for b in next_fit(files, cap))
    assert all(b.files == 1 for b in next_fit(outputs, cap))


WORTH = [
    ("eight small ones", [10] * 8, True),
    ("seven small ones", [10] * 7, False),
    ("one is more than half of the result", [*[1] * 8, 20], False),
    ("one is exactly half of the result", [*[1] * 8, 8], True),
    ("three quarters of the target, whatever the inputs", [370, 380], True),
    ("just below three quarters", [374, 375], False),
    ("a file that is no longer small is left alone", [200, 600], False),
    ("unless it completes a full file", [355, 600], True),
]


@pytest.mark.parametrize(("files", "worth"), [c[1:] for c in WORTH], ids=[c[0] for c in WORTH])
def test_a_bin_is_worth_its_bytes(files: list[int], worth: bool) -> None:
    assert RULE.is_worth(Bin(len(files), sum(files), max(files))) is worth


def test_bins_are_judged_by_what_merging_is_known_to_leave() -> None:
    shrinking = BinRule(TARGET, output_ratio=0.65)
    assert RULE.is_worth(Bin(3, 750, 300))
    assert not shrinking.is_worth(Bin(3, 750, 300))
    assert shrinking.cap_bytes == int(TARGET / 0.75)
    assert BinRule(TARGET, output_ratio=0.9).cap_bytes == int(TARGET / 0.9)


@given(sizes)
def test_a_cut_is_exactly_what_optimize_does_below_that_size(files: list[int]) -> None:
    for cut in worthwhile_cuts(files, RULE.cap_bytes, RULE.is_worth):
        for below in {cut.above_bytes + 1, cut.up_to_bytes or cut.above_bytes + 1}:
            bins = [
                b for b in next_fit([s for s in files if s < below], RULE.cap_bytes) if b.files > 1
            ]
            assert all(RULE.is_worth(b) for b in bins)
            assert (cut.bins, cut.input_files, cut.input_bytes) == (
                len(bins),
                sum(b.files for b in bins),
                sum(b.size_bytes for b in bins),
            )


@given(sizes)
def test_no_longer_prefix_would_do(files: list[int]) -> None:
    cuts = worthwhile_cuts(files, RULE.cap_bytes, RULE.is_worth)
    longest = cuts[-1].considered_files if cuts else 0
    for length in range(longest + 1, len(files) + 1):
        if length < len(files) and files[length] == files[length - 1]:
            continue
        bins = [b for b in next_fit(files[:length], RULE.cap_bytes) if b.files > 1]
        assert not bins or not all(RULE.is_worth(b) for b in bins)


def compact_once(files: list[tuple[int, int]], rule: BinRule) -> tuple[list[tuple[int, int]], int]:
    """Files as (size, times rewritten) after the longest cut; the bytes that were rewritten."""
    files = sorted(files)
    below = [f for f in files if f[0] < rule.done_bytes]
    cuts = worthwhile_cuts([s for s, _ in below], rule.cap_bytes, rule.is_worth)
    if not cuts:
        return files, 0
    cut = cuts[-1]
    kept = files[cut.considered_files :]
    taken = below[: cut.considered_files]
    start = 0
    for b in next_fit([s for s, _ in taken], rule.cap_bytes):
        members = taken[start : start + b.files]
        start += b.files
        if b.files == 1:
            kept += members
        else:
            kept.append((sum(s for s, _ in members), max(t for _, t in members) + 1))
    return kept, cut.input_bytes


@settings(max_examples=300)
@given(st.lists(st.lists(st.integers(1, 900), max_size=12), max_size=40))
@example([[1, 1]] * 200)
def test_a_byte_is_rewritten_at_most_log2_of_target_by_size_plus_one_times(
    runs: list[list[int]],
) -> None:
    """Every arriving file is followed through all the files it becomes part of."""
    files: list[tuple[int, list[tuple[int, int]]]] = []  # size, (size on arrival, times rewritten)
    for run in runs:
        files = sorted([*files, *((size, [(size, 0)]) for size in run)], key=lambda f: f[0])
        below = [f for f in files if f[0] < RULE.done_bytes]
        cuts = worthwhile_cuts([f[0] for f in below], RULE.cap_bytes, RULE.is_worth)
        taken = below[: cuts[-1].considered_files] if cuts else []
        kept, start = files[len(taken) :], 0
        for b in next_fit([f[0] for f in taken], RULE.cap_bytes):
            members = taken[start : start + b.files]
            start += b.files
            rewritten = int(b.files > 1)
            parts = [(arrival, times + rewritten) for _, held in members for arrival, times in held]
            kept.append((b.size_bytes, parts))
        files = kept
        for _, held in files:
            for arrival, times in held:
                bound = math.floor(math.log2(max(1, RULE.done_bytes / arrival))) + 1
                assert times <= bound <= math.log2(max(1, TARGET / arrival)) + 1


@settings(max_examples=200)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=60))
def test_compaction_ends_after_a_few_rounds_whatever_the_sizes(arrivals: list[int]) -> None:
    files: list[tuple[int, int]] = [(size, 0) for size in arrivals]
    for _ in range(6):
        files, rewritten = compact_once(files, RULE)
    assert rewritten == 0


def test_twenty_megabyte_files_do_not_pile_up() -> None:
    files: list[tuple[int, int]] = []
    for _ in range(146):
        files, _ = compact_once([*files, (156, 0)], RULE)
    assert len(files) < 146 // 4


def test_two_files_of_a_megabyte_per_run_cost_three_times_their_bytes_and_leave_six_files() -> None:
    """Merging them on every run would rewrite each byte 17 times, a rule of 50 files keep 26."""
    rule, size, runs = BinRule(128 * 2**20), 10**6, 200
    files: list[tuple[int, int]] = []
    rewritten, counts = 0, []
    for _ in range(runs):
        files, now = compact_once([*files, (size, 0), (size, 0)], rule)
        rewritten += now
        counts.append(len(files))
    assert rewritten / (2 * size * runs) < 3
    assert sum(counts) / runs < 6.5
