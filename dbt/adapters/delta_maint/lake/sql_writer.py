"""Prepares a write with files of the target size over a connection that knows nothing but SQL.

The same choices as `writer`, carried out in SQL text: rows are counted, placed, rebalanced or joined by a
temporary view, whose statement stays Delta's own. Three things are not in SQL's reach, and the reason of
the choice says so: rows cannot be kept between counting and writing, so a query that depends on chance or
costs much is rebalanced while it runs; nothing is sampled, so the first write of a table knows its rows by
their types only; and a value's rows are cut by their hash, not into ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.delta_maint.core import calibration as known_sizes
from dbt.adapters.delta_maint.core.calibration import (
    DEFAULT_SHUFFLE_RATIO,
    Calibration,
    PastWrite,
    Source,
    from_schema,
    size_error,
)
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.placement import PlacementPolicy, place
from dbt.adapters.delta_maint.core.plan_text import PlanText, heavy_operators, may_multiply
from dbt.adapters.delta_maint.core.row_cap import plan_cap
from dbt.adapters.delta_maint.core.write_choice import (
    Capabilities,
    Choice,
    QueryFacts,
    SortColumn,
    Way,
    WritePolicy,
    choose,
    choose_merge,
)
from dbt.adapters.delta_maint.lake import sql_placement, write_settings
from dbt.adapters.delta_maint.lake.commit_mark import CONF, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.cores import connection_cores
from dbt.adapters.delta_maint.lake.sql_placement import SqlQuery
from dbt.adapters.delta_maint.lake.sql_prepared_write import SqlPreparedWrite
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.lake.sql_write_target import SqlWriteTarget

NOT_KEPT = "SQL alone cannot keep its rows between counting and writing"


class SqlPreparation:
    """One write of one model: facts, choice, plan."""

    def __init__(
        self, sql: SqlConnection, policy: WritePolicy, target: SqlWriteTarget, mark: CommitMark
    ) -> None:
        self._sql = sql
        self._policy = policy
        self._target = target
        self._mark = mark
        self._target_bytes = target.file_bytes(policy.target_bytes)
        self._past: list[PastWrite] | None = None
        self._written = ""
        self._columns: tuple[tuple[str, str], ...] = ()

    def rows(self, text: str, *, model: str) -> SqlPreparedWrite:
        """Rows that are written as they come: a new table, or an insert of any kind."""
        query = self._described(text)
        offered = {name.lower() for name in query.names}
        for name in self._policy.write_order:
            if name.lower() not in offered:
                raise ConfigError(
                    f"write_order names {name!r}, which {model} does not select: its columns are "
                    f"{', '.join(query.names)}."
                )
        facts = self._facts(query)
        able = self._capabilities()
        choice = choose(
            self._policy,
            facts,
            able,
            partition_columns=self._target.partition_columns,
            target_bytes=self._target_bytes,
        )
        if choice.is_staged:
            way = Way.REBALANCE if able.can_rebalance else Way.CAP
            choice = Choice(way, f"{choice.reason.split(';')[0]}; {NOT_KEPT}")
        choice = replace(choice, reason=f"{choice.reason}; the plan as EXPLAIN shows it")
        return self._carry_out(choice, query, facts)

    def merge(self, name: str, operation: str) -> SqlPreparedWrite:
        """MERGE stays Delta's own; its writer gets a bin that gives files of the target size."""
        choice = choose_merge(self._policy, self._capabilities(), operation)
        if choice.way is Way.PLAIN:
            return self._prepared(choice, None, write_settings.PLACED)
        self._know(self._described(f"select * from {name}").columns, order=())
        ratio = self._ratio(choice)
        return self._prepared(choice, None, self._bins(choice, ratio))

    # -- ways -----------------------------------------------------------------------------------

    def _carry_out(self, choice: Choice, query: SqlQuery, facts: QueryFacts) -> SqlPreparedWrite:
        order = self._order(query, facts)
        self._know(query.columns, order=[column.name for column in order])
        if choice.way is Way.PLAIN:
            return self._prepared(choice, query.text, write_settings.PLACED)
        if choice.way is Way.DELTA:
            return self._prepared(choice, query.text, self._bins(choice, self._ratio(choice)))
        if choice.way is Way.EXACT:
            return self._exact(choice, query, facts, order)
        if choice.way is Way.REBALANCE:
            return self._rebalance(choice, query, facts, order)
        return self._in_order(choice, query)

    def _exact(
        self, choice: Choice, query: SqlQuery, facts: QueryFacts, order: Sequence[SortColumn]
    ) -> SqlPreparedWrite:
        counted = sql_placement.count_values(self._sql, query)
        calibration = self._calibration()
        values = counted.sized(calibration)
        policy = PlacementPolicy(
            target_bytes=self._target_bytes,
            small_partition_factor=self._policy.small_partition_factor,
            merged_partition_factor=self._policy.merged_partition_factor,
            min_tasks=self._policy.min_write_tasks or connection_cores(self._sql),
        )
        if len(values) > policy.max_values:
            reason = f"{len(values):,} partition values, more than {policy.max_values:,}"
            choice = replace(choice, way=Way.REBALANCE, reason=reason)
            return self._rebalance(choice, query, facts, order)
        placement = place(values, policy)
        placed = sql_placement.place_rows(query, placement)
        open_files = write_settings.open_files(
            placement.values_per_task,
            columns=len(query.columns),
            target_bytes=self._target_bytes,
        )
        if order or not open_files:
            placed = sql_placement.sorted_in_tasks(placed, query.keys, order)
        rows = max((value.value.rows / value.files for value in placement.values), default=0)
        settings = {
            **write_settings.PLACED,
            **open_files,
            **self._cap(rows * calibration.source.cap_slack),
            **self._marked(
                choice,
                calibration,
                placement.files,
                salt="hash",
                expected_bytes=round(placement.bytes),
            ),
        }
        prepared = self._prepared(choice, placed, settings, calibration)
        prepared.placement, prepared.planned_files = placement, placement.files
        return prepared

    def _rebalance(
        self, choice: Choice, query: SqlQuery, facts: QueryFacts, order: Sequence[SortColumn]
    ) -> SqlPreparedWrite:
        ratio = self._ratio(choice)
        calibration = self._calibration()
        reducers = write_settings.rebalance_reducers(
            scan_bytes=facts.scan_bytes, target_bytes=self._target_bytes, ratio=ratio
        )
        offered = {name.lower() for name in query.names}
        names = [name for name in self._target.partition_columns if name.lower() in offered]
        if self._policy.repartition == "round_robin":
            names = []
        placed = sql_placement.sorted_in_tasks(
            sql_placement.rebalanced(query, reducers, names), query.keys, order
        )
        lightest = min([calibration.bytes_per_row, *calibration.per_value.values()])
        settings = {
            **write_settings.PLACED,
            **write_settings.rebalance(
                self._target_bytes, ratio, small_factor=self._policy.small_partition_factor
            ),
            **self._cap(self._target_bytes / lightest * calibration.source.cap_slack),
            **self._marked(choice, calibration, None, shuffle_ratio=ratio),
        }
        return self._prepared(choice, placed, settings, calibration)

    def _in_order(self, choice: Choice, query: SqlQuery) -> SqlPreparedWrite:
        """Without a shuffle, except for chunks: rows stay in the order the query gives them."""
        is_counted = choice.way in (Way.CHUNKS, Way.COALESCE)
        rows_per_task = sql_placement.count_tasks(self._sql, query) if is_counted else {}
        total_rows = sum(rows_per_task.values())
        calibration = self._calibration()
        slack = calibration.source.cap_slack
        max_rows = math.ceil(self._target_bytes / calibration.bytes_per_row)
        if calibration.source is Source.SCHEMA:
            # A cap from a guess may be far too low: it is there for the worst case only.
            max_rows = math.ceil(max_rows * slack)
        placed, files = query.text, None
        expected = round(total_rows * calibration.bytes_per_row) if is_counted else None
        if choice.way is Way.CHUNKS:
            files = max(1, round((expected or 0) / self._target_bytes))
            max_rows = math.ceil(total_rows / files * slack)
            placed = sql_placement.place_chunks(query, rows_per_task, files)
        elif choice.way is Way.COALESCE:
            plan = plan_cap(
                list(rows_per_task.values()),
                bytes_per_row=calibration.bytes_per_row,
                target_bytes=self._target_bytes,
                cores=self._policy.min_write_tasks or connection_cores(self._sql),
            )
            files, max_rows = plan.files, plan.max_rows
            if plan.tasks is None:
                choice = replace(choice, way=Way.CAP)
            else:
                placed = sql_placement.joined(query, plan.tasks)
        settings = {
            **write_settings.PLACED,
            **self._cap(max_rows),
            **self._marked(choice, calibration, files, expected_bytes=expected),
        }
        prepared = self._prepared(choice, placed, settings, calibration)
        prepared.planned_files = files
        return prepared

    def _bins(self, choice: Choice, ratio: float) -> dict[str, str]:
        partitions = self._sql.conf("spark.sql.shuffle.partitions") or "200"
        return {
            **write_settings.delta_bins(
                self._target_bytes,
                ratio,
                table_bytes=self._target.table_bytes,
                shuffle_partitions=int(partitions),
                columns=len(self._columns),
            ),
            **self._marked(choice, None, None, shuffle_ratio=ratio),
        }

    # -- facts ----------------------------------------------------------------------------------

    def _described(self, text: str) -> SqlQuery:
        # A comment at its end would swallow the bracket that comes after it.
        text = text.strip().rstrip(";") + "\n"
        columns = tuple(
            (str(row[0]), str(row[1])) for row in self._sql.rows(f"describe query {text}")
        )
        keys = self._target.key_texts(self._sql, [name for name, _ in columns])
        return SqlQuery(text, columns, tuple(keys))

    def _facts(self, query: SqlQuery) -> QueryFacts:
        plan, count = self._plan(query.text), self._plan(query.count())
        return QueryFacts(
            is_deterministic=plan.is_deterministic,
            heavy_operators=heavy_operators(count.physical),
            may_multiply=may_multiply(count.physical),
            has_history=self._target.table_files > 0,
            scan_bytes=plan.scan_bytes,
            sort=plan.top_sort(query.names),
        )

    def _plan(self, text: str) -> PlanText:
        (row,) = self._sql.answer(f"explain cost {text}")
        return PlanText.of(str(row[0]))

    def _capabilities(self) -> Capabilities:
        def is_on(key: str, default: str) -> bool:
            return str(self._sql.conf(key) or default).lower() == "true"

        has_hints = not is_on("spark.sql.optimizer.disableHints", "false")
        manager = self._sql.conf("spark.shuffle.manager") or "sort"
        return Capabilities(
            can_place=has_hints,
            can_rebalance=has_hints
            and is_on("spark.sql.adaptive.enabled", "true")
            and is_on("spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled", "true"),
            can_bin=manager in ("sort", "tungsten-sort") or manager.endswith(".SortShuffleManager"),
        )

    def _order(self, query: SqlQuery, facts: QueryFacts) -> tuple[SortColumn, ...]:
        offered = {name.lower() for name in query.names}
        named = [name for name in self._policy.order_columns if name.lower() in offered]
        if named:
            return tuple(SortColumn(name) for name in named)
        return facts.sort if facts.sort and self._policy.sorted_query == "within" else ()

    # -- sizes ----------------------------------------------------------------------------------

    def _know(self, columns: Sequence[tuple[str, str]], *, order: Sequence[str]) -> None:
        codec = self._sql.conf("spark.sql.parquet.compression.codec") or "snappy"
        self._columns = tuple(columns)
        self._written = known_sizes.fingerprint(codec=codec, columns=columns, order=order)

    def _past_writes(self) -> list[PastWrite]:
        if self._past is None:
            self._past = self._target.past_writes(self._sql)
        return self._past

    def _calibration(self) -> Calibration:
        found = self._target.calibrate(
            self._sql,
            self._past_writes(),
            fingerprint=self._written,
            target_bytes=self._target_bytes,
        )
        return found or from_schema(kind for _, kind in self._columns)

    def _ratio(self, choice: Choice) -> float:
        found = known_sizes.shuffle_ratio(
            self._past_writes(), fingerprint=self._written, mode=choice.way.value
        )
        return found or DEFAULT_SHUFFLE_RATIO

    # -- results --------------------------------------------------------------------------------

    def _prepared(
        self,
        choice: Choice,
        query: str | None,
        settings: Mapping[str, str],
        calibration: Calibration | None = None,
    ) -> SqlPreparedWrite:
        return SqlPreparedWrite(
            choice,
            self._target_bytes,
            settings,
            calibration=calibration,
            sql=self._sql,
            query=query,
        )

    def _cap(self, rows: float) -> dict[str, str]:
        return write_settings.row_cap(rows, self._sql.conf(write_settings.ROW_CAP))

    def _marked(
        self, choice: Choice, calibration: Calibration | None, files: int | None, **more: Any
    ) -> dict[str, str]:
        """A mark that the node has already is enlarged; a user's own metadata is theirs to keep."""
        before = self._sql.conf(CONF)
        mark = read_mark(before)
        if before and mark is None:
            return {}
        details = {
            "mode": choice.way.value,
            "target_bytes": self._target_bytes,
            "fingerprint": self._written,
            "planned_files": files,
            **more,
        }
        if calibration is not None:
            details["source"] = calibration.source.value
            details["bytes_per_row"] = round(calibration.bytes_per_row, 4)
            error = size_error(self._past_writes(), self._written)
            details["last_size_error"] = None if error is None else round(error, 4)
        told = {key: value for key, value in details.items() if value not in (None, "")}
        mark = mark or self._mark
        return {CONF: replace(mark, details={**mark.details, **told}).text()}
