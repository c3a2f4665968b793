"""What came of a plan: the numbers of its commits, what was left and why, as one sentence and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.delta_maint.core.compaction_plan import Chunk, CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.lake.conflicts import Trouble
from dbt.adapters.delta_maint.lake.rewriters.base import RewriteMetrics


@dataclass(frozen=True)
class ChunkResult:
    """`difference` says how the numbers of the statement differ from the plan's; None if they do not."""

    chunk: Chunk
    metrics: RewriteMetrics = field(default_factory=RewriteMetrics)
    replans: int = 0
    trouble: str | None = None
    error: str | None = None
    difference: str | None = None

    @property
    def left_reason(self) -> str | None:
        return self.metrics.left_reason


@dataclass(frozen=True)
class CompactionResult:
    plan: CompactionPlan
    seconds: float = 0.0
    chunks: tuple[ChunkResult, ...] = ()
    stopped: str | None = None
    not_started: int = 0
    passes: int = 0

    @classmethod
    def of_passes(
        cls, plan: CompactionPlan, passes: Sequence[CompactionResult]
    ) -> CompactionResult:
        """All passes over one table as one result, told by the first plan; none where it does not run."""
        return cls(
            plan=plan,
            seconds=sum(done.seconds for done in passes),
            chunks=tuple(chunk for done in passes for chunk in done.chunks),
            stopped=next((done.stopped for done in passes if done.stopped), None),
            not_started=sum(done.not_started for done in passes),
            passes=len(passes),
        )

    def total(self, name: str) -> int:
        return sum(int(getattr(chunk.metrics, name)) for chunk in self.chunks)

    @property
    def refusal(self) -> str | None:
        """What Delta says it does not do on this table, where that is all that happened."""
        if self.did_something or not self.chunks:
            return None
        refused = [c for c in self.chunks if c.trouble == Trouble.REFUSED.value]
        return refused[0].error if len(refused) == len(self.chunks) else None

    @property
    def errors(self) -> list[str]:
        if self.refusal:
            return []
        found = [c.error for c in self.chunks if c.error]
        found += [c.difference for c in self.chunks if c.difference]
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Who rewrote, and what Arrow left to OPTIMIZE."""
        left = dict.fromkeys(c.left_reason for c in self.chunks if c.left_reason)
        return (*self.plan.notes, *(f"left to OPTIMIZE: {reason}" for reason in left))

    @property
    def did_something(self) -> bool:
        return self.total("files_removed") > 0

    def sentence(self) -> str:
        """The line of one relation, in dbt's style."""
        if not self.plan.runs:
            return self.plan.sentence()
        if self.refusal:
            return f"skipped: {self.refusal}"
        is_whole = not self.errors and not self.stopped
        told = "nothing left to compact" if is_whole else "compacted nothing"
        if self.did_something:
            after = self.plan.files - self.total("files_removed") + self.total("files_added")
            told = (
                f"compacted {self.plan.files} -> {after} files, "
                f"{format_bytes(self.total('bytes_removed'))} in {self.seconds:.1f} s"
            )
        told += "".join(f"; {note}" for note in self.notes)
        if self.stopped:
            told += f"; stopped: {self.stopped}"
        if self.not_started:
            told += (
                f", {self.not_started} statement{'s' if self.not_started != 1 else ''} not started"
            )
        if self.errors:
            told += f"; {self.errors[0]}"
        return told

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.plan.as_dict(),
            **({"outcome": Outcome.NOT_SUPPORTED.value} if self.refusal else {}),
            **({"passes": self.passes} if self.passes else {}),
            "seconds": round(self.seconds, 3),
            "files_added": self.total("files_added"),
            "files_removed": self.total("files_removed"),
            "bytes_added": self.total("bytes_added"),
            "bytes_removed": self.total("bytes_removed"),
            "replans": sum(chunk.replans for chunk in self.chunks),
            "stopped": self.stopped,
            "statements_not_started": self.not_started,
            "errors": self.errors,
            "notes": list(self.notes),
        }
