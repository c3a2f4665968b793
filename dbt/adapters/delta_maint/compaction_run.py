"""One relation: its plan, and the passes that carry it out, until nothing more is worth it.

The partitions of a plan are reserved while it stands, and given back whatever happens. A further pass is
planned from the table as the pass before has left it, within what is left of the budget; looking at the
table again is spared where nothing can be found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from dbt.adapters.delta_maint.__version__ import version
from dbt.adapters.delta_maint.compaction_reports import Report, Request
from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_passes import (
    MOST_PASSES,
    left_of,
    may_find_more,
    with_expected_passes,
)
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.compaction_policy import (
    Budget,
    CompactionPolicy,
    Rewrite,
    Verify,
)
from dbt.adapters.delta_maint.core.compaction_ranking import unite_chunks
from dbt.adapters.delta_maint.core.other_writers import (
    commits_of_others,
    partitions_of_others,
)
from dbt.adapters.delta_maint.core.reservation import PROCESS_RESERVATIONS
from dbt.adapters.delta_maint.core.run_trace import (
    is_qualified_for_auto_compact,
    partitions_added_to,
)
from dbt.adapters.delta_maint.core.table import Commit, Snapshot
from dbt.adapters.delta_maint.lake.commit_mark import COMPACT, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.compaction_result import CompactionResult
from dbt.adapters.delta_maint.lake.compactor import Compactor
from dbt.adapters.delta_maint.lake.cores import connection_cores
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.rewriters.arrow import ArrowRewriter
from dbt.adapters.delta_maint.lake.rewriters.base import Rewriter
from dbt.adapters.delta_maint.lake.rewriters.choice import choose_rewriter
from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.policies.compaction import with_user_confs

Prepared = tuple[DeltaTable, CompactionPlan]


class TableCompaction:
    def __init__(
        self, sql: SqlConnection, request: Request, *, invocation_id: str, dbt_threads: int
    ) -> None:
        self._sql = sql
        self._request = request
        self._invocation_id = invocation_id
        self._dbt_threads = dbt_threads
        self._policy = with_user_confs(request.config, sql.conf).policy
        self._zone = str(sql.conf("spark.sql.session.timeZone"))

    def plan(self) -> Prepared:
        """The plan, its partitions reserved while it stands."""
        with self._sql.fresh() as own:
            return self._plan(own, self._request)

    def run(self, prepared: Prepared | None) -> Report:
        table, first = prepared or self.plan()
        if self._request.dry_run:
            release(first)
            return _report(self._request, CompactionResult(first))
        started = time.monotonic()
        plan, passes = first, list[CompactionResult]()
        while plan.runs:
            done = self._one_pass(table, plan, seconds_spent=time.monotonic() - started)
            passes.append(done)
            if len(passes) == MOST_PASSES or not self._goes_on(plan, done):
                break
            try:
                with self._sql.fresh() as own:
                    table, plan = self._plan(own, self._of_next_pass(plan, done))
            except Exception as exc:
                # What has been done stands, and is told.
                passes[-1] = replace(done, stopped=telling_sentence(exc))
                break
        return _report(self._request, CompactionResult.of_passes(first, passes))

    @property
    def _budget(self) -> Budget:
        return self._policy.budget.narrowed(self._request.budget or Budget())

    def _one_pass(
        self, table: DeltaTable, plan: CompactionPlan, *, seconds_spent: float
    ) -> CompactionResult:
        most = self._budget.max_seconds
        left = None if most is None else max(0.0, most - seconds_spent)
        try:
            with self._sql.fresh() as own:
                return self._compactor(own, table, plan).run(plan, max_seconds=left)
        finally:
            release(plan)

    def _goes_on(self, plan: CompactionPlan, done: CompactionResult) -> bool:
        if done.stopped or done.errors or not done.did_something:
            return False
        merges = [(c.metrics.bytes_removed, c.metrics.bytes_added) for c in done.chunks]
        return may_find_more(plan, self._policy, merges, force=self._request.force)

    def _of_next_pass(self, plan: CompactionPlan, done: CompactionResult) -> Request:
        """The partitions that this pass has looked at; where their number is limited, those it took."""
        left_bytes = left_of(plan.max_bytes, done.total("bytes_removed"))
        only = plan.chosen_partitions
        if self._budget.max_partitions is None:
            only |= {skip.partition for skip in plan.skipped}
        return replace(self._request, budget=Budget(max_bytes=left_bytes), only=only)

    # -- planning ---------------------------------------------------------------------------------

    def _plan(self, own: SqlConnection, request: Request) -> Prepared:
        policy, name = self._policy, request.relation.render()
        table = DeltaTable.find(own, name)
        trace = request.run.trace() if request.run and request.only is None else None
        now_ms = int(time.time() * 1000)

        def others(commits: Sequence[Commit]) -> tuple[Commit, ...]:
            return commits_of_others(commits, policy, is_ours=self._is_of_this_run, now_ms=now_ms)

        def version_before(commits: Sequence[Commit]) -> int | None:
            firsts = [trace.version_before(commits)] if trace else []
            firsts += [commit.version - 1 for commit in others(commits)[:1]]
            return min((version for version in firsts if version is not None), default=None)

        snapshot = table.snapshot(own, version_before=version_before)
        touched, written_bytes = request.only, 0
        if trace is not None:
            touched, commits, written_bytes = partitions_added_to(snapshot, trace)
            if commits is not None and not is_qualified_for_auto_compact(policy, commits):
                return table, _not_qualified(snapshot, policy, name, has_commits=bool(commits))
            if not policy.modified_partitions_only:
                touched = None
        budget = policy.budget.narrowed(request.budget or Budget())
        if request.run is not None and budget.max_bytes is None and request.budget is None:
            budget = budget.narrowed(Budget.inline(written_bytes or snapshot.total_bytes))
        plan = prepare_auto_compact_request(
            snapshot,
            policy,
            table=name,
            partitions_added_to=touched,
            reservations=PROCESS_RESERVATIONS,
            budget=budget,
            session_zone=self._zone,
            force=request.force,
            busy_partitions=partitions_of_others(snapshot, others(snapshot.commits), now_ms=now_ms),
        )
        if not plan.runs:
            return table, plan
        try:
            plan = with_expected_passes(
                plan, snapshot, policy, session_zone=self._zone, force=request.force
            )
            return table, self._with_rewriter(snapshot, plan)
        except BaseException:
            release(plan)
            raise

    def _with_rewriter(self, snapshot: Snapshot, plan: CompactionPlan) -> CompactionPlan:
        choice = choose_rewriter(self._sql.spark, snapshot, self._policy, table=plan.table)
        note = choice.note()
        notes = plan.notes if note is None else (*plan.notes, note)
        chunks = unite_chunks(plan.chunks) if choice.is_arrow else plan.chunks
        return replace(plan, rewriter=choice.rewrite, notes=notes, chunks=chunks)

    def _is_of_this_run(self, commit: Commit) -> bool:
        mark = read_mark(commit.user_metadata)
        return mark is not None and mark.invocation_id == self._invocation_id

    # -- carrying out -----------------------------------------------------------------------------

    def _compactor(self, own: SqlConnection, table: DeltaTable, plan: CompactionPlan) -> Compactor:
        sql, request = self._sql, self._request
        share = self._cores()
        is_arrow = plan.rewriter is Rewrite.ARROW
        # Arrow spreads one chunk over all cores by itself.
        at_once = 1 if is_arrow else min(share, len(plan.chunks))
        optimize = DeltaSqlRewriter(sql, threads=-(-share // at_once))
        rewriter: Rewriter = optimize
        if is_arrow:
            assert sql.spark is not None
            rewriter = ArrowRewriter(
                sql.spark,
                cores=connection_cores(sql),
                session_zone=self._zone,
                verifies_rows=self._policy.verify is Verify.FULL,
            )
        return Compactor(
            sql=own,
            table=table,
            rewriter=rewriter,
            fallback=optimize,
            policy=self._policy,
            mark=CommitMark(
                COMPACT,
                version,
                invocation_id=self._invocation_id,
                node=request.run.node if request.run else None,
            ),
            session_zone=self._zone,
            force=request.force,
            at_once=at_once,
        )

    def _cores(self) -> int:
        """Models of other threads run beside a model; nothing runs beside an operation."""
        cores = connection_cores(self._sql)
        return cores if self._request.is_alone else -(-cores // self._dbt_threads)


def release(plan: CompactionPlan) -> None:
    PROCESS_RESERVATIONS.release(plan.table_id, plan.reserved)


def _not_qualified(
    snapshot: Snapshot, policy: CompactionPolicy, name: str, *, has_commits: bool
) -> CompactionPlan:
    why = "this run committed nothing"
    if has_commits:
        why = "only blind appends, and non_blind_append is set"
    empty = prepare_auto_compact_request(
        replace(snapshot, files=()),
        policy,
        table=name,
        partitions_added_to=frozenset(),
        reservations=PROCESS_RESERVATIONS,
    )
    return replace(empty, outcome=Outcome.NOT_QUALIFIED, reason=why)


def _report(request: Request, result: CompactionResult) -> Report:
    plan = result.plan
    sentence = result.sentence()
    if request.dry_run and plan.runs:
        sentence = f"would compact {plan.sentence()}"
    has_failed = not result.refusal and any(chunk.error for chunk in result.chunks)
    return Report(
        request.relation.render(),
        sentence,
        {**result.as_dict(), "dry_run": request.dry_run},
        is_warning=bool(result.errors),
        has_failed=has_failed,
        must_fail=has_failed and request.config.policy.fail_on_error,
        plan=plan,
    )
