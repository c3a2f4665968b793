"""Which partitions have something worth rewriting, by small files and by deletion vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.compaction_plan import Action, PartitionWork
from dbt.adapters.delta_maint.core.compaction_policy import (
    GOOD_AT_EVERY_TARGET_BYTES,
    CompactionPolicy,
    PolicyKind,
)
from dbt.adapters.delta_maint.core.output_ratio import learnt_output_ratio, recent_merges
from dbt.adapters.delta_maint.core.packing import Bin, BinRule, Cut, next_fit, worthwhile_cuts
from dbt.adapters.delta_maint.core.sizes import format_bytes, target_file_bytes
from dbt.adapters.delta_maint.core.table import Commit, DataFile, PartitionKey, Snapshot

Grouped = Mapping[PartitionKey, Sequence[DataFile]]


@dataclass(frozen=True)
class Chosen:
    """Work with all its cuts, so that a budget can take less of it, and what was left alone."""

    works: dict[PartitionKey, tuple[PartitionWork, ...]]
    skipped: dict[PartitionKey, str]


def choose_partitions_based_on_min_num_small_files(
    snapshot: Snapshot,
    policy: CompactionPolicy,
    rule: BinRule,
    free_partitions: Grouped,
    *,
    force: bool = False,
) -> Chosen:
    """By small files, with the rule the policy names; `force` takes whatever can be merged."""
    kind = PolicyKind.EAGER if force else policy.kind
    limit_bytes = limit_bytes_of(policy, rule, kind)
    last_compaction_ms = _last_compaction_ms(snapshot.commits)
    works: dict[PartitionKey, tuple[PartitionWork, ...]] = {}
    skipped: dict[PartitionKey, str] = {}
    for key, files in free_partitions.items():
        if any(file.has_deletion_vector and file.num_records is None for file in files):
            skipped[key] = "a deletion vector without statistics has to be purged first"
            continue
        candidates = sorted((f for f in files if f.size_bytes < limit_bytes), key=_size)
        sizes = [file.size_bytes for file in candidates]
        small_bytes = small_bytes_of(policy, rule)
        small = [size for size in sizes if size < small_bytes]
        cuts: list[Cut] = []
        if kind is not PolicyKind.COUNT:
            is_worth = rule.is_worth if kind is PolicyKind.BINS else _merges
            cuts = worthwhile_cuts(sizes, rule.cap_bytes, is_worth)
        elif len(small) >= policy.min_num_files:
            cuts = worthwhile_cuts(small, rule.cap_bytes, _merges)[-1:]
        if not cuts:
            skipped[key] = _why_not(policy, kind, rule, small)
            continue
        next_size = min((f.size_bytes for f in files if f.size_bytes >= limit_bytes), default=None)
        waits = bool(last_compaction_ms) and any(
            file.modified_ms < last_compaction_ms for file in candidates
        )
        works[key] = tuple(
            _work(snapshot, key, files, sizes, cut, rule, next_size=next_size, waits=waits)
            for cut in cuts
        )
    return Chosen(works, skipped)


def choose_partitions_based_on_dvs(
    snapshot: Snapshot,
    policy: CompactionPolicy,
    rule: BinRule,
    free_partitions: Grouped,
    small: Chosen,
) -> Chosen:
    """By deleted rows, a lone file included: what merging small files does not rewrite anyway.

    Delta's REORG ... PURGE rewrites every file of the partition that has a vector, so that is its cost.
    """
    works: dict[PartitionKey, tuple[PartitionWork, ...]] = {}
    ratio = policy.max_deleted_rows_ratio
    if ratio is None:
        return Chosen(works, {})
    for key, files in free_partitions.items():
        offers = small.works.get(key)
        below_bytes = offers[-1].above_bytes + 1 if offers else 0
        left = [f for f in files if f.has_deletion_vector and f.size_bytes >= below_bytes]
        heavy = [f for f in left if f.num_records is None or f.deleted_rows_ratio > ratio]
        if not heavy:
            continue
        size_bytes = sum(file.size_bytes for file in left)
        worst = max(file.deleted_rows_ratio for file in heavy)
        gone = sum(file.deleted_rows_ratio for file in left)
        bins = next_fit(sorted(file.size_bytes for file in left), rule.cap_bytes)
        works[key] = (
            PartitionWork(
                partition=key,
                label=snapshot.describe_partition(key),
                action=Action.PURGE,
                partition_files=len(files),
                considered_files=len(files),
                input_files=len(left),
                input_bytes=size_bytes,
                output_files=len(bins),
                output_bytes=int(sum(f.size_bytes * (1 - f.deleted_rows_ratio) for f in left)),
                reason=f"{len(heavy)} of {len(left)} files with deleted rows have more than "
                f"{ratio:.0%} of their rows deleted (worst {worst:.0%})",
                gain=gone + len(left) - len(bins),
            ),
        )
    return Chosen(works, {})


def bin_rule(snapshot: Snapshot, policy: CompactionPolicy) -> BinRule:
    target_bytes = target_file_bytes(policy.target_bytes, snapshot.total_bytes)
    small_ratio = policy.small_ratio
    if policy.min_file_bytes is not None:
        small_ratio = min(policy.done_ratio, policy.min_file_bytes / target_bytes)
    return BinRule(
        target_bytes=target_bytes,
        small_ratio=small_ratio,
        done_ratio=policy.done_ratio,
        min_input_files=policy.min_input_files,
        output_ratio=learnt_output_ratio(recent_merges(snapshot.commits)),
    )


def _work(
    snapshot: Snapshot,
    key: PartitionKey,
    files: Sequence[DataFile],
    candidates: Sequence[int],
    cut: Cut,
    rule: BinRule,
    *,
    next_size: int | None,
    waits: bool,
) -> PartitionWork:
    bins = f"{cut.bins} file{'s' if cut.bins != 1 else ''}"
    return PartitionWork(
        partition=key,
        label=snapshot.describe_partition(key),
        action=Action.COMPACT,
        partition_files=len(files),
        considered_files=cut.considered_files,
        input_files=cut.input_files,
        input_bytes=cut.input_bytes,
        output_files=cut.bins,
        output_bytes=rule.expected_bytes(cut.input_bytes),
        reason=f"{cut.input_files} small files, {format_bytes(cut.input_bytes)}, become {bins}",
        gain=cut.files_removed,
        waits=waits,
        above_bytes=cut.above_bytes,
        up_to_bytes=cut.up_to_bytes if cut.up_to_bytes is not None else next_size,
        left_files=len(candidates) - cut.input_files,
        left_bytes=sum(candidates) - cut.input_bytes,
    )


def _why_not(
    policy: CompactionPolicy, kind: PolicyKind, rule: BinRule, small: Sequence[int]
) -> str:
    if not small:
        return "no small files"
    if len(small) == 1:
        return f"1 small file, {format_bytes(small[0])}: nothing to merge it with"
    if kind is PolicyKind.COUNT:
        return f"{len(small)} small files: fewer than min_num_files {policy.min_num_files}"
    unworthy = next((b for b in next_fit(small, rule.cap_bytes) if not rule.is_worth(b)), None)
    return rule.explain(unworthy or Bin(len(small), sum(small), small[-1]))


def limit_bytes_of(policy: CompactionPolicy, rule: BinRule, kind: PolicyKind) -> int:
    """Files of this size and above are never inputs."""
    if kind is not PolicyKind.BINS:
        return small_bytes_of(policy, rule)
    if policy.target_bytes is None:
        return min(rule.done_bytes, GOOD_AT_EVERY_TARGET_BYTES)
    return rule.done_bytes


def small_bytes_of(policy: CompactionPolicy, rule: BinRule) -> int:
    small_bytes = policy.min_file_bytes if policy.min_file_bytes is not None else rule.small_bytes
    if policy.target_bytes is None:
        small_bytes = min(small_bytes, GOOD_AT_EVERY_TARGET_BYTES)
    return small_bytes


def _merges(candidate: Bin) -> bool:
    return candidate.files >= 2


def _last_compaction_ms(commits: Iterable[Commit]) -> int:
    return max((c.timestamp_ms for c in commits if c.operation == "OPTIMIZE"), default=0)


def _size(file: DataFile) -> int:
    return file.size_bytes
