"""Rebalancing whole blocks, as Delta's optimized-write proposal and Spark's rebalance do it.

A block holds the rows of one partition value from one task of the previous stage. Blocks are neither
split nor reordered: values smaller than the target are merged into one task, larger ones are cut between
blocks, and a piece that would come out too small is glued to its neighbour. This predicts what a
rebalancing write gives; `placement` has neither of the two limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class WriteTask:
    """What one task writes: for each value the (first, last) block it takes, one file each."""

    pieces: tuple[tuple[str, int, int], ...]
    bytes: float

    @property
    def files(self) -> int:
        return len(self.pieces)


def rebalance_blocks(
    blocks: Mapping[str, Sequence[float]],
    *,
    target_bytes: float,
    small_partition_factor: float = 0.2,
    merged_partition_factor: float = 1.2,
) -> list[WriteTask]:
    """Tasks in the order of the values; a size of 0 means that the input task had no such row."""
    tasks: list[WriteTask] = []
    group: list[tuple[str, int, int]] = []
    group_bytes = 0.0

    def close_group() -> None:
        nonlocal group, group_bytes
        if group:
            tasks.append(WriteTask(tuple(group), group_bytes))
        group, group_bytes = [], 0.0

    for value, sizes in blocks.items():
        total = sum(sizes)
        if total == 0:
            continue
        if total > target_bytes:
            pieces = cut_blocks(
                sizes,
                target_bytes=target_bytes,
                small_partition_factor=small_partition_factor,
                merged_partition_factor=merged_partition_factor,
            )
            if len(pieces) > 1:
                close_group()
                for first, last in pieces:
                    size = sum(sizes[first : last + 1])
                    tasks.append(WriteTask(((value, first, last),), size))
                continue
        if group_bytes + total > target_bytes:
            close_group()
        group.append((value, 0, len(sizes) - 1))
        group_bytes += total
    close_group()
    return tasks


def cut_blocks(
    sizes: Sequence[float],
    *,
    target_bytes: float,
    small_partition_factor: float,
    merged_partition_factor: float,
) -> list[tuple[int, int]]:
    """Runs of neighbouring blocks, as (first, last) index."""
    pieces: list[tuple[int, int, float]] = []

    def close(first: int, last: int, size: float) -> None:
        if pieces:
            before_first, _, before = pieces[-1]
            if (
                before + size < merged_partition_factor * target_bytes
                or size < small_partition_factor * target_bytes
                or before < small_partition_factor * target_bytes
            ):
                pieces[-1] = (before_first, last, before + size)
                return
        pieces.append((first, last, size))

    start, size = 0, 0.0
    for index, block in enumerate(sizes):
        if index > start and size + block > target_bytes:
            close(start, index - 1, size)
            start, size = index, 0.0
        size += block
    close(start, len(sizes) - 1, size)
    return [(first, last) for first, last, _ in pieces]
