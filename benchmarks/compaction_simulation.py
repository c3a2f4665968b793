"""Compaction policies on simulated tables: the real planner, pretend files.

A merge leaves 0.88 of bytes that were never merged before, and all of those that were: the shrinking
that real runs showed. Nothing here starts Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy
from dbt.adapters.delta_maint.core.packing import next_fit
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.table import (
    Commit,
    DataFile,
    PartitionColumn,
    PartitionKey,
    Protocol,
    Snapshot,
)

FRESH_RATIO = 0.88
COLUMN = PartitionColumn("p", "p", "int")


@dataclass
class Outcome:
    """`amplification` is bytes rewritten per byte ingested; files are of the whole table."""

    amplification: float
    mean_files: float
    final_files: int
    fired: int
    partitions: int

    @property
    def mean_files_per_partition(self) -> float:
        return self.mean_files / self.partitions


@dataclass
class Table:
    files: dict[PartitionKey, list[tuple[int, bool]]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    ingested_bytes: int = 0
    rewritten_bytes: int = 0

    def append(self, key: PartitionKey, sizes: list[int]) -> None:
        self.files.setdefault(key, []).extend((size, True) for size in sizes)
        self.ingested_bytes += sum(sizes)

    def merge_below(self, key: PartitionKey, below_bytes: int, cap_bytes: int) -> int:
        """OPTIMIZE of one partition; returns the bytes it read."""
        taken = sorted(f for f in self.files[key] if f[0] < below_bytes)
        kept = [f for f in self.files[key] if f[0] >= below_bytes]
        start = read = written = 0
        for b in next_fit([size for size, _ in taken], cap_bytes):
            members = taken[start : start + b.files]
            start += b.files
            if b.files == 1:
                kept += members
                continue
            size = int(sum(s * (FRESH_RATIO if fresh else 1) for s, fresh in members))
            kept.append((size, False))
            read, written = read + b.size_bytes, written + size
        self.files[key] = kept
        self.rewritten_bytes += written
        if written:
            metrics = {"numRemovedBytes": str(read), "numAddedBytes": str(written)}
            self.commits.append(Commit(len(self.commits), 0, "OPTIMIZE", metrics=metrics))
        return written

    def count(self) -> int:
        return sum(len(files) for files in self.files.values())

    def snapshot(self) -> Snapshot:
        files = [DataFile(s, key) for key, sizes in self.files.items() for s, _ in sizes]
        return Snapshot(
            version=1, location="", table_id="t", protocol=Protocol(), partition_columns=(COLUMN,),
            properties={}, schema_json="{}", clustering_columns=(), files=files,
            commits=tuple(self.commits[-30:]),
        )  # fmt: skip


Compact = Callable[[Table, list[PartitionKey]], int]


def every_run(target_bytes: int, small_ratio: float = 0.5) -> Compact:
    """What Delta's own does when every run is a new JVM: every touched partition."""

    def compact(table: Table, touched: list[PartitionKey]) -> int:
        below_bytes = int(target_bytes * small_ratio)
        return sum(table.merge_below(key, below_bytes, target_bytes) for key in touched)

    return compact


def planned(policy: CompactionPolicy) -> Compact:
    def compact(table: Table, touched: list[PartitionKey]) -> int:
        plan = prepare_auto_compact_request(
            table.snapshot(),
            policy,
            table="t",
            partitions_added_to=frozenset(touched),
            reservations=Reservations(),
            budget=Budget(),
        )
        return sum(
            table.merge_below(key, chunk.below_bytes, chunk.cap_bytes)
            for chunk in plan.chunks
            for key in chunk.partitions
        )

    return compact


def nothing(table: Table, touched: list[PartitionKey]) -> int:
    return 0


def simulate(writes: Callable[[int], dict[str, list[int]]], runs: int, compact: Compact) -> Outcome:
    """`writes(run)` gives the sizes that a run appends, by partition."""
    table, counts, fired = Table(), [], 0
    for run in range(runs):
        touched = []
        for name, sizes in writes(run).items():
            table.append((name,), sizes)
            touched.append((name,))
        fired += compact(table, touched) > 0
        counts.append(table.count())
    return Outcome(
        amplification=table.rewritten_bytes / table.ingested_bytes,
        mean_files=sum(counts) / len(counts),
        final_files=table.count(),
        fired=fired,
        partitions=len(table.files),
    )
