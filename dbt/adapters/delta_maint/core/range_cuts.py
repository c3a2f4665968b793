"""Where a value that is cut into several files is cut: at percentiles of the column that orders it.

Rows with equal keys cannot be told apart by a range. Where one key has more rows than a file holds, its
range gets several files, and a hash spreads its rows over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# More ranges than this would be cut at percentiles too coarse for equal files: the rest is spread by hash.
MAX_RANGES = 64


@dataclass(frozen=True)
class KeyRange:
    """Rows from `start` on, up to the next range, go to the files `first .. first + files - 1`."""

    start: float | None
    first: int
    files: int


def key_ranges(percentiles: Sequence[float], files: int) -> list[KeyRange]:
    """`percentiles` are keys at equal steps of rank; the ranges together have exactly `files` files.

    >>> key_ranges([1, 2, 3, 4, 5, 6, 7], 4)
    [KeyRange(start=None, first=0, files=1), KeyRange(start=2, first=1, files=1), \
KeyRange(start=4, first=2, files=1), KeyRange(start=6, first=3, files=1)]
    >>> key_ranges([5, 5, 5, 5, 5, 5, 9], 4)
    [KeyRange(start=None, first=0, files=4)]
    """
    steps = len(percentiles) + 1
    each = -(-files // MAX_RANGES)
    # The key at a rank, and the rank at which the rows of that key begin.
    starts: list[tuple[float | None, int]] = [(None, 0)]
    for cut in range(each, files, each):
        index = round(cut * steps / files) - 1
        if not 0 <= index < len(percentiles):
            continue
        key = percentiles[index]
        while index > 0 and percentiles[index - 1] == key:
            index -= 1
        begins = 0 if index == 0 and key == percentiles[min(1, len(percentiles) - 1)] else index + 1
        first = round(begins * files / steps)
        if first > starts[-1][1] and first < files and key != starts[-1][0]:
            starts.append((key, first))
    ends = [first for _, first in starts[1:]] + [files]
    return [
        KeyRange(key, first, end - first) for (key, first), end in zip(starts, ends, strict=True)
    ]
