"""Offers of work -> what fits the budget, most valuable first -> statements.

Partitions whose small files an earlier compaction left behind go first; then files removed per byte. That
order is read from the table, so nothing has to be remembered between runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dbt.adapters.delta_maint.core.compaction_plan import (
    MOST_BYTES_PER_STATEMENT,
    MOST_PARTITIONS_PER_STATEMENT,
    Action,
    Chunk,
    PartitionWork,
    shared_thresholds,
)
from dbt.adapters.delta_maint.core.compaction_policy import Budget
from dbt.adapters.delta_maint.core.partition_predicate import create_partition_predicate
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.core.table import PartitionColumn, PartitionKey

MOST_PARTITIONS_PER_COMMIT = 512
_ORDER = (Action.COMPACT, Action.ZORDER, Action.CLUSTER, Action.PURGE)


def rank_within_budget(
    offers: Sequence[tuple[PartitionWork, ...]], budget: Budget
) -> tuple[list[PartitionWork], dict[PartitionKey, str]]:
    """Of every offer the most that fits; an offer's works are ordered from least to most."""
    taken: list[PartitionWork] = []
    left: dict[PartitionKey, str] = {}
    spent_bytes = 0
    partitions: set[PartitionKey] = set()
    ranked = sorted(
        offers,
        key=lambda offer: (
            not offer[-1].waits,
            -offer[-1].gain_per_byte,
            -offer[-1].gain,
            str(offer[-1].partition),
        ),
    )
    for offer in ranked:
        key = offer[-1].partition
        room = None if budget.max_bytes is None else budget.max_bytes - spent_bytes
        fitting = [work for work in offer if room is None or work.input_bytes <= room]
        is_new = key not in partitions
        if (
            is_new
            and budget.max_partitions is not None
            and len(partitions) >= budget.max_partitions
        ):
            left[key] = _over(budget.max_partitions)
        elif not fitting:
            left[key] = (
                f"{format_bytes(offer[0].input_bytes)} to rewrite, "
                f"{format_bytes(max(0, room or 0))} left of the budget of "
                f"{format_bytes(budget.max_bytes or 0)}"
            )
        else:
            taken.append(fitting[-1])
            partitions.add(key)
            spent_bytes += fitting[-1].input_bytes
    return taken, left


def make_chunks(
    columns: Sequence[PartitionColumn],
    works: Sequence[PartitionWork],
    *,
    cap_bytes: int,
    zorder: tuple[str, ...] = (),
) -> tuple[Chunk, ...]:
    """Statements in the order they run: merging first, since it may purge what is left of the rest."""
    chunks: list[Chunk] = []
    for action in _ORDER:
        group = [work for work in works if work.action is action]
        sized = shared_thresholds(group) if action is Action.COMPACT else [(0, group)]
        for below_bytes, members in sized:
            for part in _statement_parts(members):
                chunks.append(
                    Chunk(
                        action=action,
                        partitions=tuple(work.partition for work in part),
                        predicate=create_partition_predicate(
                            columns, [work.partition for work in part]
                        ),
                        below_bytes=below_bytes,
                        cap_bytes=cap_bytes,
                        considered_files=sum(work.partition_files for work in part),
                        input_files=sum(work.input_files for work in part),
                        input_bytes=sum(work.input_bytes for work in part),
                        output_files=sum(work.output_files for work in part),
                        zorder=zorder if action is Action.ZORDER else (),
                    )
                )
    return tuple(chunks)


def unite_chunks(chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Fewer, larger chunks for a rewriter whose commits are not statements of limited length."""
    united: list[Chunk] = []
    for chunk in chunks:
        last = united[-1] if united else None
        if last is None or not _fit_in_one_commit(last, chunk):
            united.append(chunk)
            continue
        united[-1] = replace(
            last,
            partitions=last.partitions + chunk.partitions,
            predicate=f"{last.predicate} or {chunk.predicate}",
            considered_files=last.considered_files + chunk.considered_files,
            input_files=last.input_files + chunk.input_files,
            input_bytes=last.input_bytes + chunk.input_bytes,
            output_files=last.output_files + chunk.output_files,
        )
    return tuple(united)


def _fit_in_one_commit(first: Chunk, second: Chunk) -> bool:
    return (
        first.action is second.action is Action.COMPACT
        and None not in (first.predicate, second.predicate)
        and (first.below_bytes, first.cap_bytes) == (second.below_bytes, second.cap_bytes)
        and len(first.partitions) + len(second.partitions) <= MOST_PARTITIONS_PER_COMMIT
        and first.input_bytes + second.input_bytes <= MOST_BYTES_PER_STATEMENT
    )


def _over(partitions: int) -> str:
    many = f"{partitions} partition{'s' if partitions != 1 else ''}"
    return f"the budget has room for {many}, and others are worth more"


def _statement_parts(works: Sequence[PartitionWork]) -> Iterator[list[PartitionWork]]:
    part: list[PartitionWork] = []
    part_bytes = 0
    for work in works:
        is_full = len(part) >= MOST_PARTITIONS_PER_STATEMENT
        if part and (is_full or part_bytes + work.input_bytes > MOST_BYTES_PER_STATEMENT):
            yield part
            part, part_bytes = [], 0
        part.append(work)
        part_bytes += work.input_bytes
    if part:
        yield part
