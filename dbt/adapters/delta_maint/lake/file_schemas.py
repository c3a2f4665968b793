"""Spark's schema for each distinct footer, and the table schema they make together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dbt.adapters.delta_maint.core.conversion import RejectedFile
from dbt.adapters.delta_maint.core.errors import SchemaMergeError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.schema_merge import FileSchema, Struct
from dbt.adapters.delta_maint.lake.footers import Footers, in_threads
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

SCHEMA_THREADS = 4
CHECKED_SCHEMAS = 20


def file_schemas(
    spark: Any, footers: Footers, paths: Sequence[str], labels: Sequence[str]
) -> tuple[list[FileSchema], list[RejectedFile]]:
    """One schema per distinct footer, in path order, and files whose types Spark does not know.

    Spark leaves its own schema in the files it writes and believes it when it reads them; so do we.
    Other footers are shown to Spark, one file for each.
    """
    ordered = sorted(footers.schemas, key=lambda schema: schema.first_file)

    def read(schema: Any) -> FileSchema | RejectedFile:
        label = labels[schema.first_file]
        _refuse_case_clash(schema, label)
        if schema.spark_json is not None:
            try:
                struct = json.loads(schema.spark_json)
                if isinstance(struct, dict) and struct.get("type") == "struct":
                    return FileSchema(label, struct)
            except ValueError:
                pass
        try:
            # A file name may hold what looks like a pattern.
            found = spark.read.option("__globPaths__", "false").parquet(paths[schema.first_file])
            return FileSchema(label, json.loads(found.schema.json()))
        except Exception as exc:  # Spark has many errors for a type it cannot read
            reason = telling_sentence(exc).splitlines()[0]
            return RejectedFile(label, f"Spark cannot read its types ({reason})")

    found = in_threads(read, ordered, SCHEMA_THREADS) if ordered else []
    return (
        [schema for schema in found if isinstance(schema, FileSchema)],
        [file for file in found if isinstance(file, RejectedFile)],
    )


def _refuse_case_clash(schema: Any, label: str) -> None:
    """Spark's own error for it names neither the file nor both columns."""
    names = list(dict.fromkeys(path[0] for path, _, _ in schema.columns))
    known = {name.lower(): name for name in names}
    for name in names:
        other = known[name.lower()]
        if other != name:
            raise SchemaMergeError(
                f"[DELTA_DUPLICATE_COLUMNS_FOUND] Columns {name} and {other} of the file {label} "
                "differ by case alone, which Spark cannot tell apart: rename one."
            )


def check_readable(
    spark: Any,
    footers: Footers,
    paths: Sequence[str],
    labels: Sequence[str],
    table_schema: Struct,
    partitions: Sequence[PartitionColumn],
) -> None:
    """Reads one row of a file of each schema as the table will: a type that does not fit shows here."""
    from pyspark.sql.types import StructType

    names = {column.name.lower() for column in partitions}
    fields = [field for field in table_schema["fields"] if field["name"].lower() not in names]
    schema = StructType.fromJson({"type": "struct", "fields": fields})

    def check(distinct: Any) -> str | None:
        path = paths[distinct.first_file]
        try:
            spark.read.schema(schema).option("__globPaths__", "false").parquet(path).head(1)
        except Exception as exc:  # whatever Spark says about the file, it is the finding
            reason = telling_sentence(exc).splitlines()[0]
            return f"{labels[distinct.first_file]}: {reason}"
        return None

    chosen = sorted(footers.schemas, key=lambda found: found.first_file)[:CHECKED_SCHEMAS]
    faults = [fault for fault in in_threads(check, chosen, SCHEMA_THREADS) if fault]
    if faults:
        raise SchemaMergeError(
            "Spark cannot read these files with the table's schema: " + "; ".join(faults)
        )
