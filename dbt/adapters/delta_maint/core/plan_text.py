"""What EXPLAIN COST tells about a query, for connections that see plans only as text.

Where the text leaves a doubt the answer is the careful one: a query that might depend on chance counts as
one that does, and a source without a size as very large.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.write_choice import SortColumn

# Operators a counting pass would repeat at a cost near the query's own. A sort or a window that the
# count does not need has left its plan already.
_HEAVY = re.compile(
    r"\b(SortMergeJoin|ShuffledHashJoin|BroadcastNestedLoopJoin|CartesianProduct|Window|"
    r"BatchEvalPython|ArrowEvalPython|MapInPandas|MapInArrow|FlatMapGroupsIn\w+|FlatMapCoGroupsIn\w+|"
    r"MapPartitions|DeserializeToObject|JDBCRelation|TakeOrderedAndProject|Sort)\b"
)
_MULTIPLIES = re.compile(
    r"\b(Generate|BroadcastNestedLoopJoin|CartesianProduct|MapIn\w+|FlatMap\w+)\b"
)
_EXCHANGE = re.compile(r"^[\s:|+*()\d-]*Exchange (\w+)", re.MULTILINE)
_CHANCE = re.compile(
    r"\b(rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id|"
    r"spark_partition_id|input_file_name|input_file_block_\w+)\(",
    re.IGNORECASE,
)
_SECTION = re.compile(r"^== (.+) ==$", re.MULTILINE)
_NODE = re.compile(r"^((?:[ :]  )*(?:[+:]- )?)(\S.*)$")
_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.]+(?:E[+-]?\d+)?) ?([KMGTPE]i)?B")
_ORDER = re.compile(r"^(.+)#\d+L? (ASC|DESC) NULLS (FIRST|LAST)$")
_ABOVE_SORT = ("Project", "Filter", "SubqueryAlias", "View")
SHUFFLED = "an aggregation or a shuffle"
UNKNOWN_BYTES = 8 * 1024**6


def heavy_operators(physical_plan: str) -> tuple[str, ...]:
    """Of the plan that counts the query's rows; one exchange is the count's own."""
    found = sorted(set(_HEAVY.findall(physical_plan)))
    if exchanges(physical_plan) > 1:
        found.append(SHUFFLED)
    return tuple(found)


def may_multiply(physical_plan: str) -> bool:
    return _MULTIPLIES.search(physical_plan) is not None


def exchanges(physical_plan: str) -> int:
    return len(_EXCHANGE.findall(physical_plan))


@dataclass(frozen=True)
class PlanText:
    """The answer of EXPLAIN COST, taken apart."""

    optimized: str
    physical: str

    @classmethod
    def of(cls, explained: str) -> PlanText:
        """
        >>> PlanText.of("== Optimized Logical Plan ==\\nRange\\n\\n== Physical Plan ==\\n*(1) Range\\n").physical
        '*(1) Range'
        """
        parts = _SECTION.split(explained)
        sections = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
        return cls(sections.get("Optimized Logical Plan", ""), sections.get("Physical Plan", ""))

    @property
    def is_deterministic(self) -> bool:
        """
        >>> PlanText("Project [id#1L, rand(7) AS r#2]", "").is_deterministic
        False
        """
        return bool(self.optimized) and _CHANCE.search(self.optimized) is None

    @property
    def scan_bytes(self) -> int:
        """Bytes of what the query reads: of the plan's leaves."""
        nodes = [found for line in self.optimized.splitlines() if (found := _NODE.match(line))]
        total = 0
        for index, node in enumerate(nodes):
            depth = len(node.group(1))
            is_leaf = index + 1 == len(nodes) or len(nodes[index + 1].group(1)) <= depth
            if is_leaf:
                total += _bytes(node.group(2))
        return total

    def top_sort(self, columns: Sequence[str]) -> tuple[SortColumn, ...] | None:
        """How the rows are ordered in the end; None: not at all; empty: by what is no column of theirs."""
        output = {name.lower() for name in columns}
        for line in self.optimized.splitlines():
            node = _NODE.match(line)
            text = node.group(2) if node else ""
            if text.startswith(_ABOVE_SORT):
                continue
            found = re.match(r"Sort \[(.*)\], true\b", text)
            if found is None:
                return None
            return _sort_columns(found.group(1), output)
        return None


def _sort_columns(orders: str, output: set[str]) -> tuple[SortColumn, ...]:
    found = []
    for order in re.split(r"(?<= FIRST), |(?<= LAST), ", orders):
        parts = _ORDER.match(order)
        if parts is None or parts.group(1).lower() not in output:
            return ()
        found.append(
            SortColumn(
                name=parts.group(1),
                is_descending=parts.group(2) == "DESC",
                nulls_first=parts.group(3) == "FIRST",
            )
        )
    return tuple(found)


def _bytes(node: str) -> int:
    found = _SIZE.search(node)
    if found is None:
        return UNKNOWN_BYTES
    power = "KMGTPE".index(found.group(2)[0]) + 1 if found.group(2) else 0
    return int(float(found.group(1)) * 1024**power)
