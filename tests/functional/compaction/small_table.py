"""A small Delta table, and compaction of it as the adapter runs it, without dbt around."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy, PolicyKind
from dbt.adapters.delta_maint.core.compaction_ranking import unite_chunks
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.table import PartitionKey, Snapshot
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
from dbt.adapters.delta_maint.lake.compaction_result import CompactionResult
from dbt.adapters.delta_maint.lake.compactor import Compactor
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.rewriters.arrow import ArrowRewriter
from dbt.adapters.delta_maint.lake.rewriters.base import Observer, Rewriter
from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

EAGER = CompactionPolicy(kind=PolicyKind.EAGER, reserve_partitions=False)
MARK = CommitMark("compact", "test")


def ignore(phase: Any, chunk: Any) -> None:
    """The observer of whoever does not watch."""


@dataclass
class SmallTable:
    spark: Any
    name: str
    engine: str = "delta"

    @classmethod
    def create(
        cls,
        spark: Any,
        *,
        columns: str = "id bigint, p int",
        layout: str = "",
        properties: str = "",
        engine: str = "delta",
    ) -> SmallTable:
        name = f"`t_{uuid.uuid4().hex}`"
        tail = f" tblproperties ({properties})" if properties else ""
        session = spark.newSession()
        session.sql(f"create table {name} ({columns}) using delta {layout}{tail}")
        return cls(session, name, engine)

    def append(self, files: int, *, start: int = 0, rows: int = 10, p: str = "1") -> None:
        """`files` files with `rows` rows each in partition `p`, in one commit."""
        self.spark.sql(
            f"insert into {self.name} select id, {p} from "
            f"range({start}, {start + files * rows}, 1, {files})"
        )

    def run(self, sql: str) -> Any:
        return self.spark.sql(sql.format(t=self.name)).collect()

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in self.run("select * from {t}")), key=str)

    def snapshot(self) -> Snapshot:
        sql = SessionSql(self.spark)
        return DeltaTable.find(sql, self.name).snapshot(sql)

    def files(self) -> dict[PartitionKey, int]:
        return {key: len(files) for key, files in self.snapshot().by_partition().items()}

    def operations(self) -> list[str]:
        rows = self.run("describe history {t}")
        return [row.operation for row in sorted(rows, key=lambda row: row.version)]

    def plan(
        self,
        policy: CompactionPolicy = EAGER,
        *,
        touched: frozenset[PartitionKey] | None = None,
        reservations: Reservations | None = None,
        budget: Budget | None = None,
        force: bool = False,
    ) -> CompactionPlan:
        return prepare_auto_compact_request(
            self.snapshot(),
            policy,
            table=self.name,
            partitions_added_to=touched,
            reservations=reservations or Reservations(),
            budget=budget,
            force=force,
        )

    def compact(
        self,
        policy: CompactionPolicy = EAGER,
        *,
        plan: CompactionPlan | None = None,
        observer: Observer = ignore,
        rewriter: Callable[[Rewriter], Rewriter] = lambda rewriter: rewriter,
        max_seconds: float | None = None,
        verifies_rows: bool = False,
        at_once: int = 1,
        **asked: Any,
    ) -> CompactionResult:
        sql = SessionSql(self.spark.newSession())
        optimize: Rewriter = DeltaSqlRewriter(SessionSql(self.spark), threads=2)
        engine = optimize
        if self.engine == "arrow":
            engine = ArrowRewriter(self.spark, cores=2, verifies_rows=verifies_rows)
        compactor = Compactor(
            sql=sql,
            table=DeltaTable.find(sql, self.name),
            rewriter=rewriter(engine),
            fallback=optimize,
            policy=replace(policy, reserve_partitions=False),
            mark=MARK,
            observer=observer,
            at_once=at_once,
        )
        plan = plan or self.plan(policy, **asked)
        if self.engine == "arrow":
            plan = replace(plan, chunks=unite_chunks(plan.chunks))
        return compactor.run(plan, max_seconds=max_seconds)
