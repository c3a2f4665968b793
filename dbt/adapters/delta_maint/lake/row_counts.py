"""The counting pass: rows per partition value, or per input task. Only the columns it needs are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.calibration import Calibration, PartitionValues
from dbt.adapters.delta_maint.core.placement import ValueRows
from dbt.adapters.delta_maint.lake.placed_rows import range_steps, value_hash

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RangeSteps = dict[int, Sequence[float] | None]


@dataclass(frozen=True)
class CountedRows:
    """Rows per partition value, and how the values' hashes, labels and percentiles are."""

    keys: tuple[int, ...]
    rows: tuple[int, ...]
    partitions: tuple[PartitionValues, ...]
    steps: RangeSteps

    @property
    def total(self) -> int:
        return sum(self.rows)

    def sized(self, calibration: Calibration) -> list[ValueRows]:
        return [
            ValueRows(
                key,
                rows,
                calibration.of(partition),
                "/".join("null" if value is None else str(value) for value in partition),
            )
            for key, rows, partition in zip(self.keys, self.rows, self.partitions, strict=True)
        ]


def count_values(
    frame: DataFrame,
    keys: Sequence[Column],
    *,
    range_key: Column | None = None,
) -> CountedRows:
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
    found = shown.to_pylist()
    return CountedRows(
        keys=tuple(int(row["key"]) for row in found),
        rows=tuple(int(row["rows"]) for row in found),
        partitions=tuple(tuple(row[name] or None for name in names) for row in found),
        steps={int(row["key"]): row.get("steps") for row in found},
    )


def count_tasks(frame: DataFrame) -> dict[int, int]:
    from pyspark.sql import functions as F

    counted = frame.groupBy(F.spark_partition_id().alias("task")).count().toArrow()
    return {int(row["task"]): int(row["count"]) for row in counted.to_pylist()}
