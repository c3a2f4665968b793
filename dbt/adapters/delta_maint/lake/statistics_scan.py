"""Statistics that footers lack, from the data: only those files, only those columns.

INT96 timestamps and the floats of writers that hide NaN have no bounds in their footers. `statistics: full`
reads them once, grouped by file, and merges the answers into what the footers gave.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from dbt.adapters.delta_maint.core import footer_stats
from dbt.adapters.delta_maint.core.delta_stats import Answer, StatColumn
from dbt.adapters.delta_maint.core.sql_text import identifier

# By file number, then column number.
Scanned = dict[int, dict[int, Answer]]


def scan_statistics(
    spark: Any,
    schema: Mapping[str, Any],
    columns: Sequence[StatColumn],
    missing: Mapping[int, Sequence[int]],
    path_of_file: Mapping[int, str],
    *,
    string_prefix: int,
) -> Scanned:
    """`missing` holds the column numbers each file lacks; files that lack the same are read together."""
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for file, places in missing.items():
        by_columns.setdefault(tuple(places), []).append(file)
    found: Scanned = {}
    for places, files in by_columns.items():
        chosen = [columns[place] for place in places]
        rows = _scan(spark, schema, chosen, [path_of_file[file] for file in files])
        by_path = {_comparable(path_of_file[file]): file for file in files}
        for row in rows:
            file = by_path[_comparable(unquote(row["file"]))]
            for number, (place, column) in enumerate(zip(places, chosen, strict=True)):
                low, high = row[f"low{number}"], row[f"high{number}"]
                found.setdefault(file, {})[place] = (
                    _text(low, column.type_name, string_prefix, is_max=False),
                    _text(high, column.type_name, string_prefix, is_max=True),
                    row[f"nulls{number}"],
                )
    return found


def _scan(
    spark: Any, schema: Mapping[str, Any], columns: Sequence[StatColumn], paths: Sequence[str]
) -> list[Any]:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    tops = {column.path[0] for column in columns}
    fields = [field for field in schema["fields"] if field["name"] in tops]
    wanted = StructType.fromJson({"type": "struct", "fields": fields})
    frame = spark.read.schema(wanted).option("__globPaths__", "false").parquet(*paths)
    answers = []
    for number, column in enumerate(columns):
        value = f.col(".".join(identifier(part) for part in column.path))
        answers.append(f.sum(f.when(value.isNull(), 1).otherwise(0)).alias(f"nulls{number}"))
        for name, chosen in (("low", f.min(value)), ("high", f.max(value))):
            answers.append(_portable(chosen, column.type_name, f).alias(f"{name}{number}"))
    return list(frame.groupBy(f.col("_metadata.file_path").alias("file")).agg(*answers).collect())


def _portable(value: Any, type_name: str, f: Any) -> Any:
    """Times travel as numbers or text: no time zone can bend them on the way."""
    if type_name == "timestamp":
        return f.unix_micros(value)
    if type_name == "timestamp_ntz":
        return f.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS")
    if type_name == "date":
        return f.unix_date(value)
    return value


def _text(value: Any, type_name: str, string_prefix: int, *, is_max: bool) -> str | None:
    if value is None:
        return None
    try:
        if type_name in ("float", "double"):
            return footer_stats.float_text(value, type_name)
        if type_name in footer_stats.INTEGER_ORDER:
            return str(value)
        if type_name.startswith("decimal"):
            return format(value, "f")
        if type_name == "date":
            return json.dumps(footer_stats.date_text(value))
        if type_name == "timestamp":
            return json.dumps(footer_stats.timestamp_text(value // 1_000, is_utc=True))
        if type_name == "timestamp_ntz":
            return json.dumps(value) if len(value) == len("2024-01-01T00:00:00.000") else None
    except (OverflowError, ValueError):
        return None
    cut = footer_stats.cut_max_string(value, string_prefix) if is_max else value[:string_prefix]
    return None if cut is None else json.dumps(cut, ensure_ascii=False)


def _comparable(path: str) -> str:
    """`file:///a`, `file:/a` and `/a` are one path."""
    if path.startswith("file:"):
        return "/" + path[len("file:") :].lstrip("/")
    return path
