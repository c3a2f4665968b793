"""What every way of rewriting promises: one chunk, one atomic commit or none, and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from dbt.adapters.delta_maint.core.compaction_plan import Chunk
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable


class Phase(str, Enum):
    """Moments an observer is told of, in their order. A rewriter that is one statement of Delta's
    cannot tell REWRITTEN and BEFORE_COMMIT apart from the statement, and tells neither."""

    PLANNED = "planned"
    BEFORE_REWRITE = "before_rewrite"
    REWRITTEN = "rewritten"
    BEFORE_COMMIT = "before_commit"
    COMMITTED = "committed"


Observer = Callable[[Phase, "Chunk | None"], None]


@dataclass(frozen=True)
class RewriteMetrics:
    """`left` are partitions that this rewriter did not touch, for OPTIMIZE, and the reason."""

    files_added: int = 0
    files_removed: int = 0
    bytes_added: int = 0
    bytes_removed: int = 0
    considered_files: int = 0
    partitions: int = 0
    left: Chunk | None = None
    left_reason: str | None = None


class Rewriter(Protocol):
    def rewrite(
        self, table: DeltaTable, chunk: Chunk, mark: CommitMark, observer: Observer
    ) -> RewriteMetrics: ...
