"""Bytes per row from the query's own rows: a sample through Arrow, written as parquet in memory.

For a first write, when the table has no files to ask. The rows are runs from the beginning of several
input partitions, so that what lies together stays together, as it will in the files.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.calibration import Calibration, from_sample

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SAMPLE_ROWS = 100_000
ROWS_PER_PARTITION = 25_000
MAX_ARROW_BYTES = 64 * 1024**2
FEW_DISTINCT_RATIO = 50
_ROW_BYTES_FLOOR = 64


def sample_rows(frame: DataFrame) -> pa.Table:
    from pyspark.sql import DataFrame as Frame

    rows = max(1_000, min(SAMPLE_ROWS, MAX_ARROW_BYTES // _estimated_row_bytes(frame)))
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    catalyst = jvm.org.apache.spark.sql.catalyst
    integer = jvm.org.apache.spark.sql.types.DataTypes.IntegerType
    limit = catalyst.expressions.Literal(min(ROWS_PER_PARTITION, rows), integer)
    plan = catalyst.plans.logical.LocalLimit(limit, frame._jdf.queryExecution().analyzed())
    dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)
    return Frame(dataset, spark).limit(rows).toArrow()


def measure(sample: pa.Table, codec: str) -> Calibration | None:
    """None for a sample without rows."""
    if sample.num_rows == 0:
        return None
    half = sample.slice(0, sample.num_rows // 2)
    return from_sample(
        half_bytes=_parquet_bytes(half, codec),
        half_rows=half.num_rows,
        full_bytes=_parquet_bytes(sample, codec),
        full_rows=sample.num_rows,
    )


def has_few_distinct_rows(sample: pa.Table) -> bool:
    """Whether a hash of the rows could not spread them: a handful of rows, repeated."""
    plain = [
        index
        for index, column in enumerate(sample.schema)
        if not _is_nested(column.type) and str(column.type) != "null"
    ]
    if sample.num_rows < 1_000 or not plain:
        return not plain and sample.num_rows > 0
    names = [f"c{index}" for index in range(sample.num_columns)]
    table = sample.rename_columns(names).select([names[index] for index in plain])
    distinct = table.group_by(table.column_names).aggregate([]).num_rows
    return bool(sample.num_rows / max(1, distinct) > FEW_DISTINCT_RATIO)


def _parquet_bytes(table: pa.Table, codec: str) -> int:
    import pyarrow.parquet as pq

    if table.num_rows == 0:
        return 0
    target = io.BytesIO()
    # parquet-mr gives a dictionary up to 1 MiB per column and writes INT96 timestamps unless told not to.
    pq.write_table(
        table, target, compression=_arrow_codec(codec), dictionary_pagesize_limit=1024**2
    )
    return target.tell()


def _arrow_codec(codec: str) -> str:
    known = {"uncompressed": "none", "none": "none", "lz4raw": "lz4", "lz4_raw": "lz4"}
    name = known.get(codec.lower(), codec.lower())
    return name if name in ("none", "snappy", "gzip", "brotli", "lz4", "zstd") else "snappy"


def _estimated_row_bytes(frame: DataFrame) -> int:
    return max(_ROW_BYTES_FLOOR, 16 * len(frame.columns))


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind))
