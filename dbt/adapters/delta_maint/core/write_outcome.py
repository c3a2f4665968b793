"""What a write gave: files, bytes, and how many of them are the size they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.calibration import PartitionValues, SizedFile
from dbt.adapters.delta_maint.core.sizes import format_bytes

RANGE = 0.3
TINY_FRACTION = 1 / 128
MANY_TINY_VALUES = 200


@dataclass(frozen=True)
class WriteOutcome:
    files: int
    bytes: int
    rows: int
    in_range: int
    largest_bytes: int
    # Values whose only file is below the target because they have no more rows.
    lone_values: int
    tiny_values: int
    tiny_bytes: int
    target_bytes: int

    @property
    def in_range_percent(self) -> int:
        return round(100 * self.in_range / self.files) if self.files else 100

    @property
    def over_partitioned(self) -> str | None:
        if self.tiny_values < MANY_TINY_VALUES:
            return None
        full = max(1, round(self.tiny_bytes / self.target_bytes))
        return (
            f"{self.tiny_values:,} partition values got less than "
            f"{format_bytes(self.target_bytes * TINY_FRACTION)} each, "
            f"{format_bytes(self.tiny_bytes)} together, which {full:,} "
            f"{'file' if full == 1 else 'files'} of {format_bytes(self.target_bytes)} would hold: "
            "consider a coarser partition column, such as the month instead of the day"
        )

    def sentence(self, *, way: str, seconds: float) -> str:
        files = f"{self.files} file" if self.files == 1 else f"{self.files} files"
        return (
            f"wrote {files}, {format_bytes(self.bytes)} ({format_bytes(self.target_bytes)} target"
            f"{self._share()}), {way}, {seconds:.1f} s"
        )

    def _share(self) -> str:
        """How near the files are to the target is no news where none has the rows to reach it."""
        if self.lone_values < self.files:
            return f", {self.in_range_percent} % in range"
        return ", one file per partition value" if self.files > 1 else ""


def outcome(files: Sequence[SizedFile], *, target_bytes: int) -> WriteOutcome:
    """In range: within 30 % of the target, or the only file of a value that has no more rows."""
    per_value: dict[PartitionValues, list[int]] = {}
    for file in files:
        per_value.setdefault(file.partition, []).append(file.bytes)
    in_range = lone = tiny = tiny_bytes = 0
    for sizes in per_value.values():
        if len(sizes) == 1 and sizes[0] <= (1 + RANGE) * target_bytes:
            in_range += 1
            lone += sizes[0] < (1 - RANGE) * target_bytes
            if sizes[0] < TINY_FRACTION * target_bytes:
                tiny += 1
                tiny_bytes += sizes[0]
        else:
            in_range += sum(abs(size / target_bytes - 1) <= RANGE for size in sizes)
    return WriteOutcome(
        files=len(files),
        bytes=sum(file.bytes for file in files),
        rows=sum(file.rows for file in files),
        in_range=in_range,
        largest_bytes=max((file.bytes for file in files), default=0),
        lone_values=lone,
        tiny_values=tiny if len(per_value) > 1 else 0,
        tiny_bytes=tiny_bytes,
        target_bytes=target_bytes,
    )
