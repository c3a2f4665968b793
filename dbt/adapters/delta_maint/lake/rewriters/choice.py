"""Which rewriter a table gets: the one asked for, or for `auto` Arrow where that is proven right.

The answer names the reason wherever OPTIMIZE does the work although Arrow could have been wished for; the
plan carries it to the console line and the JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.arrow_eligibility import table_refusal
from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy, Rewrite
from dbt.adapters.delta_maint.core.errors import RewriteError
from dbt.adapters.delta_maint.core.table import Snapshot
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.rewriters.arrow_facts import facts_of_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class RewriterChoice:
    """`reason` is one phrase: why OPTIMIZE, where Arrow was not ruled out by the user."""

    rewrite: Rewrite
    reason: str | None = None

    @property
    def is_arrow(self) -> bool:
        return self.rewrite is Rewrite.ARROW

    def note(self) -> str | None:
        """
        >>> RewriterChoice(Rewrite.DELTA, "the table is clustered").note()
        'rewritten by OPTIMIZE: the table is clustered'
        """
        if self.is_arrow:
            return "rewritten by Arrow"
        return None if self.reason is None else f"rewritten by OPTIMIZE: {self.reason}"


def choose_rewriter(
    spark: SparkSession | None, snapshot: Snapshot, policy: CompactionPolicy, *, table: str
) -> RewriterChoice:
    """A table that `arrow` was asked for and cannot be given is refused, before anything runs."""
    if policy.rewrite is Rewrite.DELTA:
        return RewriterChoice(Rewrite.DELTA)
    delta = JvmDelta.probe(spark) if spark is not None else "this connection knows only SQL"
    reason = delta if isinstance(delta, str) else None
    if reason is None:
        assert spark is not None
        reason = table_refusal(facts_of_snapshot(spark, snapshot))
    if reason is None:
        return RewriterChoice(Rewrite.ARROW)
    if policy.rewrite is Rewrite.ARROW:
        raise RewriteError(
            f"{table} cannot be rewritten by Arrow: {reason}. Use `rewrite: auto`, which leaves "
            "such a table to OPTIMIZE, or `rewrite: delta`."
        )
    return RewriterChoice(Rewrite.DELTA, reason)
