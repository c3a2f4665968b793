"""What the user wants of compaction, as one frozen object, and the budget of one run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.delta_maint.core.sizes import GIB, SMALLEST_TARGET_BYTES

# Never rewritten only because an adaptive target grew: a file this large is good at every target.
GOOD_AT_EVERY_TARGET_BYTES = SMALLEST_TARGET_BYTES * 3 // 4
INLINE_FACTOR = 4
INLINE_LEAST_BYTES = 1 * GIB
INLINE_MOST_BYTES = 10 * GIB


class PolicyKind(str, Enum):
    BINS = "bins"  # a bin that is worth its bytes
    COUNT = "count"  # Delta's own rule: enough small files in the partition
    EAGER = "eager"  # fewest files, whatever it costs


class Clustered(str, Enum):
    SKIP = "skip"
    OPTIMIZE = "optimize"  # Delta's incremental clustering of the whole table


class Rewrite(str, Enum):
    """How new files are made."""

    AUTO = "auto"  # by Arrow where that is proven right, else by OPTIMIZE
    ARROW = "arrow"
    DELTA = "delta"


class Verify(str, Enum):
    """What is compared before Arrow's files are committed."""

    COUNT = "count"
    FULL = "full"


class AvoidWriters(str, Enum):
    """Whose partitions are left alone for a while after they changed rows there."""

    STREAMS = "streams"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True)
class Budget:
    """None means no limit."""

    max_bytes: int | None = None
    max_partitions: int | None = None
    max_seconds: float | None = None

    @classmethod
    def inline(cls, written_bytes: int) -> Budget:
        """What a model's own run may spend by default: in proportion to what it wrote."""
        wanted = INLINE_FACTOR * written_bytes
        return cls(max_bytes=min(max(wanted, INLINE_LEAST_BYTES), INLINE_MOST_BYTES))

    def narrowed(self, other: Budget) -> Budget:
        return Budget(
            _least(self.max_bytes, other.max_bytes),
            _least(self.max_partitions, other.max_partitions),
            _least(self.max_seconds, other.max_seconds),
        )


@dataclass(frozen=True)
class CompactionPolicy:
    kind: PolicyKind = PolicyKind.BINS
    target_bytes: int | None = None
    small_ratio: float = 0.5
    done_ratio: float = 0.75
    min_input_files: int = 8
    min_num_files: int = 50
    min_file_bytes: int | None = None
    max_deleted_rows_ratio: float | None = 0.2
    modified_partitions_only: bool = True
    non_blind_append: bool = False
    reserve_partitions: bool = True
    budget: Budget = Budget()
    zorder: tuple[str, ...] = ()
    clustered: Clustered = Clustered.SKIP
    fail_on_error: bool = False
    rewrite: Rewrite = Rewrite.DELTA
    verify: Verify = Verify.COUNT
    avoid_writers: AvoidWriters = AvoidWriters.STREAMS
    quiet_seconds: float = 600


def _least(left: float | None, right: float | None) -> int | None:
    found = [value for value in (left, right) if value is not None]
    return min(found) if found else None  # type: ignore[return-value]
