"""Which partitions of a table are worth compacting now: a pure function of the table.

The order and the words are those of Delta's AutoCompactUtils: qualified, free, chosen by small files,
chosen by deletion vectors, reserved. What differs is the source of the numbers: the live snapshot, not
counters of one JVM. The same table gives the same plan in every process, and the answer for every
partition carries its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbt.adapters.delta_maint.core.compaction_plan import (
    Action,
    CompactionPlan,
    Outcome,
    PartitionWork,
    SkippedPartition,
)
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy
from dbt.adapters.delta_maint.core.compaction_ranking import make_chunks, rank_within_budget
from dbt.adapters.delta_maint.core.output_ratio import recent_merges
from dbt.adapters.delta_maint.core.packing import BinRule
from dbt.adapters.delta_maint.core.partition_choice import (
    Chosen,
    Grouped,
    bin_rule,
    choose_partitions_based_on_dvs,
    choose_partitions_based_on_min_num_small_files,
    small_bytes_of,
)
from dbt.adapters.delta_maint.core.partition_predicate import first_notations
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.run_trace import PartitionKeySet
from dbt.adapters.delta_maint.core.special_tables import clustering_plan, refusal_of
from dbt.adapters.delta_maint.core.table import DataFile, PartitionKey, Snapshot


def prepare_auto_compact_request(
    snapshot: Snapshot,
    policy: CompactionPolicy,
    *,
    table: str,
    partitions_added_to: PartitionKeySet | None,
    reservations: Reservations,
    budget: Budget | None = None,
    session_zone: str = "UTC",
    force: bool = False,
    busy_partitions: Mapping[PartitionKey, str] | None = None,
) -> CompactionPlan:
    """The plan, its partitions reserved; `partitions_added_to` None stands for the whole table.

    `busy_partitions` are left alone, each for its reason, unless `force` is set. Whoever gets a plan that runs must release `plan.reserved`. When building it fails, nothing stays
    reserved.
    """
    rule = bin_rule(snapshot, policy)
    budget = policy.budget if budget is None else budget
    empty = CompactionPlan(
        outcome=Outcome.NOT_SUPPORTED,
        reason="",
        table=table,
        table_id=snapshot.table_id,
        version=snapshot.version,
        target_bytes=rule.target_bytes,
        small_bytes=small_bytes_of(policy, rule),
        cap_bytes=rule.cap_bytes,
        policy=policy.kind.value,
        files=len(snapshot.files),
        size_bytes=snapshot.total_bytes,
        output_ratio=rule.output_ratio,
        merges=recent_merges(snapshot.commits),
        max_bytes=budget.max_bytes,
    )
    refusal = refusal_of(snapshot, policy)
    if refusal is not None:
        return replace(empty, reason=refusal)
    busy = {} if force else dict(busy_partitions or {})
    if snapshot.is_clustered:
        if busy:
            return replace(empty, outcome=Outcome.OTHER_WRITERS, reason=next(iter(busy.values())))
        return clustering_plan(empty, snapshot)
    first_notation = first_notations(snapshot, session_zone)
    grouped: dict[PartitionKey, list[DataFile]] = {}
    for key, files in snapshot.by_partition().items():
        grouped.setdefault(first_notation(key), []).extend(files)
    if partitions_added_to is not None:
        partitions_added_to = frozenset(map(first_notation, partitions_added_to))
    return reserve_table_partitions(
        empty,
        snapshot,
        policy,
        rule,
        grouped,
        partitions_added_to=partitions_added_to,
        reservations=reservations,
        budget=budget,
        force=force,
        busy={first_notation(key): reason for key, reason in busy.items()},
    )


def reserve_table_partitions(
    empty: CompactionPlan,
    snapshot: Snapshot,
    policy: CompactionPolicy,
    rule: BinRule,
    grouped: Grouped,
    *,
    partitions_added_to: PartitionKeySet | None,
    reservations: Reservations,
    budget: Budget,
    force: bool = False,
    busy: Mapping[PartitionKey, str] | None = None,
) -> CompactionPlan:
    everything = partitions_added_to is None
    added = frozenset(grouped) if partitions_added_to is None else partitions_added_to
    added &= frozenset(grouped)
    if not added:
        reason = "the table has no files" if everything else "no partition was added to"
        return replace(empty, outcome=Outcome.EMPTY_INGESTION, reason=reason)
    free = added
    if policy.reserve_partitions:
        free = reservations.filter_free_partitions(snapshot.table_id, added)
    if not free:
        reason = "another thread of this run is compacting these partitions"
        return replace(empty, outcome=Outcome.ALL_RESERVED, reason=reason)

    left_alone = {key: reason for key, reason in (busy or {}).items() if key in free}
    if left_alone.keys() >= free:
        reason = next(iter(left_alone.values()))
        skipped = _skipped(snapshot, grouped, left_alone, ())
        return replace(empty, outcome=Outcome.OTHER_WRITERS, reason=reason, skipped=skipped)
    considered = {
        key: files for key, files in grouped.items() if key in free and key not in left_alone
    }
    small = choose_partitions_based_on_min_num_small_files(
        snapshot, policy, rule, considered, force=force
    )
    dvs = choose_partitions_based_on_dvs(snapshot, policy, rule, considered, small)
    offers = [*small.works.values(), *dvs.works.values()]
    if policy.zorder:
        one_each = {offer[-1].partition: offer for offer in offers}
        offers = [_zordered(offer, considered, rule) for offer in one_each.values()]
    taken, left = rank_within_budget(offers, budget)
    taken = _without_purges_that_cost_more(taken, small)
    skipped = _skipped(snapshot, grouped, {**small.skipped, **left, **left_alone}, taken)
    plan = replace(empty, skipped=skipped)
    if not taken:
        if offers:
            reason = next(iter(left.values()))
            return replace(plan, outcome=Outcome.OUT_OF_BUDGET, reason=reason)
        return replace(plan, outcome=Outcome.INSUFFICIENT_FILES, reason=_one_reason(small.skipped))
    keys = frozenset(work.partition for work in taken)
    got = reservations.reserve(snapshot.table_id, keys) if policy.reserve_partitions else keys
    try:
        kept = tuple(work for work in taken if work.partition in got)
        if not kept:
            reason = "another thread of this run is compacting these partitions"
            return replace(plan, outcome=Outcome.ALL_RESERVED, reason=reason)
        outcome = (
            Outcome.RUN_ON_ALL_PARTITIONS if everything else Outcome.RUN_ON_MODIFIED_PARTITIONS
        )
        chunks = make_chunks(
            snapshot.partition_columns, kept, cap_bytes=rule.cap_bytes, zorder=policy.zorder
        )
        return replace(
            plan,
            outcome=outcome,
            reason=kept[0].reason if len(kept) == 1 else f"{len(kept)} partitions are worth it",
            chosen=kept,
            chunks=chunks,
            holds_reservation=policy.reserve_partitions,
        )
    except BaseException:
        if policy.reserve_partitions:
            reservations.release(snapshot.table_id, got)
        raise


def _zordered(
    offer: tuple[PartitionWork, ...], grouped: Grouped, rule: BinRule
) -> tuple[PartitionWork, ...]:
    """Z-ordering rewrites the whole of a partition that was chosen anyway."""
    work = offer[-1]
    files = grouped[work.partition]
    size_bytes = sum(file.size_bytes for file in files)
    return (
        replace(
            work,
            action=Action.ZORDER,
            input_files=len(files),
            input_bytes=size_bytes,
            output_files=max(1, -(-size_bytes // rule.target_bytes)),
            output_bytes=size_bytes,
            reason=f"{work.reason}; z-ordering rewrites all {len(files)} files",
        ),
    )


def _without_purges_that_cost_more(
    taken: Sequence[PartitionWork], small: Chosen
) -> list[PartitionWork]:
    """A purge is costed for what merging leaves: where the budget cut the merge short, it waits."""
    merged = {work.partition: work for work in taken if work.action is Action.COMPACT}
    return [
        work
        for work in taken
        if work.action is not Action.PURGE
        or work.partition not in small.works
        or merged.get(work.partition) == small.works[work.partition][-1]
    ]


def _skipped(
    snapshot: Snapshot,
    considered: Grouped,
    reasons: Mapping[PartitionKey, str],
    taken: Sequence[PartitionWork],
) -> tuple[SkippedPartition, ...]:
    chosen = {work.partition for work in taken}
    return tuple(
        SkippedPartition(
            key,
            snapshot.describe_partition(key),
            len(considered[key]),
            sum(file.size_bytes for file in considered[key]),
            reason,
        )
        for key, reason in sorted(reasons.items(), key=lambda item: str(item[0]))
        if key not in chosen
    )


def _one_reason(skipped: Mapping[PartitionKey, str]) -> str:
    if len(skipped) == 1:
        return next(iter(skipped.values()))
    with_files = [reason for reason in skipped.values() if reason != "no small files"]
    if not with_files:
        return f"no small files in {len(skipped)} partitions"
    return f"no partition of {len(skipped)} is worth it; for one, {with_files[0]}"
