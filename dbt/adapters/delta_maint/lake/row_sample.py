"""Bytes per row from the query's own rows: a sample through Arrow, written as parquet in memory.

For a first write, when the table has no files to ask. The rows are runs from the beginning of every
input partition, so that what lies together stays together, as it will in the files, and no part of the
input speaks for the rest. A partition value whose rows are longer or shorter than the others' gets a
figure of its own.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.calibration import Calibration, PartitionValues, from_sample
from dbt.adapters.delta_maint.lake.cores import session_cores
from dbt.adapters.delta_maint.lake.sql_runner import has_driver

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

SAMPLE_ROWS = 100_000
MIN_ROWS = 5_000
ROWS_PER_PARTITION = 256
MAX_ARROW_BYTES = 64 * 1024**2
FEW_DISTINCT_RATIO = 50
# Values with fewer sampled rows are taken for average; so is a difference that could be chance.
TELLING_ROWS = 2_000
MAX_VALUES = 20
TELLING_DIFFERENCE = 0.1
_ROW_BYTES_FLOOR = 64
_LONG_TYPES = ("string", "binary", "array", "map", "struct", "variant")
_KEY = "__delta_maint_key_"
RUNS = 32
_PAGE_ROWS = 20_000


def sample_rows(
    frame: DataFrame, keys: Sequence[Column] = (), *, row_bytes: float = 0.0
) -> pa.Table:
    """Rows of every input partition, and as text what `keys` say about each row.

    `row_bytes` is what a row takes where it is read, if that is known: long rows are sampled less.
    """
    from pyspark.sql import DataFrame as Frame

    named = [key.cast("string").alias(f"{_KEY}{index}") for index, key in enumerate(keys)]
    wanted = frame.select("*", *named)
    spark = frame.sparkSession
    if not has_driver(spark):
        return _sampled_remotely(wanted, row_bytes=row_bytes)
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    # Planned once: the number of its partitions says how many rows of each are wanted.
    found = wanted._jdf.queryExecution().toRdd()
    rows = _wanted_rows(frame, row_bytes)
    each = max(ROWS_PER_PARTITION, math.ceil(rows / max(1, int(found.getNumPartitions()))))
    catalyst = jvm.org.apache.spark.sql.catalyst
    integer = jvm.org.apache.spark.sql.types.DataTypes.IntegerType
    limit = catalyst.expressions.Literal(min(each, rows), integer)
    source = session.internalCreateDataFrame(found, wanted._jdf.schema(), False)
    plan = catalyst.plans.logical.LocalLimit(limit, source.queryExecution().analyzed())
    dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)
    return Frame(dataset, spark).limit(rows).toArrow()


def _sampled_remotely(frame: DataFrame, *, row_bytes: float) -> pa.Table:
    """The beginning of every input partition, known by the numbers that Spark gives to rows.

    Partitions are looked into as they are needed, so a large input is not read as a whole.
    """
    from pyspark.sql import functions as F

    rows = _wanted_rows(frame, row_bytes)
    spark = frame.sparkSession
    parts = 4 * session_cores(spark)
    each = max(ROWS_PER_PARTITION, math.ceil(rows / parts))
    position = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1))
    name = "__delta_maint_position"
    numbered = frame.withColumn(name, position)
    return numbered.where(F.col(name) < each).drop(name).limit(rows).toArrow()


def _wanted_rows(frame: DataFrame, row_bytes: float) -> int:
    fitting = int(MAX_ARROW_BYTES / _estimated_row_bytes(frame, row_bytes))
    return max(MIN_ROWS, min(SAMPLE_ROWS, fitting))


@dataclass(frozen=True)
class ParquetStyle:
    """What the session's parquet writer does that the size of a file depends on."""

    codec: str = "snappy"
    has_int96_timestamps: bool = True


def measure(
    sample: pa.Table, style: ParquetStyle, *, target_bytes: int, extra_bytes_per_row: float = 0.0
) -> Calibration | None:
    """None for a sample without rows. `extra_bytes_per_row` is for columns that were not looked at."""
    if sample.num_rows == 0:
        return None
    keys = [index for index, name in enumerate(sample.column_names) if name.startswith(_KEY)]
    rows = without_keys(sample)
    found = _bytes_per_row(rows, style, target_bytes) + extra_bytes_per_row
    per_value = {}
    for values, part in _large_values(sample, keys):
        # The same number of rows of all values: a dictionary weighs more in a smaller sample.
        step = sample.num_rows / part.num_rows
        control = rows.take([int(index * step) for index in range(part.num_rows)])
        ratio = _parquet_bytes(part, style) / max(1, _parquet_bytes(control, style))
        if abs(ratio - 1) > TELLING_DIFFERENCE:
            per_value[values] = found * ratio
    return from_sample(found, per_value)


def without_keys(sample: pa.Table) -> pa.Table:
    return sample.drop_columns([name for name in sample.column_names if name.startswith(_KEY)])


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


