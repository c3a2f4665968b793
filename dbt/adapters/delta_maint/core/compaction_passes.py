"""One run goes on until nothing more is worth it, so that a second run rewrites nothing.

A pass takes, of every partition, all files below one size, because that is what OPTIMIZE can be told. What
it leaves can make room for another merge: files of one size cannot be told apart by a size, outputs turn
out smaller than expected, and the rule itself learns from them. A further pass is always planned from
what the table then is; here it is only told which are to be expected, and when looking again can be
spared.

Every pass obeys the bin rule, so the bound on how often a byte is rewritten does not depend on the number
of passes. Every pass leaves fewer files than it found, so they end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import Action, CompactionPlan, PartitionWork
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy, PolicyKind
from dbt.adapters.delta_maint.core.output_ratio import Merge, learnt_output_ratio
from dbt.adapters.delta_maint.core.packing import next_fit
from dbt.adapters.delta_maint.core.partition_predicate import first_notations
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.sizes import target_file_bytes
from dbt.adapters.delta_maint.core.table import DataFile, PartitionKey, Snapshot

MOST_PASSES = 8
# A merged file hardly ever needs more bytes than its inputs did, and never this much more.
MOST_GROWTH = 1.25


def with_expected_passes(
    plan: CompactionPlan,
    snapshot: Snapshot,
    policy: CompactionPolicy,
    *,
    session_zone: str = "UTC",
    force: bool = False,
) -> CompactionPlan:
    """The plan, and what will be worth it once it is carried out, within the same budget."""
    later: list[CompactionPlan] = []
    newest = plan
    while newest.runs and len(later) + 1 < MOST_PASSES:
        if any(work.action is not Action.COMPACT for work in newest.chosen):
            break
        if not may_find_more(newest, policy, (), force=force):
            break
        snapshot = expected_snapshot(snapshot, newest, session_zone=session_zone)
        newest = prepare_auto_compact_request(
            snapshot,
            replace(policy, reserve_partitions=False),
            table=plan.table,
            partitions_added_to=newest.chosen_partitions,
            reservations=Reservations(),
            budget=Budget(max_bytes=left_of(newest.max_bytes, newest.input_bytes)),
            session_zone=session_zone,
            force=force,
        )
        if newest.runs:
            later.append(newest)
    return replace(plan, later=tuple(later))


def may_find_more(
    plan: CompactionPlan, policy: CompactionPolicy, merges: Sequence[Merge], *, force: bool = False
) -> bool:
    """Whether a look at the table after `plan` could find something worth it.

    `merges` are the bytes removed and added by its commits. False is certain, unless a merged file grew
    beyond all bounds; True is a reason to look.
    """
    if any(work.action in (Action.CLUSTER, Action.ZORDER) for work in plan.chosen):
        return False  # rewritten as wholes, whatever the sizes
    if any(work.action is Action.PURGE for work in plan.chosen):
        return True
    if _judges_otherwise(plan, policy, merges) and any(skip.files > 1 for skip in plan.skipped):
        return True
    kind = PolicyKind.EAGER if force else policy.kind
    return any(_leaves_enough(work, plan, policy, kind) for work in plan.chosen)


def expected_snapshot(
    snapshot: Snapshot, plan: CompactionPlan, *, session_zone: str = "UTC"
) -> Snapshot:
    """What the table will be when every merge of `plan` leaves what merging is known to leave."""
    first_notation = first_notations(snapshot, session_zone)
    works = {work.partition: work for work in plan.chosen}
    kept: list[DataFile] = []
    taken: dict[PartitionKey, list[DataFile]] = {}
    for file in snapshot.files:
        key = first_notation(file.partition)
        if key in works and file.size_bytes <= works[key].above_bytes:
            taken.setdefault(key, []).append(file)
        else:
            kept.append(file)
    for key, files in taken.items():
        files.sort(key=lambda file: file.size_bytes)
        start = 0
        for found in next_fit([file.size_bytes for file in files], plan.cap_bytes):
            members = files[start : start + found.files]
            start += found.files
            merged = DataFile(int(found.size_bytes * plan.output_ratio), key)
            kept += members if found.files == 1 else [merged]
    return replace(snapshot, files=kept)


def left_of(max_bytes: int | None, spent_bytes: int) -> int | None:
    return None if max_bytes is None else max(0, max_bytes - spent_bytes)


def _judges_otherwise(
    plan: CompactionPlan, policy: CompactionPolicy, merges: Iterable[Merge]
) -> bool:
    """The next plan goes by another ratio or another target than this one did."""
    merges = tuple(merges)
    shrunk_bytes = sum(removed - added for removed, added in merges)
    target_bytes = target_file_bytes(policy.target_bytes, plan.size_bytes - shrunk_bytes)
    return (
        learnt_output_ratio((*plan.merges, *merges)) != plan.output_ratio
        or target_bytes != plan.target_bytes
    )


def _leaves_enough(
    work: PartitionWork, plan: CompactionPlan, policy: CompactionPolicy, kind: PolicyKind
) -> bool:
    files = work.left_files + work.output_files
    if files < 2:
        return False
    if kind is PolicyKind.COUNT:
        return files >= policy.min_num_files
    most_bytes = work.left_bytes + MOST_GROWTH * work.input_bytes
    return (
        kind is PolicyKind.EAGER
        or files >= policy.min_input_files
        or most_bytes >= plan.target_bytes * policy.done_ratio
    )
