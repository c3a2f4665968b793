"""A compaction plan is data: it can be printed, tested and stored without Spark.

For every partition it holds what will be done or why nothing is, with the numbers behind it. The console
line, the JSON file and the run itself all use this object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dbt.adapters.delta_maint.core.compaction_policy import Rewrite
from dbt.adapters.delta_maint.core.output_ratio import Merge
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.core.table import PartitionKey

SCHEMA_VERSION = 1
MOST_PARTITIONS_PER_STATEMENT = 64
MOST_BYTES_PER_STATEMENT = 16 * 1024**3


class Action(str, Enum):
    COMPACT = "compact"
    PURGE = "purge"
    ZORDER = "zorder"
    CLUSTER = "cluster"


class Outcome(str, Enum):
    """How a decision ended, in the words of Delta's own auto compaction where it has one."""

    RUN_ON_MODIFIED_PARTITIONS = "runOnModifiedPartitions"
    RUN_ON_ALL_PARTITIONS = "runOnAllPartitions"
    NOT_ENABLED = "skipNotEnabled"
    NOT_QUALIFIED = "skipNotQualified"
    EMPTY_INGESTION = "skipEmptyIngestion"
    ALL_RESERVED = "skipAllPartitionsAlreadyReserved"
    INSUFFICIENT_FILES = "skipInsufficientFilesInModifiedPartitions"
    OUT_OF_BUDGET = "skipOutOfBudget"
    OTHER_WRITERS = "skipOtherWritersActive"
    NOT_SUPPORTED = "skipNotSupported"

    @property
    def runs(self) -> bool:
        return self in (Outcome.RUN_ON_MODIFIED_PARTITIONS, Outcome.RUN_ON_ALL_PARTITIONS)


@dataclass(frozen=True)
class PartitionWork:
    """What happens to one partition. For COMPACT: every file below a size within the given limits;
    `left_files` could be inputs too and are not."""

    partition: PartitionKey
    label: str
    action: Action
    partition_files: int
    considered_files: int
    input_files: int
    input_bytes: int
    output_files: int
    output_bytes: int
    reason: str
    gain: float
    waits: bool = False
    above_bytes: int = 0
    up_to_bytes: int | None = None
    left_files: int = 0
    left_bytes: int = 0

    @property
    def files_removed(self) -> int:
        return self.input_files - self.output_files

    @property
    def gain_per_byte(self) -> float:
        return self.gain / max(1, self.input_bytes)


@dataclass(frozen=True)
class SkippedPartition:
    partition: PartitionKey
    label: str
    files: int
    size_bytes: int
    reason: str


@dataclass(frozen=True)
class Chunk:
    """One statement: partitions that share an action and, for COMPACT, one size below which files go."""

    action: Action
    partitions: tuple[PartitionKey, ...]
    predicate: str | None
    below_bytes: int
    cap_bytes: int
    considered_files: int
    input_files: int
    input_bytes: int
    output_files: int
    zorder: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompactionPlan:
    """One pass over a table. `later` are the passes that are expected after it: what it leaves can make
    room for another merge that is worth it. They are planned anew from what the table then is.
    """

    outcome: Outcome
    reason: str
    table: str
    table_id: str
    version: int
    target_bytes: int
    small_bytes: int
    cap_bytes: int
    policy: str
    files: int
    size_bytes: int
    chosen: tuple[PartitionWork, ...] = ()
    skipped: tuple[SkippedPartition, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    notes: tuple[str, ...] = field(default=())
    holds_reservation: bool = False
    rewriter: Rewrite = Rewrite.DELTA
    output_ratio: float = 1.0
    merges: tuple[Merge, ...] = ()
    max_bytes: int | None = None
    later: tuple[CompactionPlan, ...] = ()

    @property
    def runs(self) -> bool:
        return self.outcome.runs

    @property
    def works(self) -> Iterator[tuple[int, PartitionWork]]:
        """What is to be done, pass by pass."""
        for number, plan in enumerate((self, *self.later), start=1):
            for work in plan.chosen:
                yield number, work

    @property
    def input_files(self) -> int:
        return sum(work.input_files for _, work in self.works)

    @property
    def input_bytes(self) -> int:
        return sum(work.input_bytes for _, work in self.works)

    @property
    def output_files(self) -> int:
        return sum(work.output_files for _, work in self.works)

    @property
    def chosen_partitions(self) -> frozenset[PartitionKey]:
        return frozenset(work.partition for work in self.chosen)

    @property
    def reserved(self) -> frozenset[PartitionKey]:
        """Those to give back when the plan has ended, in whatever way."""
        return self.chosen_partitions if self.holds_reservation else frozenset()

    def sentence(self) -> str:
        if not self.runs:
            return f"skipped: {self.reason}"
        return (
            f"{self.input_files} -> {self.output_files} files in {len(self.chosen)} "
            f"partition{'s' if len(self.chosen) != 1 else ''}, {format_bytes(self.input_bytes)}"
            + (f" in {1 + len(self.later)} passes" if self.later else "")
            + "".join(f"; {note}" for note in self.notes)
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "table": self.table,
            "table_id": self.table_id,
            "version": self.version,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "policy": self.policy,
            "target_bytes": self.target_bytes,
            "small_bytes": self.small_bytes,
            "files": self.files,
            "bytes": self.size_bytes,
            "input_files": self.input_files,
            "input_bytes": self.input_bytes,
            "expected_output_files": self.output_files,
            "passes": 1 + len(self.later) if self.runs else 0,
            "statements": sum(len(plan.chunks) for plan in (self, *self.later)),
            "max_bytes": self.max_bytes,
            "expected_output_ratio": self.output_ratio,
            "rewriter": self.rewriter.value,
            "notes": list(self.notes),
            "chosen": [
                {
                    "partition": work.label,
                    "pass": number,
                    "action": work.action.value,
                    "files": work.partition_files,
                    "input_files": work.input_files,
                    "input_bytes": work.input_bytes,
                    "expected_output_files": work.output_files,
                    "expected_output_bytes": work.output_bytes,
                    "files_removed_per_mib": round(work.gain_per_byte * 1024**2, 4),
                    "reason": work.reason,
                }
                for number, work in self.works
            ],
            "skipped": [
                {
                    "partition": skip.label,
                    "files": skip.files,
                    "bytes": skip.size_bytes,
                    "reason": skip.reason,
                }
                for skip in self.skipped
            ],
        }


def shared_thresholds(works: Iterable[PartitionWork]) -> list[tuple[int, list[PartitionWork]]]:
    """As few sizes as possible, one inside the limits of every partition.

    >>> def work(low, high): return PartitionWork((), "", Action.COMPACT, 0, 0, 0, 0, 0, 0, "", 0, False, low, high)
    >>> [(size, len(group)) for size, group in shared_thresholds([work(1, 5), work(3, None), work(6, 9)])]
    [(5, 1), (9, 2)]
    """
    groups: list[tuple[int, list[PartitionWork]]] = []
    unbounded = 2**62
    for work in sorted(works, key=lambda w: (w.up_to_bytes or unbounded, -w.above_bytes)):
        if groups and work.above_bytes < groups[-1][0]:
            groups[-1][1].append(work)
        else:
            size = work.up_to_bytes if work.up_to_bytes is not None else work.above_bytes + 1
            groups.append((size, [work]))
    return groups
