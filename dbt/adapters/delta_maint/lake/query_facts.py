"""What a query's plans tell before it runs. Plans are made, nothing is executed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.write_choice import Capabilities, QueryFacts, SortColumn

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Operators a counting pass would repeat at a cost near the query's own. A sort or a window that the
# count does not need has left its plan already.
_HEAVY = re.compile(
    r"\b(SortMergeJoin|ShuffledHashJoin|BroadcastNestedLoopJoin|CartesianProduct|Window|"
    r"BatchEvalPython|ArrowEvalPython|MapInPandas|MapInArrow|FlatMapGroupsIn\w+|FlatMapCoGroupsIn\w+|"
    r"MapPartitions|DeserializeToObject|JDBCRelation|TakeOrderedAndProject|Sort)\b"
)
_MULTIPLIES = re.compile(
    r"\b(Generate|BroadcastNestedLoopJoin|CartesianProduct|MapIn\w+|FlatMap\w+)\b"
)
SHUFFLED = "an aggregation or a shuffle"
_EXCHANGE = re.compile(r"^[\s:|+*()\d-]*Exchange (\w+)", re.MULTILINE)
_UNARY_ABOVE_SORT = {"Project", "Filter", "SubqueryAlias", "View"}
_SHUFFLES = {"Repartition", "RepartitionByExpression", "RebalancePartitions"}


def inspect(frame: DataFrame, bare: DataFrame, keys: Sequence[Column]) -> QueryFacts:
    """The facts of a query; `bare` are its rows, and `keys` what they would be counted by."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    count = count_frame(bare, keys)
    is_deterministic = bool(plan.deterministic())
    random_columns: tuple[str, ...] = ()
    if not is_deterministic and _is_deterministic(count):
        # Which rows there are, and where they go, does not depend on chance: only some of their columns do.
        is_deterministic, random_columns = True, _random_columns(bare)
    text = count._jdf.queryExecution().executedPlan().toString()
    heavy = _heavy_operators(text)
    return QueryFacts(
        is_deterministic=is_deterministic,
        random_columns=random_columns,
        heavy_operators=heavy,
        has_stages=SHUFFLED in heavy,
        may_multiply=_MULTIPLIES.search(text) is not None,
        scan_bytes=_scan_bytes(plan),
        sort=_top_sort(plan, [name.lower() for name in frame.columns]),
    )


def evaluated(frame: DataFrame) -> DataFrame:
    """The same rows, computed now up to their last shuffle: every use starts from what that shuffle wrote."""
    from pyspark.sql import DataFrame as Frame

    spark = frame.sparkSession
    rows = frame._jdf.queryExecution().toRdd()
    session: Any = spark._jsparkSession
    return Frame(session.internalCreateDataFrame(rows, frame._jdf.schema(), False), spark)


def reads_table(frame: DataFrame, location: str) -> bool:
    """Whether the query reads the table at a location."""
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
    return bool(frame._jdf.queryExecution().optimizedPlan().deterministic())


def _random_columns(frame: DataFrame) -> tuple[str, ...]:
    from pyspark.sql import functions as F

    return tuple(
        name
        for name in frame.columns
        if not _is_deterministic(frame.select(F.col(identifier(name))))
    )


def unarranged(frame: DataFrame, *, keeps_sort: bool) -> DataFrame:
    """The same rows without the repartition, and perhaps the sort, that the query ends with."""
    from pyspark.sql import DataFrame as Frame

    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() not in _SHUFFLES and (keeps_sort or plan.nodeName() != "Sort"):
        return frame
    spark = frame.sparkSession
    dataset: Any = spark._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return Frame(dataset.ofRows(spark._jsparkSession, plan.children().head()), spark)


def _heavy_operators(text: str) -> tuple[str, ...]:
    found = sorted(set(_HEAVY.findall(text)))
    # One exchange is the count's own.
    if len(_EXCHANGE.findall(text)) > 1:
        found.append(SHUFFLED)
    return tuple(found)


def exchange_count(frame: DataFrame) -> int:
    """Shuffles in the plan of a frame, its own and those below."""
    return len(_EXCHANGE.findall(frame._jdf.queryExecution().executedPlan().toString()))


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
