"""Bins: which files of a partition become one, and whether that is worth its bytes.

Packing is OPTIMIZE's own (next-fit over ascending sizes), so that a plan made here is the plan that
Delta carries out when it is told a size below which files are taken.

The bin rule has a bound that a property test holds. Let T be the target and s < 0.75 T the size of the
file a byte arrived in. A bin is taken in two cases only: every input is at most half of the result, so
the byte's file at least doubles; or the result is at least 0.75 T, and such a file is never taken
again. So a byte is rewritten at most floor(log2(0.75 T / s)) + 1 times, which is below
log2(T / s) + 1, counting sizes as inputs and a merge that does not shrink below what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.sizes import format_bytes

FULL_RATIO = 0.95


@dataclass(frozen=True, slots=True)
class Bin:
    """Neighbours in size that would become one file."""

    files: int
    size_bytes: int
    largest_bytes: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Taking every file below a size, anywhere between `above_bytes` and `up_to_bytes`.

    `up_to_bytes` is the size of the first file left alone; None where no file is left.
    """

    considered_files: int
    input_files: int
    input_bytes: int
    bins: int
    above_bytes: int
    up_to_bytes: int | None

    @property
    def files_removed(self) -> int:
        return self.input_files - self.bins


@dataclass(frozen=True)
class BinRule:
    """When a bin is worth its bytes. `output_ratio` is what merging leaves of the inputs' bytes."""

    target_bytes: int
    small_ratio: float = 0.5
    done_ratio: float = 0.75
    min_input_files: int = 8
    output_ratio: float = 1.0

    @property
    def small_bytes(self) -> int:
        return int(self.target_bytes * self.small_ratio)

    @property
    def done_bytes(self) -> int:
        return int(self.target_bytes * self.done_ratio)

    @property
    def cap_bytes(self) -> int:
        """Inputs of one bin: more than the target where merging is known to shrink, within limits."""
        stretch = min(1 / self.output_ratio, 1 / self.done_ratio)
        return int(self.target_bytes * stretch)

    def expected_bytes(self, input_bytes: int) -> int:
        return int(input_bytes * self.output_ratio)

    def is_worth(self, candidate: Bin) -> bool:
        expected_bytes = self.expected_bytes(candidate.size_bytes)
        if candidate.largest_bytes >= self.small_bytes:
            # Not small any more: left alone unless that completes a full file.
            return expected_bytes >= self.target_bytes * FULL_RATIO
        if expected_bytes >= self.done_bytes:
            return True
        return (
            candidate.files >= self.min_input_files
            and candidate.largest_bytes * 2 <= expected_bytes
        )

    def explain(self, candidate: Bin) -> str:
        """Why a bin is not worth it, with its numbers."""
        told = f"{candidate.files} small files, {format_bytes(candidate.size_bytes)}"
        if candidate.files < self.min_input_files:
            return (
                f"{told}: fewer than {self.min_input_files} inputs and below "
                f"{format_bytes(self.done_bytes)}"
            )
        return (
            f"{told}: the largest, {format_bytes(candidate.largest_bytes)}, is more than half of "
            "the result"
        )


def next_fit(ascending_sizes: Sequence[int], cap_bytes: int) -> list[Bin]:
    """OPTIMIZE's packing, single files included.

    >>> [(b.files, b.size_bytes) for b in next_fit([1, 2, 3, 4, 9], 10)]
    [(4, 10), (1, 9)]
    """
    bins: list[Bin] = []
    files = total = largest = 0
    for size in ascending_sizes:
        if files and total + size > cap_bytes:
            bins.append(Bin(files, total, largest))
            files = total = 0
        files, total, largest = files + 1, total + size, size
    if files:
        bins.append(Bin(files, total, largest))
    return bins


def worthwhile_cuts(
    ascending_sizes: Sequence[int], cap_bytes: int, is_worth: Callable[[Bin], bool]
) -> list[Cut]:
    """Every size prefix all of whose bins are worth it, shortest first.

    Files of one size cannot be told apart by a size, so a cut never lies between them.
    """
    cuts: list[Cut] = []
    closed_files = closed_bytes = closed_bins = 0
    files = total = 0
    last = len(ascending_sizes) - 1
    for index, size in enumerate(ascending_sizes):
        if files and total + size > cap_bytes:
            if files > 1:
                if not is_worth(Bin(files, total, ascending_sizes[index - 1])):
                    break
                closed_files, closed_bytes = closed_files + files, closed_bytes + total
                closed_bins += 1
            files = total = 0
        files, total = files + 1, total + size
        if index < last and ascending_sizes[index + 1] == size:
            continue
        is_open = files > 1
        if is_open and not is_worth(Bin(files, total, size)):
            continue
        if not closed_bins and not is_open:
            continue
        cuts.append(
            Cut(
                considered_files=index + 1,
                input_files=closed_files + (files if is_open else 0),
                input_bytes=closed_bytes + (total if is_open else 0),
                bins=closed_bins + is_open,
                above_bytes=size,
                up_to_bytes=None if index == last else ascending_sizes[index + 1],
            )
        )
    return cuts
