"""Bytes per row on disk: from the table's own files first, from guesses last.

Order: files of the same partition value, recent commits of this model, the whole table, a sample of the
query's rows, the schema. Facts written under another codec or schema say nothing about the next file and
are not used. What was chosen is recorded with the commit; the next write compares it with that commit's
own files and corrects itself by the factor it was off.
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
MAX_CORRECTION = 2.0
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
    # Before correction.
    estimated_bytes_per_row: float
    files: tuple[SizedFile, ...]
    mode: str = ""
    target_bytes: int = 0
    shuffle_ratio: float | None = None
    salt: str = ""

    @property
    def bytes_per_row(self) -> float | None:
        return _bytes_per_row(self.files)


@dataclass(frozen=True)
class Calibration:
    source: Source
    bytes_per_row: float
    correction: float = 1.0
    per_value: Mapping[PartitionValues, float] = field(default_factory=dict)

    def of(self, partition: PartitionValues) -> float:
        return self.per_value.get(partition, self.bytes_per_row)

    @property
    def estimated_bytes_per_row(self) -> float:
        return self.bytes_per_row / self.correction


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
    """What the table's own files say, or None when they say nothing; `past_writes` newest first."""
    if past_writes and past_writes[0].fingerprint != fingerprint:
        return None
    comparable = [write for write in past_writes if write.fingerprint == fingerprint]
    live = [file for file in live_files if file.rows > 0]
    recent = _recent(comparable)
    whole = _bytes_per_row(live)
    per_value = _per_value(live, target_bytes)
    if recent is not None:
        source, base = Source.COMMITS, recent
    elif whole is not None:
        source, base = Source.TABLE, whole
    else:
        return None
    if per_value:
        source = Source.PARTITION
    factor = correction(comparable, source)
    return Calibration(
        source,
        base * factor,
        factor,
        {partition: size * factor for partition, size in per_value.items()},
    )


def correction(past_writes: Sequence[PastWrite], source: Source) -> float:
    """Measured over estimated, of the last write that used the same source.

    Old files stay in a table for ever, so an estimate from all of them stays off by the same factor. An
    estimate from the newest commits corrects itself.
    """
    if source not in (Source.TABLE, Source.PARTITION):
        return 1.0
    for write in past_writes:
        measured = write.bytes_per_row
        if write.source == source.value and measured and write.estimated_bytes_per_row > 0:
            factor = measured / write.estimated_bytes_per_row
            return min(MAX_CORRECTION, max(1 / MAX_CORRECTION, factor))
    return 1.0


def from_sample(*, half_bytes: int, half_rows: int, full_bytes: int, full_rows: int) -> Calibration:
    """From the same sample written twice, once by half: what the second half added is what a row costs.

    A dictionary is paid once per file; in a sample it would count many times too much.
    """
    whole = full_bytes / max(1, full_rows)
    added_rows = full_rows - half_rows
    if added_rows <= 0 or half_rows <= 0:
        return Calibration(Source.SAMPLE, max(whole, 0.01))
    added = (full_bytes - half_bytes) / added_rows
    return Calibration(Source.SAMPLE, max(added, whole / 4, 0.01))


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


def shuffle_ratio(past_writes: Sequence[PastWrite], *, fingerprint: str, mode: str) -> float:
    """Shuffled bytes per byte on disk for a write that Spark or Delta sizes by shuffled bytes.

    Fed back: the ratio of the last such write, corrected by how far its larger files missed the target.
    """
    low, high = SHUFFLE_RATIO_RANGE
    for write in past_writes:
        if write.mode != mode or write.shuffle_ratio is None or write.fingerprint != fingerprint:
            continue
        sizes = [file.bytes for file in write.files]
        full = [size for size in sizes if size >= write.target_bytes / 4]
        # Values smaller than the target make small files whatever the ratio.
        if len(full) < 3 or not write.target_bytes:
            return write.shuffle_ratio
        step = write.target_bytes / statistics.median(full)
        return min(high, max(low, write.shuffle_ratio * min(2.0, max(0.5, step))))
    return DEFAULT_SHUFFLE_RATIO


def _recent(writes: Sequence[PastWrite]) -> float | None:
    """Newest commits until they hold enough rows to be telling."""
    files: list[SizedFile] = []
    for write in writes:
        files += write.files
        if sum(file.rows for file in files) >= TELLING_ROWS:
            break
    return _bytes_per_row(files)


def _per_value(files: Sequence[SizedFile], target_bytes: int) -> dict[PartitionValues, float]:
    telling = min(TELLING_BYTES, TELLING_FRACTION * target_bytes)
    groups: dict[PartitionValues, list[SizedFile]] = {}
    for file in files:
        if file.partition and file.bytes >= telling:
            groups.setdefault(file.partition, []).append(file)
    found = {partition: _bytes_per_row(group) for partition, group in groups.items()}
    return {partition: size for partition, size in found.items() if size is not None}


def _bytes_per_row(files: Iterable[SizedFile]) -> float | None:
    rows = size = 0
    for file in files:
        if file.rows > 0:
            rows += file.rows
            size += file.bytes
    return size / rows if rows and size else None
