"""Partitions in which somebody else changes rows just now: compaction leaves them for the next time.

Appends and compaction never disturb each other. But a compaction that wins makes a running UPDATE, MERGE
or DELETE on the same files fail, and who has just done one of these may well be doing the next: a stream
that merges above all. Who they are is read from the commits; our own run's are told by their mark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dbt.adapters.delta_maint.core.compaction_policy import AvoidWriters, CompactionPolicy
from dbt.adapters.delta_maint.core.table import Commit, PartitionKey, Snapshot

# They rewrite files and no rows.
REARRANGING = frozenset({"OPTIMIZE", "REORG", "VACUUM START", "VACUUM END"})
STREAMING = "STREAMING UPDATE"


def commits_of_others(
    commits: Sequence[Commit],
    policy: CompactionPolicy,
    *,
    is_ours: Callable[[Commit], bool],
    now_ms: int,
) -> tuple[Commit, ...]:
    """Those that changed rows within the policy's quiet time, oldest first."""
    if policy.avoid_writers is AvoidWriters.NONE:
        return ()
    since_ms = now_ms - int(policy.quiet_seconds * 1000)
    return tuple(
        commit
        for commit in commits
        if commit.timestamp_ms >= since_ms
        and _changes_rows(commit)
        and not is_ours(commit)
        and (policy.avoid_writers is AvoidWriters.ALL or _is_of_a_stream(commit))
    )


def partitions_of_others(
    snapshot: Snapshot, commits: Sequence[Commit], *, now_ms: int
) -> dict[PartitionKey, str]:
    """Each partition they added files to, with the newest reason to leave it alone."""
    by_version = {commit.version: commit for commit in commits}
    found: dict[PartitionKey, str] = {}
    for added in sorted(snapshot.added, key=lambda a: a.version):
        commit = by_version.get(added.version)
        if commit is None or not added.data_change:
            continue
        who = f"the stream {commit.app_id}" if commit.app_id else "another writer"
        seconds = max(0, now_ms - commit.timestamp_ms) // 1000
        found[added.partition] = (
            f"{who} changed rows here {seconds} s ago ({commit.operation}, version "
            f"{commit.version}): left for the next time"
        )
    return found


def _changes_rows(commit: Commit) -> bool:
    if commit.operation in REARRANGING or commit.is_blind_append:
        return False
    # Other engines may not say whether an append was blind.
    is_append = str(commit.parameters.get("mode") or commit.parameters.get("outputMode")).lower()
    return not (commit.is_blind_append is None and is_append == "append")


def _is_of_a_stream(commit: Commit) -> bool:
    return commit.app_id is not None or commit.operation == STREAMING
