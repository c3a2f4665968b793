"""How a write gets its files: the choice, and the sentence that explains it.

Exact placement needs the rows per partition value before the write. The counting pass reads only the
partition columns, so it is cheap as long as nothing else has to be computed for it. A query that shuffles
its rows is computed once up to its last shuffle and counted from there; where there is nothing to start
from, Spark's rebalance sizes the files while it shuffles. A query whose rows could differ from one
evaluation to the next is evaluated once. A query that sorts its rows keeps its order unless the user says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.delta_maint.core.sizes import format_bytes

# Below this part of one target no value can fill a file, so there is nothing to count.
TRIVIAL_FRACTION = 0.25


class Mode(str, Enum):
    """What a model may ask for."""

    AUTO = "auto"
    EXACT = "exact"
    REBALANCE = "rebalance"
    DELTA = "delta"
    OFF = "off"


class Way(str, Enum):
    """What is done: the word on the console."""

    EXACT = "exact"
    CHUNKS = "chunks"
    REBALANCE = "rebalance"
    COALESCE = "coalesce"
    CAP = "row cap"
    DELTA = "delta"
    PLAIN = "plain"


@dataclass(frozen=True)
class WritePolicy:
    """What the user asked for, validated."""

    mode: Mode = Mode.AUTO
    target_bytes: int | None = None
    write_order: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    sorted_query: str = "skip"
    repartition: str = "hash"
    small_partition_factor: float = 0.5
    merged_partition_factor: float = 1.2
    min_write_tasks: int | None = None

    @property
    def order_columns(self) -> tuple[str, ...]:
        return self.write_order or self.clustered_by


@dataclass(frozen=True)
class SortColumn:
    name: str
    is_descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class QueryFacts:
    """What Spark's plans tell about the model's query before it runs."""

    is_deterministic: bool = True
    # The operators that make counting as expensive as the query itself.
    heavy_operators: tuple[str, ...] = ()
    # It shuffles, so what it computes before its last shuffle need not be computed again.
    has_stages: bool = False
    # Columns whose values differ from one evaluation to the next, while the rows stay the same.
    random_columns: tuple[str, ...] = ()
    reads_target: bool = False
    # Generators, products of tables and functions can make many rows out of few.
    may_multiply: bool = False
    # The table has files that tell how large a row is.
    has_history: bool = True
    scan_bytes: int = 0
    # None: the query does not sort. Empty: it sorts, by something that is not a column of its result.
    sort: tuple[SortColumn, ...] | None = None

    @property
    def is_heavy(self) -> bool:
        return bool(self.heavy_operators)

    @property
    def can_share_stages(self) -> bool:
        """A query that reads its own target stays whole: Delta has to see what it reads."""
        is_stable = self.is_deterministic and not self.random_columns
        return self.has_stages and is_stable and not self.reads_target


@dataclass(frozen=True)
class Capabilities:
    can_place: bool = True
    can_rebalance: bool = True
    can_bin: bool = True


@dataclass(frozen=True)
class Choice:
    way: Way
    reason: str
    # The query's rows are materialised once, before they are counted.
    is_staged: bool = False
    # The query runs up to its last shuffle before it is counted, and from there when it is written.
    shares_stages: bool = False
    keeps_order: bool = False


def choose(
    policy: WritePolicy,
    facts: QueryFacts,
    capabilities: Capabilities,
    *,
    partition_columns: Sequence[str],
    target_bytes: int,
) -> Choice:
    if policy.mode is Mode.OFF:
        return Choice(Way.PLAIN, "optimized_write is off")
    if policy.mode is Mode.DELTA:
        return _delta(capabilities, "asked for")
    if facts.sort is not None and policy.sorted_query == "skip":
        names = [column.name.lower() for column in facts.sort]
        leading = [name.lower() for name in partition_columns[: len(names)]]
        if not names or names != leading:
            told = ", ".join(column.name for column in facts.sort) or "an expression"
            return Choice(Way.CAP, f"the query is ordered by {told}", keeps_order=True)
    choice = (
        _partitioned(policy, facts, target_bytes)
        if partition_columns
        else _unpartitioned(policy, facts, target_bytes)
    )
    return _possible(choice, capabilities)


def choose_merge(policy: WritePolicy, capabilities: Capabilities, operation: str) -> Choice:
    """MERGE rewrites files inside Delta: only Delta's own writer reaches them."""
    if policy.mode is Mode.OFF:
        return Choice(Way.PLAIN, "optimized_write is off")
    return _delta(capabilities, f"{operation} is written by Delta")


