"""Bytes per row: which fact is believed, and how a miss corrects the next write."""

from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.calibration import (
    Calibration,
    PastWrite,
    SizedFile,
    Source,
    fingerprint,
    from_sample,
    from_schema,
    from_table,
    shuffle_ratio,
)

MIB = 1024**2
TARGET = 8 * MIB
PRINT = "abc"


def write(*files: SizedFile, **changes: object) -> PastWrite:
    known = {"fingerprint": PRINT, "source": "sample", "estimated_bytes_per_row": 100.0}
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
        write(SizedFile((), 1, 1_000_000)),
    ]
    found = calibrate([], past)
    assert found is not None
    assert found.bytes_per_row == pytest.approx(9_001_000 / 150_010)


def test_a_table_written_by_others_speaks_as_a_whole() -> None:
    found = calibrate([SizedFile((), 10_000, 100)], [])
    assert found is not None
    assert (found.source, found.bytes_per_row) == (Source.TABLE, 100.0)


def test_another_codec_or_schema_silences_the_table() -> None:
    assert calibrate([SizedFile((), 10_000, 100)], [write(fingerprint="other")]) is None


def test_a_table_without_rows_says_nothing() -> None:
    assert calibrate([], []) is None
    assert calibrate([SizedFile((), 500, 0)], []) is None


def test_a_miss_corrects_the_next_write_once() -> None:
    """Old files at 100 bytes per row, new rows at 80: the second write expects 80 and stays there."""
    live = [SizedFile((), 1_000_000, 10_000)]
    first = calibrate(live, [])
    assert first is not None
    missed = write(
        fingerprint=PRINT,
        source=Source.TABLE.value,
        estimated_bytes_per_row=first.estimated_bytes_per_row,
    )
    past = PastWrite(**{**missed.__dict__, "files": (SizedFile(("x",), 80_000, 1_000),)})
    found = calibrate([SizedFile(("x",), 10 * MIB, 100_000)], [past])
    assert found is not None
    assert found.source is Source.PARTITION  # another source: not corrected by that miss
    assert found.correction == 1.0
    again = PastWrite(**{**past.__dict__, "source": Source.PARTITION.value})
    corrected = calibrate([SizedFile(("x",), 10 * MIB, 100_000)], [again])
    assert corrected is not None
    assert corrected.correction == pytest.approx(0.8)
    assert corrected.estimated_bytes_per_row == pytest.approx(80)


def test_a_correction_is_bounded() -> None:
    past = write(SizedFile(("x",), 100, 100), source="partition values")
    found = calibrate([SizedFile(("x",), 10 * MIB, 100_000)], [past])
    assert found is not None
    assert found.correction == 0.5


def test_a_dictionary_is_not_charged_to_every_row_of_a_sample() -> None:
    found = from_sample(half_bytes=600_000, half_rows=50_000, full_bytes=700_000, full_rows=100_000)
    assert found.bytes_per_row == pytest.approx(2.0)
    assert from_sample(half_bytes=0, half_rows=0, full_bytes=900, full_rows=3).bytes_per_row == 300


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
        ([1000] * 5, 2.0),  # small values say nothing
    ],
)
def test_the_shuffle_ratio_follows_what_the_last_write_gave(sizes: list[int], ratio: float) -> None:
    files = [SizedFile((), size, 10) for size in sizes]
    past = write(*files, mode="rebalance", target_bytes=TARGET, shuffle_ratio=2.0)
    assert shuffle_ratio([past], fingerprint=PRINT, mode="rebalance") == pytest.approx(ratio)
    assert shuffle_ratio([past], fingerprint=PRINT, mode="delta") == 2.0
