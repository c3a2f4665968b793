"""What merging leaves of the bytes it reads, learnt from a table's own compactions.

In coarse steps: a rule that moved a little with every compaction would judge the same files in another
way on the next run, and find work where nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbt.adapters.delta_maint.core.table import Commit

LEAST_OUTPUT_RATIO = 0.5
STEPS = 20
COMMITS_TO_LEARN_FROM = 5

Merge = tuple[int, int]  # bytes removed, bytes added


def recent_merges(commits: Iterable[Commit]) -> tuple[Merge, ...]:
    merges = [
        (commit.metric("numRemovedBytes"), commit.metric("numAddedBytes"))
        for commit in commits
        if commit.operation == "OPTIMIZE" and commit.metric("numRemovedBytes") > 0
    ]
    return tuple(merges[-COMMITS_TO_LEARN_FROM:])


def learnt_output_ratio(merges: Sequence[Merge]) -> float:
    """
    >>> [learnt_output_ratio(found) for found in ([], [(1000, 700)], [(1000, 688)], [(1000, 1)])]
    [1.0, 0.7, 0.7, 0.5]
    """
    newest = merges[-COMMITS_TO_LEARN_FROM:]
    removed_bytes = sum(removed for removed, _ in newest)
    added_bytes = sum(added for _, added in newest)
    if not removed_bytes or not added_bytes:
        return 1.0
    steps = round(STEPS * added_bytes / removed_bytes)
    return min(1.0, max(LEAST_OUTPUT_RATIO, steps / STEPS))
