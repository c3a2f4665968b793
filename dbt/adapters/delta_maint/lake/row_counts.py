"""The counting pass: rows per partition value, or per input task. Only the columns it needs are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.calibration import Calibration
from dbt.adapters.delta_maint.core.placement import ValueRows
from dbt.adapters.delta_maint.lake.placed_rows import range_steps, value_hash

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RangeSteps = dict[int, Sequence[float] | None]


def count_values(
    frame: DataFrame,
    keys: Sequence[Column],
    calibration: Calibration,
    *,
    range_key: Column | None = None,
) -> tuple[list[ValueRows], RangeSteps]:
    """Rows of every partition value and, with `range_key`, its percentiles within the value."""
    from pyspark.sql import functions as F

    names = [f"k{index}" for index in range(len(keys))]
    wanted = [F.count(F.lit(1)).alias("rows")]
    if range_key is not None:
        wanted.append(range_steps(range_key).alias("steps"))
    named = [key.alias(name) for key, name in zip(keys, names, strict=True)]
    counted = frame.groupBy(*named).agg(*wanted)
    shown = counted.select(
        value_hash([F.col(name) for name in names]).alias("key"),
        *[F.col(name).cast("string") for name in names],
        *counted.columns[len(names) :],
    ).toArrow()
    values: list[ValueRows] = []
    steps: RangeSteps = {}
    for row in shown.to_pylist():
        partition = tuple(row[name] or None for name in names)
        label = "/".join("null" if value is None else str(value) for value in partition)
        values.append(
            ValueRows(int(row["key"]), int(row["rows"]), calibration.of(partition), label)
        )
        steps[int(row["key"])] = row.get("steps")
    return values, steps


def count_tasks(frame: DataFrame) -> dict[int, int]:
    from pyspark.sql import functions as F

    counted = frame.groupBy(F.spark_partition_id().alias("task")).count().toArrow()
    return {int(row["task"]): int(row["count"]) for row in counted.to_pylist()}
