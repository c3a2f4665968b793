"""Bytes per row on disk: from the table's own files first, from guesses last.

Order: files of the same partition value, recent commits of this model, the whole table, a sample of the
query's rows, the schema. Facts written under another codec or schema say nothing about the next file and
are not used. What was chosen is recorded with the commit. The next write believes that commit's own files
before anything else, so a miss is made once; how far off it was is told.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

PartitionValues = tuple[str | None, ...]

# A footer, page headers and dictionaries are a large part of a small file and a small one of a large file.
TELLING_BYTES = 1024**2
TELLING_FRACTION = 0.25
TELLING_ROWS = 100_000
DEFAULT_SHUFFLE_RATIO = 2.0
SHUFFLE_RATIO_RANGE = (1.0, 12.0)


class Source(str, Enum):
    PARTITION = "partition values"
    COMMITS = "recent commits"
    TABLE = "whole table"
    SAMPLE = "sample"
    SCHEMA = "schema"

    @property
    def is_measured(self) -> bool:
        """From files that Delta's writer made, not from an estimate of them."""
        return self in (Source.PARTITION, Source.COMMITS, Source.TABLE)

    @property
    def cap_slack(self) -> float:
        """How far above the planned rows a file may grow before the writer cuts it."""
        return 1.3 if self.is_measured else 2.0


@dataclass(frozen=True)
class SizedFile:
    partition: PartitionValues
    bytes: int
    rows: int


@dataclass(frozen=True)
class PastWrite:
    """One earlier commit of this model: what it expected, and the files it made."""

    fingerprint: str
    source: str
    files: tuple[SizedFile, ...]
    mode: str = ""
    target_bytes: int = 0
    shuffle_ratio: float | None = None
    salt: str = ""
    # Of the whole commit, where the plan knew its rows.
    expected_bytes: float | None = None

    @property
    def size_error(self) -> float | None:
        """Bytes written over bytes expected, less one."""
        if not self.expected_bytes:
            return None
        return sum(file.bytes for file in self.files) / self.expected_bytes - 1


@dataclass(frozen=True)
class Calibration:
    source: Source
    bytes_per_row: float
    per_value: Mapping[PartitionValues, float] = field(default_factory=dict)

    def of(self, partition: PartitionValues) -> float:
        return self.per_value.get(partition, self.bytes_per_row)


def fingerprint(*, codec: str, columns: Sequence[tuple[str, str]], order: Sequence[str]) -> str:
    """Equal fingerprints mean that bytes per row carry over from one write to the next."""
    text = repr((codec.lower(), [(name.lower(), kind) for name, kind in columns], list(order)))
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:12]


def from_table(
    *,
    live_files: Iterable[SizedFile],
    past_writes: Sequence[PastWrite],
    fingerprint: str,
    target_bytes: int,
) -> Calibration | None:
    """What the table's own files say, or None when they say nothing; `past_writes` newest first.

    Each of our commits made its files from the rows of one run, so the newest ones are believed before the
    rest of the table.
    """
    if past_writes and past_writes[0].fingerprint != fingerprint:
        return None
    comparable = [write for write in past_writes if write.fingerprint == fingerprint]
    recent = _recent(comparable, target_bytes)
    live = [file for file in live_files if file.rows > 0]
    per_value = _per_value([*live, *recent], target_bytes)
    for source, files in ((Source.COMMITS, recent), (Source.TABLE, live)):
        base = _bytes_per_row(_telling(files, target_bytes)) or _bytes_added_per_row(files)
        if base is not None:
            return Calibration(Source.PARTITION if per_value else source, base, per_value)
    return None


def size_error(past_writes: Sequence[PastWrite], fingerprint: str) -> float | None:
    """How far the last comparable write was from what it expected."""
    for write in past_writes:
        if write.fingerprint == fingerprint and write.size_error is not None:
            return write.size_error
    return None


def from_sample(
    bytes_per_row: float, per_value: Mapping[PartitionValues, float] | None = None
) -> Calibration:
    return Calibration(Source.SAMPLE, max(bytes_per_row, 0.01), per_value or {})


_TYPE_BYTES = {
    "boolean": 0.2,
    "tinyint": 1.0,
    "smallint": 2.0,
    "int": 3.0,
    "date": 2.0,
    "float": 4.0,
    "bigint": 6.0,
    "double": 6.0,
    "timestamp": 6.0,
    "timestamp_ntz": 6.0,
    "string": 12.0,
    "binary": 24.0,
}


