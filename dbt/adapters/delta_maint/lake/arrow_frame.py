"""An Arrow table as a DataFrame, also one without rows, whose types a server would not guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.lake.sql_runner import has_driver

if TYPE_CHECKING:
    import pyarrow as pa


def frame_of_arrow(spark: Any, table: pa.Table) -> Any:
    if table.num_rows or has_driver(spark):
        return spark.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))
