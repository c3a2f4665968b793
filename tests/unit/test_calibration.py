"""Bytes per row: which fact is believed, and how a miss corrects the next write."""

from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.calibration import (
    Calibration,
    PastWrite,
    SizedFile,
    Source,
    fingerprint,
    from_schema,
    from_table,
    shuffle_ratio,
    size_error,
)

MIB = 1024**2
TARGET = 8 * MIB
PRINT = "abc"


def write(*files: SizedFile, **changes: object) -> PastWrite:
    known = {"fingerprint": PRINT, "source": "sample"}
    return PastWrite(**{**known, "files": files, **changes})  # type: ignore[arg-type]


def calibrate(live: list[SizedFile], past: list[PastWrite]) -> Calibration | None:
    return from_table(live_files=live, past_writes=past, fingerprint=PRINT, target_bytes=TARGET)


def test_files_of_the_same_partition_value_come_first() -> None:
    live = [SizedFile(("de",), 4 * MIB, 10_000), SizedFile(("fr",), 100_000, 1_000)]
    found = calibrate(live, [write(SizedFile(("de",), 4 * MIB, 10_000))])
    assert found is not None
    assert found.source is Source.PARTITION
    assert found.of(("de",)) == pytest.approx(4 * MIB / 10_000)
    # Its only file is too small to be telling, so the commits speak for it.
    assert found.of(("fr",)) == found.bytes_per_row == pytest.approx(4 * MIB / 10_000)


def test_recent_commits_come_before_the_whole_table() -> None:
    live = [SizedFile((), 100 * MIB, 10_000)]
    found = calibrate(live, [write(SizedFile((), 50 * MIB, 200_000))])
    assert found is not None
    assert found.source is Source.COMMITS
    assert found.bytes_per_row == pytest.approx(50 * MIB / 200_000)


def test_commits_are_added_until_they_hold_enough_rows() -> None:
    past = [
        write(SizedFile((), 1_000, 10)),
        write(SizedFile((), 9_000_000, 150_000)),
        write(SizedFile((), 9_000_000, 1_000_000)),
    ]
    found = calibrate([], past)
    assert found is not None
    # The first is all footer, the last is not needed any more.
    assert found.bytes_per_row == pytest.approx(9_000_000 / 150_000)


def test_a_table_written_by_others_speaks_as_a_whole() -> None:
    found = calibrate([SizedFile((), 10_000, 100)], [])
    assert found is not None
    assert (found.source, found.bytes_per_row) == (Source.TABLE, 100.0)


def test_another_codec_or_schema_silences_the_table() -> None:
    assert calibrate([SizedFile((), 10_000, 100)], [write(fingerprint="other")]) is None


def test_a_table_without_rows_says_nothing() -> None:
    assert calibrate([], []) is None
    assert calibrate([SizedFile((), 500, 0)], []) is None


def test_a_miss_is_made_once_and_told() -> None:
    """Old files at 100 bytes per row, new rows at 80: the second write expects 80 and stays there."""
    missed = write(SizedFile((), 8 * MIB, 8 * MIB // 80), expected_bytes=10 * MIB)
    found = calibrate([SizedFile((), 100 * MIB, MIB)], [missed])
    assert found is not None
    assert found.bytes_per_row == pytest.approx(80, rel=0.01)
    assert size_error([missed], PRINT) == pytest.approx(-0.2)
    assert size_error([missed], "other") is None


def test_values_with_rows_of_other_sizes_do_not_spoil_each_other() -> None:
    """A day with small rows, then one with large rows: each is believed for itself."""
    small = write(SizedFile(("small",), 4 * MIB, 400_000))
    large = write(SizedFile(("large",), 4 * MIB, 4_000))
    found = calibrate([*small.files, *large.files], [small, large])
    assert found is not None
    assert found.of(("small",)) == pytest.approx(4 * MIB / 400_000)
    assert found.of(("large",)) == pytest.approx(4 * MIB / 4_000)


def test_small_files_say_what_a_row_adds_to_their_footer() -> None:
    past = [write(*(SizedFile((), 3_000 + 10 * rows, rows) for rows in (10, 200, 5_000)))]
    found = calibrate([], past)
    assert found is not None
    assert found.bytes_per_row == pytest.approx(10)


def test_the_schema_is_the_last_resort() -> None:
    assert from_schema(["int", "varchar(20)", "array<int>"]).bytes_per_row == 39.0


def test_the_fingerprint_changes_with_codec_type_and_order_only() -> None:
    base = {"codec": "snappy", "columns": [("Id", "int")], "order": []}
    same = fingerprint(**{**base, "columns": [("id", "int")]})  # type: ignore[arg-type]
    assert fingerprint(**base) == same  # type: ignore[arg-type]
    for change in ({"codec": "zstd"}, {"columns": [("id", "bigint")]}, {"order": ["id"]}):
        assert fingerprint(**{**base, **change}) != same  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "ratio"),
    [
        ([4 * MIB] * 5, 4.0),  # files half the target: twice the ratio
        ([8 * MIB] * 5, 2.0),
        ([40 * MIB] * 5, 1.0),  # at most one halving per run
        ([8 * MIB] * 5 + [MIB], 2.0),  # the rest of a value says nothing
    ],
)
def test_the_shuffle_ratio_follows_what_the_last_write_gave(sizes: list[int], ratio: float) -> None:
    files = [SizedFile((), size, 10) for size in sizes]
    past = write(*files, mode="rebalance", target_bytes=TARGET, shuffle_ratio=2.0)
    assert shuffle_ratio([past], fingerprint=PRINT, mode="rebalance") == pytest.approx(ratio)
    assert shuffle_ratio([past], fingerprint=PRINT, mode="delta") is None


def test_values_that_fill_no_file_do_not_move_the_shuffle_ratio() -> None:
    files = [SizedFile((str(value),), 3 * MIB, 10) for value in range(20)]
    past = write(*files, mode="delta", target_bytes=TARGET, shuffle_ratio=2.0)
    assert shuffle_ratio([past], fingerprint=PRINT, mode="delta") == 2.0
