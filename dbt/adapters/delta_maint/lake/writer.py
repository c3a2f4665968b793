"""Prepares a write so that its one commit holds files of the target size.

The model's query becomes a temporary view whose rows already go to the right tasks; the statement that
reads it (CREATE OR REPLACE ... AS, INSERT, INSERT OVERWRITE, REPLACE WHERE) stays Delta's own, with
everything it guarantees. The settings the write needs are put into the connection's own session around
that one statement and taken back afterwards, whatever happens. Nothing here changes a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.calibration import (
    Calibration,
    Source,
    size_error,
)
from dbt.adapters.delta_maint.core.placement import PlacementPolicy, place
from dbt.adapters.delta_maint.core.row_cap import plan_cap
from dbt.adapters.delta_maint.core.write_choice import (
    Choice,
    QueryFacts,
    SortColumn,
    Way,
    WritePolicy,
    choose,
    choose_merge,
)
from dbt.adapters.delta_maint.lake import placed_rows, query_facts, write_settings
from dbt.adapters.delta_maint.lake.commit_mark import CONF, CommitMark, read_mark
from dbt.adapters.delta_maint.lake.cores import session_cores
from dbt.adapters.delta_maint.lake.prepared_write import PreparedWrite
from dbt.adapters.delta_maint.lake.row_counts import count_tasks, count_values
from dbt.adapters.delta_maint.lake.row_sizes import RowSizes, WriteQuery
from dbt.adapters.delta_maint.lake.sql_runner import has_driver
from dbt.adapters.delta_maint.lake.write_target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Preparation:
    """One write of one model: facts, choice, plan."""

    def __init__(
        self, spark: SparkSession, policy: WritePolicy, target: WriteTarget, mark: CommitMark
    ) -> None:
        self._spark = spark
        self._policy = policy
        self._target = target
        self._mark = mark
        self._target_bytes = target.file_bytes(policy.target_bytes)
        self._cores = policy.min_write_tasks or session_cores(spark)
        self._sizes = RowSizes(spark, target, self._target_bytes)

    # -- the two kinds of write ---------------------------------------------------------------

    def rows(self, frame: DataFrame) -> PreparedWrite:
        """Rows that are written as they come: a new table, or an insert of any kind."""
        keys = self._target.partition_keys(frame)
        bare = query_facts.countable(frame)
        facts = query_facts.inspect(frame, bare, keys)
        ordered_by = {name.lower() for name in self._policy.order_columns}
        if ordered_by & {name.lower() for name in facts.random_columns}:
            # A range of what chance fills in is another one at every evaluation.
            facts = replace(facts, is_deterministic=False, random_columns=())
        if facts.is_heavy:
            facts = replace(
                facts,
                reads_target=self._target.is_read_by(frame),
                has_history=self._target.table_files > 0,
            )
        choice = choose(
            self._policy,
            facts,
            query_facts.capabilities(self._spark),
            partition_columns=self._target.partition_columns,
            target_bytes=self._target_bytes,
        )
        if not has_driver(self._spark):
            choice = replace(choice, reason=f"{choice.reason}; the plan as EXPLAIN shows it")
        staged = None
        if choice.is_staged:
            bare = frame = staged = query_facts.staged(frame)
        elif choice.shares_stages:
            bare = frame = query_facts.evaluated(bare)
        try:
            prepared = self._carry_out(choice, self._query(frame, bare, keys, facts))
        except BaseException:
            if staged is not None:
                query_facts.unstage(staged)
            raise
        prepared.staged = staged
        return prepared

    def merge(
        self, columns: Sequence[tuple[str, str]], operation: str, *, table: DataFrame | None = None
    ) -> PreparedWrite:
        """MERGE stays Delta's own; its writer gets a bin that gives files of the target size.

        `table` is what the rows that are written look like.
        """
        choice = choose_merge(self._policy, query_facts.capabilities(self._spark), operation)
        if choice.way is Way.PLAIN:
            return PreparedWrite(choice, self._target_bytes, write_settings.PLACED)
        written = self._sizes.fingerprint(columns, order=())
        ratio = self._sizes.table_ratio(written, table)
        bins = self._bins(choice, written, ratio, columns=len(columns))
        return PreparedWrite(choice, self._target_bytes, bins)

    # -- ways ---------------------------------------------------------------------------------

    def _carry_out(self, choice: Choice, query: WriteQuery) -> PreparedWrite:
        if choice.way is Way.PLAIN:
            return self._prepared(choice, query.frame, write_settings.PLACED)
        if choice.way is Way.DELTA:
            ratio = self._sizes.query_ratio(choice, query)
            bins = self._bins(choice, query.written, ratio, columns=len(query.columns))
            return self._prepared(choice, query.frame, bins)
        if choice.way is Way.EXACT:
            return self._exact(choice, query)
        if choice.way is Way.REBALANCE:
            return self._rebalance(choice, query, self._sizes.calibrate(choice, query))
        return self._in_order(choice, query)

    def _exact(self, choice: Choice, query: WriteQuery) -> PreparedWrite:
        by_range = None
        if query.order:
            by_range = placed_rows.range_key(query.frame, query.order[0].name)
        counted = count_values(query.bare, query.keys, range_key=by_range)
        calibration = self._sizes.calibrate(choice, query, rows=counted.total)
        values = counted.sized(calibration)
        policy = PlacementPolicy(
            target_bytes=self._target_bytes,
            small_partition_factor=self._policy.small_partition_factor,
            merged_partition_factor=self._policy.merged_partition_factor,
            min_tasks=self._cores,
        )
        if len(values) > policy.max_values:
            reason = f"{len(values):,} partition values, more than {policy.max_values:,}"
            return self._rebalance(
                replace(choice, way=Way.REBALANCE, reason=reason), query, calibration
            )
        placement = place(values, policy)
        cuts = placed_rows.choose_cuts(placement, counted.steps) if by_range is not None else {}
        salt = "range" if cuts else self._salt()
        by_hash = placed_rows.hash_salt(query.frame, without=query.facts.random_columns)
        placed = placed_rows.place_rows(
            query.frame,
            placement,
            query.keys,
            salt=placed_rows.position_salt() if salt == "position" else by_hash,
            cuts=cuts,
            range_key=by_range,
        )
        open_files = write_settings.open_files(
            placement.values_per_task,
            columns=len(query.columns),
            target_bytes=self._target_bytes,
        )
        if query.order or not open_files:
            placed = placed_rows.sort_in_tasks(placed, query.keys, query.order)
        rows = max((value.value.rows / value.files for value in placement.values), default=0)
        settings = {
            **write_settings.PLACED,
            **open_files,
            **self._cap(rows * calibration.source.cap_slack),
            **self._marked(
                choice,
                query.written,
                calibration,
                placement.files,
                salt=salt,
                expected_bytes=round(placement.bytes),
            ),
        }
        prepared = self._prepared(choice, placed, settings, calibration)
        prepared.placement, prepared.planned_files = placement, placement.files
        return prepared

    def _rebalance(
        self, choice: Choice, query: WriteQuery, calibration: Calibration
    ) -> PreparedWrite:
        ratio = self._sizes.query_ratio(choice, query)
        reducers = write_settings.rebalance_reducers(
            scan_bytes=query.facts.scan_bytes, target_bytes=self._target_bytes, ratio=ratio
        )
        offered = {name.lower() for name in query.frame.columns}
        names = [name for name in self._target.partition_columns if name.lower() in offered]
        if self._policy.repartition == "round_robin":
            names = []
        columns = [placed_rows.column(name) for name in names]
        placed = query.frame.hint("rebalance", reducers, *columns)
        placed = placed_rows.sort_in_tasks(placed, query.keys, query.order)
        lightest = min([calibration.bytes_per_row, *calibration.per_value.values()])
        settings = {
            **write_settings.PLACED,
            **write_settings.rebalance(
                self._target_bytes, ratio, small_factor=self._policy.small_partition_factor
            ),
            **self._cap(self._target_bytes / lightest * calibration.source.cap_slack),
            **self._marked(choice, query.written, calibration, None, shuffle_ratio=ratio),
        }
        return self._prepared(choice, placed, settings, calibration)

    def _in_order(self, choice: Choice, query: WriteQuery) -> PreparedWrite:
        """Without a shuffle, except for chunks: rows stay in the order the query gives them."""
        frame = query_facts.unarranged(query.frame)
        is_counted = choice.way in (Way.CHUNKS, Way.COALESCE)
        rows_per_task = count_tasks(query_facts.planned(frame)) if is_counted else {}
        total_rows = sum(rows_per_task.values())
        calibration = self._sizes.calibrate(choice, query, rows=total_rows)
        max_rows = math.ceil(self._target_bytes / calibration.bytes_per_row)
        if calibration.source is Source.SCHEMA:
            # A cap from a guess may be far too low: it is there for the worst case only.
            max_rows = math.ceil(max_rows * calibration.source.cap_slack)
        files: int | None = None
        expected: int | None = None
        if is_counted:
            expected = round(total_rows * calibration.bytes_per_row)
        if choice.way is Way.CHUNKS:
            files = max(1, round(total_rows * calibration.bytes_per_row / self._target_bytes))
            max_rows = math.ceil(total_rows / files * calibration.source.cap_slack)
            frame = placed_rows.place_chunks(frame, rows_per_task, files)
        elif choice.way is Way.COALESCE:
            plan = plan_cap(
                list(rows_per_task.values()),
                bytes_per_row=calibration.bytes_per_row,
                target_bytes=self._target_bytes,
                cores=self._cores,
            )
            files, max_rows = plan.files, plan.max_rows
            if plan.tasks is None:
                choice = replace(choice, way=Way.CAP)
            else:
                frame = frame.coalesce(plan.tasks)
        settings = {
            **write_settings.PLACED,
            **self._cap(max_rows),
            **self._marked(choice, query.written, calibration, files, expected_bytes=expected),
        }
        prepared = self._prepared(choice, frame, settings, calibration)
        prepared.planned_files = files
        return prepared

    def _bins(self, choice: Choice, written: str, ratio: float, *, columns: int) -> dict[str, str]:
        partitions = self._spark.conf.get("spark.sql.shuffle.partitions", "200") or "200"
        return {
            **write_settings.delta_bins(
                self._target_bytes,
                ratio,
                table_bytes=self._target.table_bytes,
                shuffle_partitions=int(partitions),
                columns=columns,
            ),
            **self._marked(choice, written, None, None, shuffle_ratio=ratio),
        }

    # -- facts --------------------------------------------------------------------------------

    def _query(
        self, frame: DataFrame, bare: DataFrame, keys: Sequence[Column], facts: QueryFacts
    ) -> WriteQuery:
        order: tuple[SortColumn, ...] = ()
        offered = {name.lower() for name in frame.columns}
        named = [name for name in self._policy.order_columns if name.lower() in offered]
        if named:
            order = tuple(SortColumn(name) for name in named)
        elif facts.sort and self._policy.sorted_query == "within":
            order = facts.sort
        columns = tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields)
        written = self._sizes.fingerprint(columns, order=[column.name for column in order])
        return WriteQuery(frame, bare, tuple(keys), facts, order, columns, written)

    def _salt(self) -> str:
        """Rows too much alike for a hash are known from the sample, or from the write before."""
        if self._policy.repartition == "round_robin" or self._sizes.are_rows_alike():
            return "position"
        return "hash"

    # -- results ------------------------------------------------------------------------------

    def _prepared(
        self,
        choice: Choice,
        frame: DataFrame,
        settings: Mapping[str, str],
        calibration: Calibration | None = None,
    ) -> PreparedWrite:
        return PreparedWrite(
            choice, self._target_bytes, settings, frame=frame, calibration=calibration
        )

    def _cap(self, rows: float) -> dict[str, str]:
        return write_settings.row_cap(rows, self._spark.conf.get(write_settings.ROW_CAP, "0"))

    def _marked(
        self,
        choice: Choice,
        written: str,
        calibration: Calibration | None,
        files: int | None,
        **more: Any,
    ) -> dict[str, str]:
        """A mark that the node has already is enlarged; a user's own metadata is theirs to keep."""
        before = self._spark.conf.get(CONF, None)
        mark = read_mark(before) or self._mark
        if before and read_mark(before) is None:
            return {}
        details = {
            "mode": choice.way.value,
            "target_bytes": self._target_bytes,
            "fingerprint": written,
            "planned_files": files,
            **more,
        }
        if calibration is not None:
            details["source"] = calibration.source.value
            details["bytes_per_row"] = round(calibration.bytes_per_row, 4)
            error = size_error(self._sizes.past_writes(), written)
            details["last_size_error"] = None if error is None else round(error, 4)
        told = {key: value for key, value in details.items() if value not in (None, "")}
        return {CONF: replace(mark, details={**mark.details, **told}).text()}
