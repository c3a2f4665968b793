"""What a conversion is asked for, and what it plans and reports: plain data, made once and printed anywhere.

The plan is the dry run and the report: the same object, before and after the commit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn

ALREADY_DELTA = "The table you are trying to convert is already a delta table"
TINY_FILE_BYTES = 8 * 1024**2
MANY_FILES = 50
LARGE_LOG_BYTES = 200 * 1024**2


@dataclass(frozen=True)
class ConvertRequest:
    """One folder or table to convert. `table` is (catalog, schema, name), `path` a location."""

    path: str | None = None
    table: tuple[str | None, str, str] | None = None
    # Name and type of each column; a type of None is inferred.
    partition_by: tuple[tuple[str, str | None], ...] | None = None
    statistics: str = "footer"
    engine: str = "auto"
    dry_run: bool = False
    on_bad_file: str = "fail"
    accept_vacuum_loss: bool = False
    properties: tuple[tuple[str, str], ...] = ()
    schema_mode: str | None = None
    widen_types: bool = False
    mode: str = "in_place"
    snapshot_path: str | None = None
    register_as: tuple[str | None, str, str] | None = None
    schema_batch_size: int | None = None
    stats_batch_size: int | None = None

    @property
    def is_snapshot(self) -> bool:
        return self.mode == "snapshot"


@dataclass(frozen=True)
class RejectedFile:
    path: str
    reason: str
    size_bytes: int = 0


@dataclass(frozen=True)
class ColumnCoverage:
    """For how many files the log will hold a column's least and greatest value."""

    name: str
    type_text: str
    files_with_bounds: int


@dataclass(frozen=True)
class ConversionPlan:
    target: str
    root: str
    log_root: str
    engine: str
    engine_reason: str
    outcome: str = "planned"
    files: int = 0
    bytes: int = 0
    rows: int = 0
    distinct_schemas: int = 0
    schema: dict[str, Any] = field(default_factory=dict)
    partition_columns: tuple[PartitionColumn, ...] = ()
    partitions: int = 0
    statistics: str = "footer"
    coverage: tuple[ColumnCoverage, ...] = ()
    rejected: tuple[RejectedFile, ...] = ()
    unlisted: tuple[str, ...] = ()
    log_bytes: int = 0
    min_reader_version: int = 0
    min_writer_version: int = 0
    features: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    version: int | None = None
    catalog_entry: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