def _bytes_per_row(rows: pa.Table, style: ParquetStyle, target_bytes: int) -> float:
    """Of a file of the target size: what a dictionary costs is shared by all its rows."""
    count, size = rows.num_rows, _parquet_bytes(rows, style)
    if size > target_bytes:
        part = _thinned(rows, min(count, max(500, int(count * target_bytes / size))))
        return _parquet_bytes(part, style) / int(part.num_rows)
    half = _thinned(rows, count // 2)
    if half.num_rows == 0:
        return size / int(count)
    # Beyond the sample every row costs what its second half added to the first.
    added = max((size - _parquet_bytes(half, style)) / (count - half.num_rows), size / count / 4)
    return target_bytes / float(count + (target_bytes - size) / max(added, 0.01))


def _thinned(rows: pa.Table, wanted: int) -> pa.Table:
    """So many rows, in runs from all over the sample: its beginning may be unlike its end."""
    import pyarrow as pa

    runs = max(1, min(RUNS, wanted))
    bounds = [index * rows.num_rows // runs for index in range(runs)]
    each = [wanted * (index + 1) // runs - wanted * index // runs for index in range(runs)]
    return pa.concat_tables(
        [rows.slice(start, length) for start, length in zip(bounds, each, strict=True)]
    )


def _large_values(sample: pa.Table, keys: Sequence[int]) -> list[tuple[PartitionValues, pa.Table]]:
    """The partition values with most rows in the sample, each with its rows."""
    import pyarrow.compute as pc

    if not keys:
        return []
    names = [sample.column_names[index] for index in keys]
    counted = sample.select(names).group_by(names).aggregate([([], "count_all")])
    telling = max(TELLING_ROWS, sample.num_rows // 100)
    largest = counted.filter(pc.field("count_all") >= telling)
    if counted.num_rows == 1:
        return []
    found = []
    for row in largest.sort_by([("count_all", "descending")]).slice(0, MAX_VALUES).to_pylist():
        mask = None
        for name in names:
            value = row[name]
            column = sample.column(name)
            here = pc.is_null(column) if value is None else pc.equal(column, value)
            here = pc.fill_null(here, False)
            mask = here if mask is None else pc.and_(mask, here)
        values = tuple(row[name] or None for name in names)
        found.append((values, sample.filter(mask).drop_columns(names)))
    return found


def _parquet_bytes(table: pa.Table, style: ParquetStyle) -> int:
    import pyarrow.parquet as pq

    if table.num_rows == 0:
        return 0
    target = io.BytesIO()
    named = table.rename_columns([f"c{index}" for index in range(table.num_columns)])
    # parquet-mr gives a dictionary up to 1 MiB per column.
    pq.write_table(
        named,
        target,
        compression=_arrow_codec(style.codec),
        use_dictionary=_dictionary_paths(named),
        dictionary_pagesize_limit=1024**2,
        use_deprecated_int96_timestamps=style.has_int96_timestamps,
    )
    return target.tell()


def _dictionary_paths(table: pa.Table) -> list[str]:
    """The leaves of the columns that get a dictionary, as parquet names them."""
    import pyarrow.parquet as pq

    paying = {name for name in table.column_names if _pays_for_dictionary(table.column(name))}
    empty = io.BytesIO()
    pq.write_table(table.slice(0, 0), empty)
    schema = pq.ParquetFile(empty).schema
    paths = (schema.column(index).path for index in range(len(schema)))
    return [path for path in paths if path.split(".")[0] in paying]


def _pays_for_dictionary(column: pa.ChunkedArray) -> bool:
    """parquet-mr looks at its first page and writes plain values where a dictionary saves nothing."""
    import pyarrow.compute as pc

    if _is_nested(column.type):
        return True
    page = column.slice(0, _PAGE_ROWS)
    try:
        distinct = pc.unique(page.combine_chunks())
    except (NotImplementedError, TypeError, ValueError):  # a type that Arrow cannot compare
        return True
    bits = max(1, math.ceil(math.log2(max(2, len(distinct)))))
    return bool(distinct.nbytes + len(page) * bits / 8 < page.nbytes)


def _arrow_codec(codec: str) -> str:
    known = {"uncompressed": "none", "none": "none", "lz4raw": "lz4", "lz4_raw": "lz4"}
    name = known.get(codec.lower(), codec.lower())
    return name if name in ("none", "snappy", "gzip", "brotli", "lz4", "zstd") else "snappy"


def _estimated_row_bytes(frame: DataFrame, row_bytes: float) -> float:
    """In Arrow, where nothing is compressed. Only rows with a text, or the like, can be long."""
    kinds = [field.dataType.simpleString() for field in frame.schema.fields]
    fixed = max(_ROW_BYTES_FLOOR, 16 * len(kinds))
    can_be_long = any(kind.startswith(_LONG_TYPES) for kind in kinds)
    return max(fixed, 3 * row_bytes) if can_be_long else fixed


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind))
