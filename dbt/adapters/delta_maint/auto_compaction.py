"""How dbt asks for compaction: after a model, in a hook, deferred to the end, or as an operation.

A model's rows are committed before anything here begins. Trouble is told in one line and the model stays
green, unless it says `on_error: fail`; a policy that makes no sense is an error at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.compaction_reports import Report, Request, Spent
from dbt.adapters.delta_maint.compaction_run import TableCompaction, release
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.compaction_policy import Budget
from dbt.adapters.delta_maint.core.errors import ConfigError, DeltaMaintError, NotDeltaError
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.maintenance_log import MaintenanceLog
from dbt.adapters.delta_maint.policies.compaction import CONF, is_enabled

OFF_SWITCH = "DELTA_MAINT_AUTO_COMPACT"
SWITCH_VAR = "delta_maint_auto_compact"
NATIVE = f"{CONF}.enabled"
_ON, _OFF = ("true", "on", "1", "yes"), ("false", "off", "0", "no")


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
            found = self._try(
                request,
                lambda r=request: (r, *self._work_on(sql, r).plan()),  # type: ignore[misc]
            )
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
                release(plan)
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
        report: Report = self._try(request, lambda: self._work_on(sql, request).run(prepared))
        self._note(report)
        return report

    def _work_on(self, sql: SqlConnection, request: Request) -> TableCompaction:
        return TableCompaction(
            sql, request, invocation_id=self.invocation_id, dbt_threads=self._dbt_threads
        )

    def _note(self, report: Report) -> None:
        self.log.add(report.as_dict())

    def _try(self, request: Request, work: Any) -> Any:
        """The result of `work`, or a report of why there is none."""
        relation = request.relation.render()
        try:
            return work()
        except NotDeltaError as exc:
            # The line begins with the relation: it need not be named again.
            reason = str(exc).splitlines()[0].removesuffix(".")
            sentence = f"skipped: {reason.replace(relation, 'it', 1)}"
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
    name, value = (OFF_SWITCH, said) if said and said.strip() else (SWITCH_VAR, var)
    if value is None:
        return False
    word = str(value).strip().lower()
    if word not in (*_ON, *_OFF):
        raise ConfigError(f"{name} is {value!r}: use true or false.")
    return word in _OFF


def _gain_per_byte(plan: CompactionPlan) -> float:
    return sum(work.gain for work in plan.chosen) / max(1, plan.input_bytes)


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
