"""The lines of version 0 that a conversion writes: metaData, and one add per file.

Protocol and commitInfo are Delta's own; it also fills in table defaults when it is handed the metaData.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_one_line = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class AddFile:
    """A data file as the log names it: `path` is already a URI, relative or absolute."""

    path: str
    partition_values: Mapping[str, str | None]
    size_bytes: int
    modified_ms: int
    stats: str | None = None


def add_line(file: AddFile) -> str:
    action: dict[str, Any] = {
        "path": file.path,
        "partitionValues": dict(file.partition_values),
        "size": file.size_bytes,
        "modificationTime": file.modified_ms,
        "dataChange": True,
    }
    if file.stats is not None:
        action["stats"] = file.stats
    return _one_line({"add": action})


def metadata_line(
    *,
    table_id: str,
    schema: Mapping[str, Any],
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
    created_ms: int,
) -> str:
    action = {
        "id": table_id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _one_line(schema),
        "partitionColumns": list(partition_columns),
        "configuration": dict(configuration),
        "createdTime": created_ms,
    }
    return _one_line({"metaData": action})
