"""Is the table that was committed the table that was planned? Read back, and taken back if it is not."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
from dbt.adapters.delta_maint.core.conversion import ConversionPlan
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.lake.file_access import DELTA_LOG, TableFiles
from dbt.adapters.delta_maint.lake.jvm_delta import CommittedTable

CHECKPOINT = f"{DELTA_LOG}/{0:020}.checkpoint.parquet"
FILES_OF_A_SMALL_CHECKPOINT = 50_000
_ROWS = re.compile(r'"numRecords":(\d+)')


def refuse_difference(plan: ConversionPlan, table: CommittedTable, log_files: TableFiles) -> None:
    if table.files != plan.files:
        raise ConversionError(
            f"Delta reads {table.files:,} files of {plan.root} where {plan.files:,} were "
            "converted: the conversion was taken back."
        )
    names = [field["name"] for field in table.schema["fields"]]
    if names != [field["name"] for field in plan.schema["fields"]]:
        raise ConversionError(
            f"Delta reads the columns {names} of {plan.root}, which are not the planned ones: "
            "the conversion was taken back."
        )
    rows = None if plan.statistics == "none" else checkpointed_rows(log_files, plan.files)
    if rows is not None and rows != plan.rows:
        raise ConversionError(
            f"The log of {plan.root} holds {rows:,} rows where its files have {plan.rows:,}: the "
            "conversion was taken back."
        )


def checkpointed_rows(log_files: TableFiles, files: int) -> int | None:
    """Rows of all files as Delta's checkpoint has them; None if it is of another kind, or too far away."""
    if not log_files.exists(CHECKPOINT):
        return None
    if log_files.scheme == "file":
        return _rows_in(pa.OSFile(log_files.absolute(CHECKPOINT), "rb"))
    if files > FILES_OF_A_SMALL_CHECKPOINT:
        return None
    return _rows_in(pa.BufferReader(log_files.read_bytes(CHECKPOINT)))


def _rows_in(source: pa.NativeFile) -> int | None:
    with source, pq.ParquetFile(source) as checkpoint:
        rows = 0
        for batch in checkpoint.iter_batches(columns=["add.path", "add.stats"]):
            if "add" not in batch.schema.names or batch.schema.field("add").type.num_fields < 2:
                return None
            adds = batch.column("add")
            texts = adds.field("stats").to_pylist()
            paths = adds.field("path").to_pylist()
            for path, text in zip(paths, texts, strict=True):
                found = _ROWS.search(text or "")
                if path is not None and found is None:
                    return None
                rows += int(found.group(1)) if found else 0
        return rows
