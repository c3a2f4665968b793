"""How dbt asks for compaction: after a model, in a hook, deferred to the end, or as an operation.

A model's rows are committed before anything here begins. Trouble is told in one line and the model stays
green, unless it says `on_error: fail`; a policy that makes no sense is an error at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.__version__ import version
from dbt.adapters.delta_maint.compaction_reports import Report, Request, Spent
from dbt.adapters.delta_maint.core.compaction import (
    is_qualified_for_auto_compact,
    partitions_added_to,
    prepare_auto_compact_request,
)
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.compaction_policy import (
    Budget,
    CompactionPolicy,
    Rewrite,
    Verify,
)
from dbt.adapters.delta_maint.core.compaction_ranking import unite_chunks
from dbt.adapters.delta_maint.core.errors import DeltaMaintError, NotDeltaError
from dbt.adapters.delta_maint.core.other_writers import (
    commits_of_others,
    partitions_of_others,
)
from dbt.adapters.delta_maint.core.reservation import PROCESS_RESERVATIONS
from dbt.adapters.delta_maint.core.table import Commit, Snapshot
from dbt.adapters.delta_maint.lake.commit_mark import COMPACT, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.compactor import CompactionResult, Compactor
from dbt.adapters.delta_maint.lake.cores import connection_cores
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.rewriters.arrow import ArrowRewriter
from dbt.adapters.delta_maint.lake.rewriters.base import Rewriter
from dbt.adapters.delta_maint.lake.rewriters.choice import choose_rewriter
from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.maintenance_log import MaintenanceLog
from dbt.adapters.delta_maint.policies.compaction import (
    CONF,
    CompactionConfig,
    is_enabled,
    with_user_confs,
)

OFF_SWITCH = "DELTA_MAINT_AUTO_COMPACT"
NATIVE = f"{CONF}.enabled"


class AutoCompaction:
    """One per adapter; safe to use from all of dbt's threads."""

    def __init__(self, *, target: Path, invocation_id: str, dbt_threads: int) -> None:
        self.log = MaintenanceLog(target, invocation_id)
        self.invocation_id = invocation_id
        self._dbt_threads = max(1, dbt_threads)
        self._deferred: dict[str, Request] = {}
        self._lock = threading.Lock()
        self._has_warned = False

    # -- asked for by a model -------------------------------------------------------------------

    def after_write(
        self,
        sql: SqlConnection,
        request: Request,
        *,
        off_switch: bool,
        user_conf: str | None,
        default: bool,
    ) -> Report | None:
        """None where nobody asked for compaction: no line, no read of the log."""
        enabled, _ = is_enabled(
            request.config,
            off_switch=off_switch,
            user_conf=user_conf,
            properties=_Properties(sql, request.relation),
            default=default,
        )
        if not enabled:
            return None
        if str(sql.conf(NATIVE)).lower() == "true":
            sentence = f"left to Delta's own: {NATIVE} was set to true in this session"
            return Report(request.relation.render(), sentence, {"outcome": "native"}, True)
        if request.config.deferred:
            self.defer(request)
            return None
        return self.compact(sql, request)

    def defer(self, request: Request) -> None:
        with self._lock:
            self._deferred[request.relation.render()] = request

    @property
    def has_deferred(self) -> bool:
        with self._lock:
            return bool(self._deferred)

    def should_warn_of_missing_hook(self) -> bool:
        with self._lock:
            first, self._has_warned = not self._has_warned, True
            return first

    def take_deferred(self) -> list[Request]:
        with self._lock:
            requests, self._deferred = list(self._deferred.values()), {}
            return requests

    # -- the work ---------------------------------------------------------------------------------

    def compact_all(
        self, sql: SqlConnection, requests: list[Request], budget: Budget
    ) -> list[Report]:
        """Many tables under one budget, the most valuable first."""
        reports: list[Report] = []
        planned: list[tuple[Request, DeltaTable, CompactionPlan]] = []
        for request in requests:
            found = self._try(request, lambda r=request: (r, *self.plan(sql, r)))  # type: ignore[misc]
            if isinstance(found, Report):
                self._note(found)
                reports.append(found)
            else:
                planned.append(found)
        planned.sort(key=lambda item: -_gain_per_byte(item[2]))
        spent = Spent()
        for request, table, plan in planned:
            left = spent.left_of(budget)
            prepared = (table, plan) if spent.leaves_room_for(plan, budget) else None
            if prepared is None:
                self._release(plan)
            report = self.compact(sql, replace(request, budget=left, is_alone=True), prepared)
            spent.add(report)
            reports.append(report)
        return reports

    def compact(
        self,
        sql: SqlConnection,
        request: Request,
        prepared: tuple[DeltaTable, CompactionPlan] | None = None,
    ) -> Report:
        report: Report = self._try(request, lambda: self._compact(sql, request, prepared))
        self._note(report)
        return report

    def _compact(
        self,
        sql: SqlConnection,
        request: Request,
        prepared: tuple[DeltaTable, CompactionPlan] | None,
    ) -> Report:
        table, plan = prepared or self.plan(sql, request)
        try:
            if not plan.runs or request.dry_run:
                return _report(request, CompactionResult(plan))
            policy = self._config(sql, request).policy
            cores = connection_cores(sql)
            share = self._cores_for(sql, request)
            is_arrow = plan.rewriter is Rewrite.ARROW
            # Arrow spreads one chunk over all cores by itself.
            at_once = 1 if is_arrow else min(share, len(plan.chunks))
            optimize = DeltaSqlRewriter(sql, threads=-(-share // at_once))
            rewriter: Rewriter = optimize
            if is_arrow:
                assert sql.spark is not None
                rewriter = ArrowRewriter(
                    sql.spark,
                    cores=cores,
                    session_zone=_zone(sql),
                    verifies_rows=policy.verify is Verify.FULL,
                )
            with sql.fresh() as own:
                compactor = Compactor(
                    sql=own,
                    table=table,
                    rewriter=rewriter,
                    fallback=optimize,
                    policy=policy,
                    mark=CommitMark(
                        COMPACT,
                        version,
                        invocation_id=self.invocation_id,
                        node=request.run.node if request.run else None,
                    ),
                    session_zone=_zone(sql),
                    force=request.force,
                    at_once=at_once,
                )
                seconds = policy.budget.narrowed(request.budget or Budget()).max_seconds
                return _report(request, compactor.run(plan, max_seconds=seconds))
        finally:
            self._release(plan)

    def _cores_for(self, sql: SqlConnection, request: Request) -> int:
        """Models of other threads run beside a model; nothing runs beside an operation."""
        cores = connection_cores(sql)
        return cores if request.is_alone else -(-cores // self._dbt_threads)

    def plan(self, sql: SqlConnection, request: Request) -> tuple[DeltaTable, CompactionPlan]:
        """The plan of one relation, its partitions reserved while it stands."""
        with sql.fresh() as own:
            return self._plan(sql, own, request)

    def _plan(
        self, sql: SqlConnection, own: SqlConnection, request: Request
    ) -> tuple[DeltaTable, CompactionPlan]:
        policy = self._config(sql, request).policy
        table = DeltaTable.find(own, request.relation.render())
        trace = request.run.trace() if request.run else None
        now_ms = int(time.time() * 1000)

        def others(commits: Sequence[Commit]) -> tuple[Commit, ...]:
            return commits_of_others(commits, policy, is_ours=self._is_of_this_run, now_ms=now_ms)

        def version_before(commits: Sequence[Commit]) -> int | None:
            firsts = [trace.version_before(commits)] if trace else []
            firsts += [commit.version - 1 for commit in others(commits)[:1]]
            return min((version for version in firsts if version is not None), default=None)

        snapshot = table.snapshot(own, version_before=version_before)
        touched, written_bytes = None, 0
        if trace is not None:
            touched, commits, written_bytes = partitions_added_to(snapshot, trace)
            if commits is not None and not is_qualified_for_auto_compact(policy, commits):
                why = (
                    "only blind appends, and non_blind_append is set"
                    if commits
                    else "this run committed nothing"
                )
                empty = prepare_auto_compact_request(
                    replace(snapshot, files=()),
                    policy,
                    table=request.relation.render(),
                    partitions_added_to=frozenset(),
                    reservations=PROCESS_RESERVATIONS,
                )
                return table, replace(empty, outcome=Outcome.NOT_QUALIFIED, reason=why)
            if not policy.modified_partitions_only:
                touched = None
        budget = policy.budget.narrowed(request.budget or Budget())
        if request.run is not None and budget.max_bytes is None and request.budget is None:
            budget = budget.narrowed(Budget.inline(written_bytes or snapshot.total_bytes))
        plan = prepare_auto_compact_request(
            snapshot,
            policy,
            table=request.relation.render(),
            partitions_added_to=touched,
            reservations=PROCESS_RESERVATIONS,
            budget=budget,
            session_zone=_zone(sql),
            force=request.force,
            busy_partitions=partitions_of_others(snapshot, others(snapshot.commits), now_ms=now_ms),
        )
        if plan.runs:
            try:
                plan = self._with_rewriter(sql, snapshot, policy, plan)
            except BaseException:
                self._release(plan)
                raise
        return table, plan

    def _with_rewriter(
        self,
        sql: SqlConnection,
        snapshot: Snapshot,
        policy: CompactionPolicy,
        plan: CompactionPlan,
    ) -> CompactionPlan:
        choice = choose_rewriter(sql.spark, snapshot, policy, table=plan.table)
        note = choice.note()
        notes = plan.notes if note is None else (*plan.notes, note)
        chunks = unite_chunks(plan.chunks) if choice.is_arrow else plan.chunks
        return replace(plan, rewriter=choice.rewrite, notes=notes, chunks=chunks)

    def _is_of_this_run(self, commit: Commit) -> bool:
        mark = read_mark(commit.user_metadata)
        return mark is not None and mark.invocation_id == self.invocation_id

    def _config(self, sql: SqlConnection, request: Request) -> CompactionConfig:
        return with_user_confs(request.config, sql.conf)

    def _note(self, report: Report) -> None:
        self.log.add(report.as_dict())

    def _release(self, plan: CompactionPlan) -> None:
        PROCESS_RESERVATIONS.release(plan.table_id, plan.reserved)

    def _try(self, request: Request, work: Any) -> Any:
        """The result of `work`, or a report of why there is none."""
        relation = request.relation.render()
        try:
            return work()
        except NotDeltaError as exc:
            sentence = f"skipped: {str(exc).splitlines()[0]}"
            return Report(relation, sentence, {"outcome": Outcome.NOT_SUPPORTED.value})
        except Exception as exc:
            sentence = str(exc) if isinstance(exc, DeltaMaintError) else telling_sentence(exc)
            return Report(
                relation,
                f"failed: {sentence}",
                {"outcome": "failed", "errors": [sentence]},
                is_warning=True,
                has_failed=True,
                must_fail=request.config.policy.fail_on_error,
            )


def is_switched_off(var: Any) -> bool:
    """The environment, then the dbt variable `delta_maint_auto_compact`, can switch everything off."""
    said = os.environ.get(OFF_SWITCH)
    value = said if said is not None and said.strip() else var
    return value is not None and str(value).strip().lower() in ("false", "off", "0", "no")


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


def _gain_per_byte(plan: CompactionPlan) -> float:
    return sum(work.gain for work in plan.chosen) / max(1, plan.input_bytes)


def _zone(sql: SqlConnection) -> str:
    return str(sql.conf("spark.sql.session.timeZone"))


class _Properties(Mapping[str, str]):
    """The table's properties, read only if somebody asks for one."""

    def __init__(self, sql: SqlConnection, relation: BaseRelation) -> None:
        self._sql = sql
        self._relation = relation
        self._found: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        if self._found is None:
            rows = self._sql.answer(f"show tblproperties {self._relation}")
            self._found = {row[0]: row[1] for row in rows}
        return self._found

    def __getitem__(self, key: str) -> str:
        return self._read()[key]

    def __iter__(self) -> Any:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())