def from_schema(column_types: Iterable[str]) -> Calibration:
    """A guess, for a first write whose rows cannot be looked at cheaply.

    >>> from_schema(["bigint", "string", "decimal(10,2)", "struct<a:int>"]).bytes_per_row
    50.0
    """
    total = 0.0
    for kind in column_types:
        simple = kind.lower()
        default = 8.0 if simple.startswith("decimal") else 24.0
        total += (
            12.0 if simple.startswith(("varchar", "char")) else _TYPE_BYTES.get(simple, default)
        )
    return Calibration(Source.SCHEMA, max(total, 1.0))


_RANDOM_BYTES = {"boolean": 0.2, "int": 4.0, "float": 4.0, "string": 38.0}


def of_random_columns(column_types: Iterable[str]) -> float:
    """Bytes per row of columns that chance fills: nothing compresses them, and a text is most often a UUID.

    >>> of_random_columns(["string", "double"])
    46.0
    """
    return sum(_RANDOM_BYTES.get(kind.lower(), 8.0) for kind in column_types)


def shuffle_ratio(past_writes: Sequence[PastWrite], *, fingerprint: str, mode: str) -> float | None:
    """Shuffled bytes per byte on disk for a write that Spark or Delta sizes by shuffled bytes; None if unknown.

    Fed back: the ratio of the last such write, corrected by how far its larger files missed the target.
    """
    for write in past_writes:
        if write.mode != mode or write.shuffle_ratio is None or write.fingerprint != fingerprint:
            continue
        full = [file.bytes for file in _of_cut_values(write)]
        if len(full) < 3 or not write.target_bytes:
            return write.shuffle_ratio
        step = write.target_bytes / statistics.median(full)
        return possible_ratio(write.shuffle_ratio * min(2.0, max(0.5, step)))
    return None


def possible_ratio(ratio: float) -> float:
    low, high = SHUFFLE_RATIO_RANGE
    return min(high, max(low, ratio))


def _of_cut_values(write: PastWrite) -> list[SizedFile]:
    """Files of values that need several: a smaller value makes a smaller file whatever the ratio.

    The last piece of a value is a rest, so pieces far below the target say nothing either.
    """
    totals: dict[PartitionValues, int] = {}
    for file in write.files:
        totals[file.partition] = totals.get(file.partition, 0) + file.bytes
    return [
        file
        for file in write.files
        if totals[file.partition] > 1.5 * write.target_bytes
        and file.bytes >= write.target_bytes / 4
    ]


def _recent(writes: Sequence[PastWrite], target_bytes: int) -> list[SizedFile]:
    """Files of the newest commits, until those that are telling hold enough rows."""
    files: list[SizedFile] = []
    for write in writes:
        files += [file for file in write.files if file.rows > 0]
        if sum(file.rows for file in _telling(files, target_bytes)) >= TELLING_ROWS:
            break
    return files


def _telling(files: Iterable[SizedFile], target_bytes: int) -> list[SizedFile]:
    telling = min(TELLING_BYTES, TELLING_FRACTION * target_bytes)
    return [file for file in files if file.bytes >= telling]


def _per_value(files: Sequence[SizedFile], target_bytes: int) -> dict[PartitionValues, float]:
    groups: dict[PartitionValues, list[SizedFile]] = {}
    for file in _telling(files, target_bytes):
        if file.partition:
            groups.setdefault(file.partition, []).append(file)
    found = {partition: _bytes_per_row(group) for partition, group in groups.items()}
    return {partition: size for partition, size in found.items() if size is not None}


def _bytes_per_row(files: Iterable[SizedFile]) -> float | None:
    rows = size = 0
    for file in files:
        rows += file.rows
        size += file.bytes
    return size / rows if rows and size else None


def _bytes_added_per_row(files: Sequence[SizedFile]) -> float | None:
    """Of small files: what a row adds to the footer that every file has, where their sizes tell it.

    >>> files = [SizedFile((), 1_000 + 10 * rows, rows) for rows in (10, 100, 500)]
    >>> round(_bytes_added_per_row(files), 1)
    10.0
    """
    average = _bytes_per_row(files)
    if average is None or max(f.rows for f in files) < 4 * min(f.rows for f in files):
        return average
    mean_rows = statistics.fmean(file.rows for file in files)
    mean_bytes = statistics.fmean(file.bytes for file in files)
    spread = sum((file.rows - mean_rows) ** 2 for file in files)
    slope = sum((f.rows - mean_rows) * (f.bytes - mean_bytes) for f in files) / spread
    return min(average, max(slope, average / 4))
