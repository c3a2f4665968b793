"""Carries out a compaction plan, chunk by chunk.

Each chunk is one atomic commit of Delta's; a chunk that fails loses only itself. Chunks that share no
partition may run side by side: Delta's commits of disjoint files never conflict. When another writer's
commit wins a race, the chunk is planned anew from the new snapshot, at most twice, after a short random
wait; then compaction gives way. Nothing is left pending: a process that dies at any moment leaves a
readable table, and the next run decides from what it finds.

Before every chunk the table's identity is compared with the plan's, so a table that was replaced under
its name is not touched.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import Action, Chunk, CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy
from dbt.adapters.delta_maint.core.errors import CompactionError, NotDeltaError
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark, read_mark
from dbt.adapters.delta_maint.lake.compaction_result import ChunkResult, CompactionResult
from dbt.adapters.delta_maint.lake.conflicts import Trouble, trouble_of
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.parallel_chunks import independent_stages, run_side_by_side
from dbt.adapters.delta_maint.lake.rewriters.base import (
    Observer,
    Phase,
    RewriteMetrics,
    Rewriter,
)
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner

MOST_REPLANS = 2
LONGEST_WAIT_SECONDS = 0.5


@dataclass
class _Progress:
    """What the threads of one run share."""

    plan: CompactionPlan
    max_seconds: float | None
    started: float = field(default_factory=time.monotonic)
    stopped: str | None = None
    results: dict[int, list[ChunkResult]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def is_late(self) -> bool:
        return self.max_seconds is not None and self.seconds >= self.max_seconds


@dataclass
class Compactor:
    """`at_once` is how many chunks run side by side, each in a transaction of its own."""

    sql: SqlRunner
    table: DeltaTable
    rewriter: Rewriter
    policy: CompactionPolicy
    mark: CommitMark
    observer: Observer = field(default=lambda phase, chunk: None)
    session_zone: str = "UTC"
    force: bool = False
    fallback: Rewriter | None = None
    at_once: int = 1

    def run(self, plan: CompactionPlan, *, max_seconds: float | None = None) -> CompactionResult:
        progress = _Progress(plan, max_seconds)
        self.observer(Phase.PLANNED, None)
        for stage in independent_stages(plan.chunks):
            run_side_by_side(
                [partial(self._run_unless_stopped, progress, position) for position in stage],
                at_once=self.at_once,
            )
        done = [progress.results[n] for n in range(len(plan.chunks)) if n in progress.results]
        return CompactionResult(
            plan=plan,
            seconds=progress.seconds,
            chunks=tuple(result for results in done for result in results),
            stopped=progress.stopped,
            not_started=len(plan.chunks) - len(done),
        )

    def _run_unless_stopped(self, progress: _Progress, position: int) -> None:
        if progress.stopped:
            return
        if progress.is_late:
            progress.stopped = f"the budget of {progress.max_seconds:g} seconds is used up"
        elif not self._is_same_table(progress.plan):
            progress.stopped = "the table was replaced meanwhile"
        else:
            results = list(self._run_chunk(progress.plan, progress.plan.chunks[position]))
            progress.results[position] = results
            if any(result.trouble == Trouble.CANCELLED.value for result in results):
                progress.stopped = "cancelled"

    def _run_chunk(
        self,
        plan: CompactionPlan,
        chunk: Chunk,
        replans: int = 0,
        rewriter: Rewriter | None = None,
    ) -> Iterator[ChunkResult]:
        mark = self._chunk_mark(plan, chunk)
        try:
            metrics = (rewriter or self.rewriter).rewrite(self.table, chunk, mark, self.observer)
        except Exception as exc:
            yield from self._after_error(plan, chunk, replans, mark, exc)
            return
        if metrics.left is None:
            difference = self._difference(plan, chunk, metrics, mark)
            yield ChunkResult(chunk, metrics, replans, difference=difference)
            return
        # How often it was planned anew is told once, with what was left.
        yield ChunkResult(chunk, metrics)
        if self.fallback is None:
            raise CompactionError(f"Nobody rewrites what was left: {metrics.left_reason}.")
        yield from self._run_chunk(plan, metrics.left, replans, self.fallback)

    def _after_error(
        self,
        plan: CompactionPlan,
        chunk: Chunk,
        replans: int,
        mark: CommitMark,
        exc: Exception,
    ) -> Iterator[ChunkResult]:
        trouble = trouble_of(exc)
        failed = ChunkResult(
            chunk, replans=replans, trouble=trouble.value, error=telling_sentence(exc)
        )
        if trouble is Trouble.CONFLICT and replans < MOST_REPLANS:
            time.sleep(random.uniform(0, LONGEST_WAIT_SECONDS))
            again = self._replan(plan, chunk)
            if again is None:
                yield replace(failed, error="the table was replaced meanwhile")
            elif not again.chunks:
                yield ChunkResult(chunk, replans=replans + 1)
            for new_chunk in again.chunks if again else ():
                yield from self._run_chunk(again or plan, new_chunk, replans + 1)
            return
        if trouble is Trouble.CONFLICT:
            yield replace(
                failed,
                error=f"gave way to another writer after {replans + 1} attempts: {failed.error}",
            )
            return
        landed = self._landed(mark) if trouble is Trouble.FAULT else None
        yield ChunkResult(chunk, landed, replans) if landed else failed

    def _replan(self, plan: CompactionPlan, chunk: Chunk) -> CompactionPlan | None:
        """The same partitions on the newest snapshot; None when the table is another one now."""
        if not self._is_same_table(plan):
            return None
        again = prepare_auto_compact_request(
            self.table.snapshot(self.sql),
            # This thread holds the reservation already.
            replace(self.policy, reserve_partitions=False),
            table=plan.table,
            partitions_added_to=frozenset(chunk.partitions),
            reservations=Reservations(),
            budget=Budget(max_bytes=max(2 * chunk.input_bytes, 1)),
            session_zone=self.session_zone,
            force=self.force,
        )
        same_kind = tuple(c for c in again.chunks if c.action is chunk.action)
        return replace(again, chunks=same_kind)

    def _is_same_table(self, plan: CompactionPlan) -> bool:
        try:
            return DeltaTable.find(self.sql, self.table.name).table_id == plan.table_id
        except NotDeltaError:
            return False

    def _difference(
        self,
        plan: CompactionPlan,
        chunk: Chunk,
        metrics: RewriteMetrics,
        mark: CommitMark,
    ) -> str | None:
        """What Delta did beside what was planned. Another writer's commit between explains it."""
        if chunk.action in (Action.CLUSTER, Action.ZORDER):
            return None
        planned = (chunk.considered_files, chunk.input_files)
        found = (metrics.considered_files, metrics.files_removed)
        if chunk.action is Action.PURGE:
            # Merging came first and changed how many files the partition has.
            planned = (metrics.considered_files, chunk.input_files)
        if planned == found:
            return None
        commits = self.table.snapshot(self.sql).commits
        foreign = [
            commit
            for commit in commits
            if commit.version > plan.version and not self._is_own(commit.user_metadata, mark)
        ]
        if foreign:
            return None
        return (
            f"planned to consider and rewrite {planned} files, Delta did {found}: please report "
            f"this with {plan.table} at version {plan.version}"
        )

    def _is_own(self, user_metadata: str | None, mark: CommitMark) -> bool:
        found = read_mark(user_metadata)
        return found is not None and found.details.get("plan") == mark.details.get("plan")

    def _chunk_mark(self, plan: CompactionPlan, chunk: Chunk) -> CommitMark:
        details = {
            **self.mark.details,
            "policy": plan.policy,
            "target_bytes": plan.target_bytes,
            "plan": f"{plan.table_id}:{plan.version}",
            "chunk": uuid.uuid4().hex,
            "rewrite": chunk.action.value,
        }
        return replace(self.mark, details=details)

    def _landed(self, mark: CommitMark) -> RewriteMetrics | None:
        """A commit may stand although its statement failed: its mark in the history tells."""
        try:
            commits = self.table.snapshot(self.sql).commits
        except Exception:
            return None
        for commit in commits:
            found = read_mark(commit.user_metadata)
            if found is not None and found.details.get("chunk") == mark.details["chunk"]:
                return RewriteMetrics(
                    files_added=commit.metric("numAddedFiles"),
                    files_removed=commit.metric("numRemovedFiles"),
                    bytes_added=commit.metric("numAddedBytes"),
                    bytes_removed=commit.metric("numRemovedBytes"),
                )
        return None
