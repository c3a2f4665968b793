"""Which commits a model's run made, which partitions it added to, and whether that calls for compaction.

Told from the log alone: by the mark that a run's commits carry, else by when the node started. Whoever
else writes to the table meanwhile is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy
from dbt.adapters.delta_maint.core.table import Commit, PartitionKey, Snapshot

PartitionKeySet = frozenset[PartitionKey]
IsOurs = Callable[[Commit], bool]


@dataclass(frozen=True)
class RunTrace:
    """How the commits of one model's run are known: by their mark, else by when the node started."""

    is_marked: IsOurs
    started_ms: int | None = None

    def commits_of_run(self, commits: Sequence[Commit]) -> tuple[Commit, ...] | None:
        """None where it cannot be told which commits are the run's: then all partitions count."""
        ours = tuple(commit for commit in commits if self.is_marked(commit))
        if not ours and self.started_ms is not None:
            ours = tuple(commit for commit in commits if commit.timestamp_ms >= self.started_ms)
        if not ours and self.started_ms is None:
            return None
        is_cut_off = bool(ours) and ours[0] is commits[0] and commits[0].version > 0
        return None if is_cut_off else ours

    def version_before(self, commits: Sequence[Commit]) -> int | None:
        ours = self.commits_of_run(commits)
        return ours[0].version - 1 if ours else None


def partitions_added_to(
    snapshot: Snapshot, trace: RunTrace
) -> tuple[PartitionKeySet | None, tuple[Commit, ...] | None, int]:
    """Partitions that the run's commits added new data to, those commits, and the bytes written."""
    commits = trace.commits_of_run(snapshot.commits)
    if commits is None:
        return None, None, 0
    versions = {commit.version for commit in commits}
    added = [a for a in snapshot.added if a.version in versions and a.data_change]
    return frozenset(a.partition for a in added), commits, sum(a.size_bytes for a in added)


def is_qualified_for_auto_compact(policy: CompactionPolicy, commits: Sequence[Commit]) -> bool:
    """A commit happened, and its kind is one that the policy answers to."""
    if not commits:
        return False
    if not policy.modified_partitions_only or not policy.non_blind_append:
        return True
    return any(commit.is_blind_append is not True for commit in commits)
