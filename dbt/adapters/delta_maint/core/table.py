"""The facts about one Delta table at one version, as its log tells them.

Plain values: nothing here knows where they were read. A partition key holds the raw strings of the
log, in the order of the table's partition columns; Spark writes '' as null, so both are None here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PartitionKey = tuple[str | None, ...]

UNPARTITIONED: PartitionKey = ()
CATALOG_MANAGED_FEATURES = frozenset({"catalogManaged", "catalogOwned", "catalogOwned-preview"})
CLUSTERING_DOMAIN = "delta.clustering"


def partition_key(raw_values: Iterable[str | None]) -> PartitionKey:
    return tuple(value or None for value in raw_values)


@dataclass(frozen=True, slots=True)
class DataFile:
    """One live file. `path` is None where the reader was not asked for paths."""

    size_bytes: int
    partition: PartitionKey = UNPARTITIONED
    num_records: int | None = None
    deleted_rows: int = 0
    has_deletion_vector: bool = False
    modified_ms: int = 0
    clustering_provider: str | None = None
    zcube_id: str | None = None
    path: str | None = None
    deletion_vector_id: str | None = None

    @property
    def deleted_rows_ratio(self) -> float:
        """Share of the file's rows that a deletion vector hides; 0 where it is not known."""
        return self.deleted_rows / self.num_records if self.num_records else 0.0

    @property
    def live_rows(self) -> int | None:
        return None if self.num_records is None else self.num_records - self.deleted_rows


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """`name` is what users and SQL say, `physical_name` is the key in the log."""

    name: str
    physical_name: str
    sql_type: str


@dataclass(frozen=True)
class Protocol:
    min_reader: int = 1
    min_writer: int = 2
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()

    @property
    def features(self) -> frozenset[str]:
        return self.reader_features | self.writer_features


@dataclass(frozen=True)
class Commit:
    """What one commit says about itself; `is_blind_append` is None where the writer said nothing.

    `app_id` is that of a streaming query, or of another idempotent writer.
    """

    version: int
    timestamp_ms: int
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    is_blind_append: bool | None = None
    user_metadata: str | None = None
    engine: str | None = None
    app_id: str | None = None

    def metric(self, name: str) -> int:
        try:
            return int(self.metrics.get(name, 0))
        except (TypeError, ValueError):
            return 0


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """Files that one commit added to one partition, rearranged ones apart from new data."""

    version: int
    partition: PartitionKey
    files: int
    size_bytes: int
    data_change: bool


@dataclass(frozen=True)
class StreamWriter:
    """A streaming query (or another idempotent writer) that has committed to the table."""

    app_id: str
    version: int
    last_updated_ms: int | None


@dataclass(frozen=True)
class Snapshot:
    """One version of a table. `added` covers the commits after `since_version`, where one was asked for."""

    version: int
    location: str
    table_id: str
    protocol: Protocol
    partition_columns: tuple[PartitionColumn, ...]
    properties: Mapping[str, str]
    schema_json: str
    clustering_columns: tuple[str, ...]
    files: Sequence[DataFile]
    commits: tuple[Commit, ...] = ()
    stream_writers: tuple[StreamWriter, ...] = ()
    added: tuple[AddedFiles, ...] = ()
    since_version: int | None = None

    @property
    def total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def is_clustered(self) -> bool:
        return bool(self.clustering_columns)

    @property
    def catalog_managed_feature(self) -> str | None:
        found = sorted(self.protocol.features & CATALOG_MANAGED_FEATURES)
        return found[0] if found else None

    def by_partition(self) -> dict[PartitionKey, list[DataFile]]:
        grouped: dict[PartitionKey, list[DataFile]] = {}
        for file in self.files:
            grouped.setdefault(file.partition, []).append(file)
        return grouped

    def describe_partition(self, key: PartitionKey) -> str:
        """A name for people, never for SQL."""
        if not self.partition_columns:
            return "all"
        return ", ".join(
            f"{column.name}={'null' if value is None else value}"
            for column, value in zip(self.partition_columns, key, strict=True)
        )


def partition_columns_of(
    schema_json: str, partition_columns: Sequence[str]
) -> tuple[PartitionColumn, ...]:
    """Logical and physical names and SQL types of the partition columns, from the metaData action."""
    fields = {f["name"]: f for f in json.loads(schema_json)["fields"]} if partition_columns else {}
    lowered = {name.lower(): f for name, f in fields.items()}
    found = []
    for name in partition_columns:
        column = fields.get(name) or lowered[name.lower()]
        physical = column.get("metadata", {}).get(
            "delta.columnMapping.physicalName", column["name"]
        )
        found.append(PartitionColumn(column["name"], physical, _sql_type(column["type"])))
    return tuple(found)


def _sql_type(log_type: Any) -> str:
    """Partition columns are of atomic types, whose names in the log SQL mostly shares."""
    names = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
    return names.get(str(log_type), str(log_type))
