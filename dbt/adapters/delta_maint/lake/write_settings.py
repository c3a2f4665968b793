"""The Spark and Delta settings of one write, as the session takes them."""

from __future__ import annotations

import math

MIB = 1024**2
ROW_CAP = "spark.sql.files.maxRecordsPerFile"
OPTIMIZE_WRITE = "spark.databricks.delta.optimizeWrite.enabled"
OPEN_FILES = "spark.sql.maxConcurrentOutputFileWriters"
# Every column of every open file has buffers of its own.
MAX_OPEN_COLUMNS = 2_000
MAX_OPEN_BYTES = 256 * MIB
# Delta's bins hold few partition values: only those whose hashes meet.
VALUES_PER_BIN = 8
# Delta would shuffle once more what has just been placed.
PLACED = {OPTIMIZE_WRITE: "false"}

MAX_REDUCERS = 2_000
MIN_REDUCERS = 32
DEFAULT_REDUCERS = 200
MAX_ADVISORY_BYTES = 1024 * MIB
# Spark says 8 EiB of a source whose size it does not know.
UNKNOWN_BYTES = 1024**5
# Spark fills a task to about nine tenths of the advisory size.
_FILL = 1.1


def row_cap(rows: float, users: str | None) -> dict[str, str]:
    """A belt: no file grows far beyond its plan, whatever the rows turn out to be."""
    own = int(users or 0)
    cap = max(1, math.ceil(rows)) if rows > 0 else 0
    if own > 0:
        cap = min(cap, own) if cap else own
    return {ROW_CAP: str(cap)}


def open_files(values_per_task: int, *, columns: int, target_bytes: int) -> dict[str, str]:
    """Settings that let a task write all its files at once, so that its rows need no sort; empty: they do.

    Only where that many files may be open: a wide table with many small values sorts, and so does one
    whose target is large, because an open file stays in memory. A task that meets more values than were
    counted sorts the rest of its rows, which Spark sees to.
    """
    is_much = values_per_task * columns > MAX_OPEN_COLUMNS or target_bytes > MAX_OPEN_BYTES
    if values_per_task > 1 and is_much:
        return {}
    return {OPEN_FILES: str(max(1, values_per_task))}


def rebalance(target_bytes: int, ratio: float, *, small_factor: float) -> dict[str, str]:
    advisory = int(min(MAX_ADVISORY_BYTES, max(MIB, target_bytes * ratio * _FILL)))
    adaptive = "spark.sql.adaptive"
    return {
        f"{adaptive}.advisoryPartitionSizeInBytes": str(advisory),
        f"{adaptive}.coalescePartitions.parallelismFirst": "false",
        f"{adaptive}.coalescePartitions.minPartitionSize": str(max(1, min(MIB, advisory // 5))),
        f"{adaptive}.rebalancePartitionsSmallPartitionFactor": str(min(small_factor, 0.5)),
        # Otherwise Spark may read map by map, and the files follow the maps.
        f"{adaptive}.localShuffleReader.enabled": "false",
    }


def rebalance_reducers(*, scan_bytes: int, target_bytes: int, ratio: float) -> int:
    """Enough reducers that values seldom share one, and blocks small against the advisory size."""
    wanted = 16 * scan_bytes / max(1, target_bytes * ratio)
    if scan_bytes < target_bytes:
        return MIN_REDUCERS
    if scan_bytes >= UNKNOWN_BYTES:
        return DEFAULT_REDUCERS
    return int(min(MAX_REDUCERS, max(DEFAULT_REDUCERS, wanted)))


def delta_bins(
    target_bytes: int, ratio: float, *, table_bytes: int, shuffle_partitions: int, columns: int
) -> dict[str, str]:
    """Delta's own optimized writer: bins by shuffled bytes, from blocks it cannot split.

    Smaller tasks before it make smaller blocks, so a bin fills to its edge; adaptive execution would
    otherwise join them to one task per core. Delta takes the bin as a bare number of MiB.
    """
    expected_files = math.ceil(table_bytes / target_bytes) if table_bytes else 1
    bin_mib = max(1, round(target_bytes * ratio / MIB))
    adaptive = "spark.sql.adaptive"
    return {
        OPTIMIZE_WRITE: "true",
        "spark.databricks.delta.optimizeWrite.binSize": str(bin_mib),
        "spark.sql.shuffle.partitions": str(max(shuffle_partitions, min(200, 4 * expected_files))),
        f"{adaptive}.advisoryPartitionSizeInBytes": str(max(MIB, bin_mib * MIB // 4)),
        f"{adaptive}.coalescePartitions.parallelismFirst": "false",
        **open_files(VALUES_PER_BIN, columns=columns, target_bytes=target_bytes),
    }
