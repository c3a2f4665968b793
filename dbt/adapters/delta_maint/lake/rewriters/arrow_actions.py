"""New and old files of a rewrite as the actions and the metrics of an OPTIMIZE commit."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterator
from typing import Any

from dbt.adapters.delta_maint.lake.rewriters.arrow_job import NewFile


def write_actions(new_files: Collection[NewFile], *, now_ms: int) -> str:
    """The path of a file with one action per line; the caller removes it."""
    handle, path = tempfile.mkstemp(prefix="delta_maint-rewrite-", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
        for action in _actions(new_files, now_ms):
            out.write(json.dumps(action, ensure_ascii=False, separators=(",", ":")) + "\n")
    return path


def commit_metrics(new_files: Collection[NewFile]) -> dict[str, int]:
    """Under the names that OPTIMIZE gives them; percentiles by nearest rank, as Delta takes them."""
    sizes = sorted(new.size_bytes for new in new_files if new.rows)
    metrics = {
        "numAddedFiles": len(sizes),
        "numRemovedFiles": sum(len(new.bin.files) for new in new_files),
        "numAddedBytes": sum(sizes),
        "numRemovedBytes": sum(new.bin.size_bytes for new in new_files),
        "numDeletionVectorsRemoved": 0,
    }
    if sizes:
        metrics |= {
            "minFileSize": sizes[0],
            "p25FileSize": sizes[len(sizes) // 4],
            "p50FileSize": sizes[len(sizes) // 2],
            "p75FileSize": sizes[len(sizes) * 3 // 4],
            "maxFileSize": sizes[-1],
        }
    return metrics


def _actions(new_files: Collection[NewFile], now_ms: int) -> Iterator[dict[str, Any]]:
    for new in new_files:
        if new.rows:
            yield {
                "add": {
                    "path": new.log_path,
                    "partitionValues": dict(new.bin.files[0].partition_values),
                    "size": new.size_bytes,
                    "modificationTime": new.modified_ms,
                    "dataChange": False,
                    "stats": new.stats,
                    "tags": None,
                }
            }
        for file in new.bin.files:
            remove = {
                "path": file.path,
                "deletionTimestamp": now_ms,
                "dataChange": False,
                "extendedFileMetadata": True,
                "partitionValues": dict(file.partition_values),
                "size": file.size_bytes,
                "tags": None,
            }
            if file.num_records is not None:
                remove["stats"] = json.dumps(
                    {"numRecords": file.num_records}, separators=(",", ":")
                )
            yield {"remove": remove}
