"""The table a write goes to, as far as the write needs to know it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.calibration import (
    Calibration,
    PastWrite,
    SizedFile,
    from_table,
)
from dbt.adapters.delta_maint.core.sizes import target_file_bytes
from dbt.adapters.delta_maint.core.table import Snapshot
from dbt.adapters.delta_maint.lake import placed_rows
from dbt.adapters.delta_maint.lake.inventory import read_snapshot
from dbt.adapters.delta_maint.lake.query_facts import reads_table
from dbt.adapters.delta_maint.lake.recent_writes import recent_writes
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Reading the whole log for one number is not worth more than this.
MAX_FILES_TO_READ = 200_000


@dataclass
class WriteTarget:
    """`location` is None for a table that does not exist yet."""

    partition_columns: tuple[str, ...] = ()
    location: str | None = None
    table_bytes: int = 0
    table_files: int = 0
    _snapshot: Snapshot | None = None

    @classmethod
    def existing(
        cls, spark: SparkSession, name: str, *, partition_columns: Sequence[str] | None = None
    ) -> WriteTarget | None:
        """`name` is SQL text; `partition_columns` of a table that is about to be replaced.

        None for a table that is not Delta.
        """
        detail = spark.sql(f"describe detail {name}").first()
        if detail is None or detail["format"] != "delta":
            return None
        found = detail["partitionColumns"] if partition_columns is None else partition_columns
        return cls(
            tuple(found),
            str(detail["location"]),
            int(detail["sizeInBytes"] or 0),
            int(detail["numFiles"] or 0),
        )

    def file_bytes(self, pinned: int | None) -> int:
        return target_file_bytes(pinned, self.table_bytes)

    def partition_keys(self, frame: DataFrame) -> list[Column]:
        """The partition columns of the rows; a generated one is computed as Delta will compute it."""
        from pyspark.sql import functions as F

        offered = {name.lower() for name in frame.columns}
        keys = []
        for name in self.partition_columns:
            if name.lower() in offered:
                keys.append(placed_rows.column(name))
                continue
            expression = self._generation(frame.sparkSession, name)
            if expression is not None:
                keys.append(F.expr(expression))
        return keys

    def is_read_by(self, frame: DataFrame) -> bool:
        return self.location is not None and reads_table(frame, self.location)

    def past_writes(self, spark: Any) -> list[PastWrite]:
        return recent_writes(spark, self.location) if self.location else []

    def calibrate(
        self,
        spark: Any,
        past: Sequence[PastWrite],
        *,
        fingerprint: str,
        target_bytes: int,
    ) -> Calibration | None:
        """From our own recent commits; only a table that has none is read as a whole."""
        live: list[SizedFile] = [
            file for write in past if write.fingerprint == fingerprint for file in write.files
        ]
        if not past and self.location and 0 < self.table_files <= MAX_FILES_TO_READ:
            live = [
                SizedFile(file.partition, file.size_bytes, file.num_records or 0)
                for file in self._read(spark, self.location).files
            ]
        return from_table(
            live_files=live, past_writes=past, fingerprint=fingerprint, target_bytes=target_bytes
        )

    def _generation(self, spark: Any, name: str) -> str | None:
        if self.location is None:
            return None
        fields: list[dict[str, Any]] = json.loads(self._read(spark, self.location).schema_json)[
            "fields"
        ]
        for column in fields:
            if column["name"].lower() == name.lower():
                found = column.get("metadata", {}).get("delta.generationExpression")
                return None if found is None else str(found)
        return None

    def _read(self, spark: Any, location: str) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = read_snapshot(SessionSql(spark), location)
        return self._snapshot
