"""What a query's plans tell before it runs. Plans are made, nothing is executed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.plan_text import (
    SHUFFLED,
    PlanText,
    exchanges,
    heavy_operators,
    may_multiply,
)
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.write_choice import Capabilities, QueryFacts, SortColumn
from dbt.adapters.delta_maint.lake.sql_runner import has_driver

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_UNARY_ABOVE_SORT = {"Project", "Filter", "SubqueryAlias", "View"}
_SHUFFLES = {"Repartition", "RepartitionByExpression", "RebalancePartitions"}


def inspect(frame: DataFrame, bare: DataFrame, keys: Sequence[Column]) -> QueryFacts:
    """The facts of a query; `bare` are its rows, and `keys` what they would be counted by."""
    if not has_driver(frame.sparkSession):
        return inspect_text(frame, bare, keys)
    plan = frame._jdf.queryExecution().optimizedPlan()
    count = count_frame(bare, keys)
    is_deterministic = bool(plan.deterministic())
    random_columns: tuple[str, ...] = ()
    if not is_deterministic and _is_deterministic(count):
        # Which rows there are, and where they go, does not depend on chance: only some of their columns do.
        is_deterministic, random_columns = True, _random_columns(bare)
    text = count._jdf.queryExecution().executedPlan().toString()
    heavy = heavy_operators(text)
    return QueryFacts(
        is_deterministic=is_deterministic,
        random_columns=random_columns,
        heavy_operators=heavy,
        has_stages=SHUFFLED in heavy,
        may_multiply=may_multiply(text),
        scan_bytes=_scan_bytes(plan),
        sort=_top_sort(plan, [name.lower() for name in frame.columns]),
    )


def inspect_text(frame: DataFrame, bare: DataFrame, keys: Sequence[Column]) -> QueryFacts:
    """The same from EXPLAIN. What a shuffle has computed cannot be shared: no stage is in reach."""
    plan, count = plan_text(frame), plan_text(count_frame(bare, keys))
    is_deterministic = plan.is_deterministic
    random_columns: tuple[str, ...] = ()
    if not is_deterministic and count.is_deterministic:
        is_deterministic, random_columns = True, _random_columns(bare)
    return QueryFacts(
        is_deterministic=is_deterministic,
        random_columns=random_columns,
        heavy_operators=heavy_operators(count.physical),
        may_multiply=may_multiply(count.physical),
        scan_bytes=plan.scan_bytes,
        sort=plan.top_sort(frame.columns),
    )


def plan_text(frame: DataFrame) -> PlanText:
    if not has_driver(frame.sparkSession):
        return PlanText.of(frame._explain_string("cost"))  # type: ignore[operator]
    jvm: Any = frame.sparkSession._jvm
    explain = jvm.PythonSQLUtils.explainString
    return PlanText.of(explain(frame._jdf.queryExecution(), "cost"))


def evaluated(frame: DataFrame) -> DataFrame:
    """The same rows, computed now up to their last shuffle: every use starts from what that shuffle wrote."""
    from pyspark.sql import DataFrame as Frame

    spark = frame.sparkSession
    rows = frame._jdf.queryExecution().toRdd()
    session: Any = spark._jsparkSession
    return Frame(session.internalCreateDataFrame(rows, frame._jdf.schema(), False), spark)


def staged(frame: DataFrame) -> DataFrame:
    """The rows computed once, for every use.

    A remote query is analysed anew at each use, and chance with it, so that a cache would not know it
    again: its rows are kept by a checkpoint.
    """
    return frame.persist() if has_driver(frame.sparkSession) else frame.localCheckpoint()


def unstage(frame: DataFrame) -> None:
    """A checkpoint goes when nobody holds its frame any more."""
    if has_driver(frame.sparkSession):
        frame.unpersist()


def reads_table(frame: DataFrame, location: str) -> bool:
    """Whether the query reads the table at a location; asked only where its stages could be shared."""
    if not has_driver(frame.sparkSession):
        return False
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    for index in range(leaves.size()):
        with contextlib.suppress(Exception):  # a leaf that is not made of files
            paths = leaves.apply(index).relation().location().rootPaths()
            if any(_same_place(str(paths.apply(at)), location) for at in range(paths.size())):
                return True
    return False


def _same_place(left: str, right: str) -> bool:
    def plain(text: str) -> str:
        return re.sub(r"^file:/*", "/", text).rstrip("/")

    return plain(left) == plain(right)


def _is_deterministic(frame: DataFrame) -> bool:
    if not has_driver(frame.sparkSession):
        return plan_text(frame).is_deterministic
    return bool(frame._jdf.queryExecution().optimizedPlan().deterministic())


def _random_columns(frame: DataFrame) -> tuple[str, ...]:
    from pyspark.sql import functions as F

    return tuple(
        name
        for name in frame.columns
        if not _is_deterministic(frame.select(F.col(identifier(name))))
    )


def countable(frame: DataFrame) -> DataFrame:
    """The same rows, to be counted and sampled: planned once, without the arrangement the query ends with.

    Delta lists the files of a table by a job for every plan that reads it, this one's once for all uses.
    What is written stays the query itself: Delta has to see what it reads.
    """
    if not has_driver(frame.sparkSession):
        return frame
    plan = frame._jdf.queryExecution().optimizedPlan()
    is_arranged = plan.nodeName() in _SHUFFLES or plan.nodeName() == "Sort"
    return _of_plan(frame.sparkSession, plan.children().head() if is_arranged else plan)


def planned(frame: DataFrame) -> DataFrame:
    """The same rows in the same tasks, from the plan that Spark has made of them already."""
    if not has_driver(frame.sparkSession):
        return frame
    return _of_plan(frame.sparkSession, frame._jdf.queryExecution().optimizedPlan())


def unarranged(frame: DataFrame) -> DataFrame:
    """The same rows in their order, without the repartition that the query ends with.

    A remote plan cannot be taken apart; Spark drops it by itself where the rows are placed anew.
    """
    if not has_driver(frame.sparkSession):
        return frame
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() not in _SHUFFLES:
        return frame
    return _of_plan(frame.sparkSession, plan.children().head())


def _of_plan(spark: SparkSession, plan: Any) -> DataFrame:
    from pyspark.sql import DataFrame as Frame

    dataset: Any = spark._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return Frame(dataset.ofRows(spark._jsparkSession, plan), spark)


def exchange_count(frame: DataFrame) -> int:
    """Shuffles in the plan of a frame, its own and those below."""
    if not has_driver(frame.sparkSession):
        return exchanges(plan_text(frame).physical)
    return exchanges(frame._jdf.queryExecution().executedPlan().toString())


def capabilities(spark: SparkSession) -> Capabilities:
    from pyspark.sql import DataFrame

    def is_on(key: str) -> bool:
        return str(spark.conf.get(key, "true")).lower() == "true"

    manager = str(spark.conf.get("spark.shuffle.manager", "sort") or "sort")
    return Capabilities(
        can_place=hasattr(DataFrame, "repartitionById"),
        can_rebalance=is_on("spark.sql.adaptive.enabled")
        and is_on("spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled")
        and not is_hint_disabled(spark),
        can_bin=manager in ("sort", "tungsten-sort") or manager.endswith(".SortShuffleManager"),
    )


def is_hint_disabled(spark: SparkSession) -> bool:
    return str(spark.conf.get("spark.sql.optimizer.disableHints", "false")).lower() == "true"


def count_frame(frame: DataFrame, keys: Sequence[Column]) -> DataFrame:
    from pyspark.sql import functions as F

    return frame.groupBy(*keys).agg(F.count(F.lit(1)).alias("rows"))


def _top_sort(plan: Any, output: Sequence[str]) -> tuple[SortColumn, ...] | None:
    while plan.nodeName() in _UNARY_ABOVE_SORT:
        plan = plan.children().head()
    # `global` is a word of Python's.
    if plan.nodeName() != "Sort" or not getattr(plan, "global")():
        return None
    found = []
    orders = plan.order()
    for index in range(orders.size()):
        order = orders.apply(index)
        child = order.child()
        if child.nodeName() != "AttributeReference" or child.name().lower() not in output:
            return ()
        found.append(
            SortColumn(
                name=str(child.name()),
                is_descending=order.direction().sql() == "DESC",
                nulls_first=order.nullOrdering().sql() == "NULLS FIRST",
            )
        )
    return tuple(found)


def _scan_bytes(plan: Any) -> int:
    """Bytes of what the query reads; a source that does not know its size counts as very large."""
    leaves = plan.collectLeaves()
    sizes = (leaves.apply(index).stats().sizeInBytes() for index in range(leaves.size()))
    return sum(int(str(size)) for size in sizes)
