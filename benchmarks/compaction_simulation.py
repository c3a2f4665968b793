"""Compaction policies on simulated tables: the real planner, pretend files.

A merge leaves 0.88 of bytes that were never merged before, and all of those that were: the shrinking
that real runs showed. On a table that is merged into, half of the rows of every run replace what the run
before has inserted, and deletion vectors hide those. Nothing here starts Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_passes import may_find_more
from dbt.adapters.delta_maint.core.compaction_plan import Action, CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import Budget, CompactionPolicy
from dbt.adapters.delta_maint.core.output_ratio import Merge
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
BYTES_PER_ROW = 70
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


@dataclass(frozen=True)
class PretendFile:
    """`doomed` bytes are of rows that the next run will replace, `dead` ones of rows that are hidden."""

    size: int
    is_fresh: bool = True
    doomed: float = 0.0
    dead: float = 0.0

    @property
    def dead_ratio(self) -> float:
        return self.dead / self.size

    def of_table(self, key: PartitionKey) -> DataFile:
        return DataFile(
            self.size,
            key,
            num_records=max(1, self.size // BYTES_PER_ROW),
            deleted_rows=int(self.dead // BYTES_PER_ROW),
            has_deletion_vector=self.dead > 0,
        )


def merged(files: Iterable[PretendFile]) -> PretendFile:
    size = doomed = 0.0
    for file in files:
        shrinks = FRESH_RATIO if file.is_fresh else 1.0
        size += (file.size - file.dead) * shrinks
        doomed += file.doomed * shrinks
    return PretendFile(int(size), is_fresh=False, doomed=doomed)


@dataclass
class Table:
    files: dict[PartitionKey, list[PretendFile]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    ingested_bytes: int = 0
    rewritten_bytes: int = 0

    def append(self, key: PartitionKey, sizes: list[int], *, by_merge: bool) -> None:
        there = self.files.get(key, [])
        hit = [replace(file, dead=file.dead + file.doomed, doomed=0.0) for file in there]
        new = [PretendFile(size, doomed=size / 2 if by_merge else 0.0) for size in sizes]
        self.files[key] = hit + new
        self.ingested_bytes += sum(sizes)

    def merge_below(
        self, key: PartitionKey, below_bytes: int, cap_bytes: int, *, dead_ratio: float = 1.0
    ) -> Merge:
        """OPTIMIZE of one partition, which also takes files with more dead rows than `dead_ratio`."""
        return self._rewrite(
            key,
            lambda file: file.size < below_bytes or file.dead_ratio > dead_ratio,
            cap_bytes,
            least_files=2,
        )

    def purge(self, key: PartitionKey, cap_bytes: int) -> Merge:
        """REORG of one partition: every file with hidden rows."""
        return self._rewrite(key, lambda file: file.dead > 0, cap_bytes, least_files=1)

    def _rewrite(
        self,
        key: PartitionKey,
        is_taken: Callable[[PretendFile], bool],
        cap_bytes: int,
        *,
        least_files: int,
    ) -> Merge:
        taken = sorted(filter(is_taken, self.files[key]), key=lambda file: file.size)
        kept = [file for file in self.files[key] if not is_taken(file)]
        start = read = written = 0
        for b in next_fit([file.size for file in taken], cap_bytes):
            members = taken[start : start + b.files]
            start += b.files
            if b.files < least_files:
                kept += members
                continue
            file = merged(members)
            kept.append(file)
            read, written = read + b.size_bytes, written + file.size
        self.files[key] = kept
        self.rewritten_bytes += written
        return read, written

    def committed(self, operation: str, merges: Iterable[Merge]) -> None:
        """One statement: what the next plan learns from."""
        read, written = (sum(numbers) for numbers in zip(*merges, strict=True))
        if written:
            metrics = {"numRemovedBytes": str(read), "numAddedBytes": str(written)}
            self.commits.append(Commit(len(self.commits), 0, operation, metrics=metrics))

    def count(self) -> int:
        return sum(len(files) for files in self.files.values())

    def snapshot(self) -> Snapshot:
        files = [file.of_table(key) for key, found in self.files.items() for file in found]
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
        return sum(
            table.merge_below(key, below_bytes, target_bytes, dead_ratio=0.05)[1] for key in touched
        )

    return compact


def planned(policy: CompactionPolicy) -> Compact:
    def compact(table: Table, touched: list[PartitionKey]) -> int:
        written = 0
        while (plan := plan_of(table, touched)).runs:
            merges = []
            for chunk in plan.chunks:
                if chunk.action is Action.PURGE:
                    done = [table.purge(key, chunk.cap_bytes) for key in chunk.partitions]
                else:
                    done = [
                        table.merge_below(key, chunk.below_bytes, chunk.cap_bytes)
                        for key in chunk.partitions
                    ]
                table.committed("REORG" if chunk.action is Action.PURGE else "OPTIMIZE", done)
                merges += done
            written += sum(added for _, added in merges)
            if not may_find_more(plan, policy, merges):
                break
        return written

    def plan_of(table: Table, touched: list[PartitionKey]) -> CompactionPlan:
        return prepare_auto_compact_request(
            table.snapshot(),
            policy,
            table="t",
            partitions_added_to=frozenset(touched),
            reservations=Reservations(),
            budget=Budget(),
        )

    return compact


def nothing(table: Table, touched: list[PartitionKey]) -> int:
    return 0


def simulate(
    writes: Callable[[int], dict[str, list[int]]],
    runs: int,
    compact: Compact,
    *,
    by_merge: bool = False,
) -> Outcome:
    """`writes(run)` gives the sizes that a run appends, by partition."""
    table, counts, fired = Table(), [], 0
    for run in range(runs):
        touched = []
        for name, sizes in writes(run).items():
            table.append((name,), sizes, by_merge=by_merge)
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