def _partitioned(policy: WritePolicy, facts: QueryFacts, target_bytes: int) -> Choice:
    if policy.mode is Mode.REBALANCE:
        return Choice(Way.REBALANCE, "asked for")
    if policy.mode is Mode.EXACT:
        if not facts.is_deterministic:
            return Choice(Way.EXACT, "asked for; not deterministic: evaluated once", is_staged=True)
        return Choice(Way.EXACT, "asked for", shares_stages=facts.can_share_stages)
    if not facts.is_deterministic:
        return Choice(Way.REBALANCE, "the query is not deterministic: evaluated once")
    is_trivial = 0 < facts.scan_bytes < TRIVIAL_FRACTION * target_bytes
    if is_trivial and not policy.write_order and not facts.may_multiply:
        size = format_bytes(facts.scan_bytes)
        return Choice(Way.REBALANCE, f"{size} of input: one file per partition value")
    if facts.can_share_stages:
        return Choice(Way.EXACT, "counted after the query's last shuffle", shares_stages=True)
    if facts.is_heavy:
        operators = ", ".join(facts.heavy_operators)
        if not facts.has_history and not facts.random_columns:
            return Choice(Way.EXACT, f"{operators}: computed once, then counted", is_staged=True)
        return Choice(Way.REBALANCE, f"counting first would repeat {operators}")
    return Choice(Way.EXACT, "counting is cheap")


def _unpartitioned(policy: WritePolicy, facts: QueryFacts, target_bytes: int) -> Choice:
    is_costly = facts.is_heavy or not facts.is_deterministic
    if policy.mode is Mode.REBALANCE:
        return Choice(Way.REBALANCE, "asked for")
    shares = facts.can_share_stages
    if policy.write_order:
        return Choice(
            Way.EXACT,
            "placed by write_order",
            is_staged=is_costly and not shares,
            shares_stages=shares,
        )
    is_small = 0 < facts.scan_bytes < target_bytes
    if policy.clustered_by and not is_small and (shares or not is_costly):
        return Choice(Way.EXACT, "placed by its clustering columns", shares_stages=shares)
    if policy.mode is Mode.EXACT:
        return Choice(Way.CHUNKS, "asked for", is_staged=is_costly)
    if not facts.is_deterministic:
        return Choice(Way.CAP, "the query is not deterministic: evaluated once", keeps_order=True)
    if facts.is_heavy:
        operators = ", ".join(facts.heavy_operators)
        return Choice(Way.CAP, f"counting first would repeat {operators}", keeps_order=True)
    return Choice(Way.COALESCE, "not partitioned: no shuffle", keeps_order=True)


def _possible(choice: Choice, capabilities: Capabilities) -> Choice:
    if choice.way in (Way.EXACT, Way.CHUNKS) and not capabilities.can_place:
        if capabilities.can_rebalance:
            return Choice(Way.REBALANCE, "this Spark has no repartitionById, which came with 4.1")
        return Choice(Way.CAP, "this Spark can neither place nor rebalance rows", keeps_order=True)
    if choice.way is Way.REBALANCE and not capabilities.can_rebalance:
        if capabilities.can_place:
            reason = "adaptive execution or hints are off, so Spark would not rebalance"
            return Choice(Way.EXACT, reason, is_staged=True)
        return Choice(Way.CAP, "this Spark can neither place nor rebalance rows", keeps_order=True)
    return choice


def _delta(capabilities: Capabilities, reason: str) -> Choice:
    if not capabilities.can_bin:
        return Choice(
            Way.PLAIN, "Delta's optimized writer does not work with the shuffle manager in use"
        )
    return Choice(Way.DELTA, reason)
