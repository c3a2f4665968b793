"""One relation to compact, and what is told about it; what many of them have spent of one budget."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import Budget
from dbt.adapters.delta_maint.core.run_trace import RunTrace
from dbt.adapters.delta_maint.core.table import Commit, PartitionKey
from dbt.adapters.delta_maint.lake.commit_mark import WRITE, read_mark
from dbt.adapters.delta_maint.policies.compaction import CompactionConfig
from dbt.adapters.delta_maint.report.compaction_text import plan_lines


@dataclass(frozen=True)
class NodeRun:
    """Whose commits to look for. `node` None: every node of this invocation; `started_ms` None: unknown."""

    invocation_id: str
    node: str | None = None
    started_ms: int | None = None

    def trace(self) -> RunTrace:
        return RunTrace(self._is_ours, self.started_ms)

    def _is_ours(self, commit: Commit) -> bool:
        mark = read_mark(commit.user_metadata)
        return (
            mark is not None
            and mark.action == WRITE
            and mark.invocation_id == self.invocation_id
            and self.node in (None, mark.node)
        )


@dataclass(frozen=True)
class Report:
    """What happened to one relation; `numbers` go into run_results.json and the JSON file.

    `must_fail` is a failure that its policy does not forgive.
    """

    relation: str
    sentence: str
    numbers: dict[str, Any]
    is_warning: bool = False
    has_failed: bool = False
    must_fail: bool = False
    plan: CompactionPlan | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers without the lists of partitions, which may be long."""
        return {k: v for k, v in self.numbers.items() if k not in ("chosen", "skipped")}

    @property
    def is_dry_run(self) -> bool:
        return bool(self.numbers.get("dry_run"))

    def plan_lines(self) -> list[str]:
        return plan_lines(self.plan) if self.plan is not None else []

    def as_dict(self) -> dict[str, Any]:
        return {"relation": self.relation, "sentence": self.sentence, **self.numbers}

    def json_line(self) -> str:
        """What the JSON file has of it."""
        return json.dumps(self.as_dict())

    def line(self) -> str:
        return f"auto_compact {self.relation}: {self.sentence}"


@dataclass(frozen=True)
class Request:
    """One relation to look at. `run` None: the whole table, cold partitions included.

    `is_alone`: no model of this run is built meanwhile. `only`: no partitions but these.
    """

    relation: BaseRelation
    config: CompactionConfig
    run: NodeRun | None
    budget: Budget | None = None
    dry_run: bool = False
    force: bool = False
    is_alone: bool = False
    only: frozenset[PartitionKey] | None = None


@dataclass
class Spent:
    """Of one budget for many tables; a dry run spends what it plans."""

    input_bytes: int = 0
    partitions: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, report: Report) -> None:
        if report.plan is None or not report.plan.runs:
            return
        done = report.plan.input_bytes if report.is_dry_run else report.numbers["bytes_removed"]
        self.input_bytes += int(done)
        self.partitions += len(report.plan.chosen_partitions)

    def left_of(self, budget: Budget) -> Budget:
        seconds = time.monotonic() - self.started
        return Budget(
            _less(budget.max_bytes, self.input_bytes),
            _less(budget.max_partitions, self.partitions),
            None if budget.max_seconds is None else max(0.0, budget.max_seconds - seconds),
        )

    def leaves_room_for(self, plan: CompactionPlan, budget: Budget) -> bool:
        left = self.left_of(budget)
        return (left.max_bytes is None or plan.input_bytes <= left.max_bytes) and (
            left.max_partitions is None or len(plan.chosen_partitions) <= left.max_partitions
        )


def _less(limit: int | None, spent: int) -> int | None:
    return None if limit is None else max(0, limit - spent)
