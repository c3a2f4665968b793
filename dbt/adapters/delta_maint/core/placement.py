"""Which write task every row goes to, so that each file comes out at its target size.

The unit is rows, because bytes per row on disk is what stays the same from run to run. A partition
value much larger than the target is cut into equal files, each in a task of its own; values smaller
than it share tasks, one file per value. The plan covers values that appear only after the counting:
they land in some task of the plan, so rows are never lost and never outside its range.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.slot_table import SlotTable, build_slot_table

OWN_TASK_FRACTION = 0.75
MIB = 1024**2


@dataclass(frozen=True)
class PlacementPolicy:
    target_bytes: int
    # No file of a value that is cut may come out below this part of the target.
    small_partition_factor: float = 0.5
    # Values that share a task may together reach this multiple of the target.
    merged_partition_factor: float = 1.2
    max_values_per_task: int = 64
    min_tasks: int = 1
    max_tasks: int = 10_000
    max_values: int = 10_000


@dataclass(frozen=True)
class ValueRows:
    """One partition value of the rows to write, known by the 64-bit hash Spark gives it."""

    key: int
    rows: int
    bytes_per_row: float
    label: str = ""

    @property
    def bytes(self) -> float:
        return self.rows * self.bytes_per_row


@dataclass(frozen=True)
class ValuePlacement:
    """The rows of one value go to the tasks `first_task .. first_task + files - 1`."""

    value: ValueRows
    first_task: int
    files: int

    @property
    def file_bytes(self) -> float:
        return self.value.bytes / self.files


@dataclass(frozen=True)
class Placement:
    values: tuple[ValuePlacement, ...]
    tasks: int
    target_bytes: int

    @property
    def files(self) -> int:
        return sum(placed.files for placed in self.values)

    @property
    def bytes(self) -> float:
        return sum(placed.value.bytes for placed in self.values)

    @property
    def rows(self) -> int:
        return sum(placed.value.rows for placed in self.values)

    @property
    def values_per_task(self) -> int:
        """Of the task with most of them."""
        return max(Counter(placed.first_task for placed in self.values).values(), default=1)

    def lookup(self) -> TaskLookup:
        return TaskLookup.of(self.values)


@dataclass(frozen=True)
class TaskLookup:
    """The plan as arrays: a slot for every key, and for every slot its first task and task count."""

    table: SlotTable
    first_task: tuple[int, ...]
    task_count: tuple[int, ...]

    @classmethod
    def of(cls, values: Iterable[ValuePlacement]) -> TaskLookup:
        by_key: dict[int, ValuePlacement] = {}
        for placed in values:
            by_key.setdefault(placed.value.key, placed)
        table = build_slot_table(list(by_key))
        # Free slots serve values that were not counted: task 0 exists in every plan.
        first = [0] * table.slots
        count = [1] * table.slots
        for key, placed in by_key.items():
            slot = table.slot(key)
            first[slot], count[slot] = placed.first_task, placed.files
        return cls(table, tuple(first), tuple(count))

    def task(self, key: int, salt: int) -> int:
        slot = self.table.slot(key)
        return self.first_task[slot] + salt % self.task_count[slot]


def place(values: Sequence[ValueRows], policy: PlacementPolicy) -> Placement:
    """Large values first, each in tasks of its own; then small ones, packed."""
    target = _reachable_target(values, policy)
    large: list[tuple[ValueRows, int]] = []
    small: list[ValueRows] = []
    for value in _merged_keys(values):
        if value.bytes >= OWN_TASK_FRACTION * target:
            large.append((value, file_count(value.bytes, target, policy)))
        else:
            small.append(value)
    placed: list[ValuePlacement] = []
    next_task = 0
    for value, files in sorted(large, key=lambda pair: (-pair[0].bytes, pair[0].key)):
        placed.append(ValuePlacement(value, next_task, files))
        next_task += files
    for group in pack_small(small, target, policy, tasks_taken=next_task):
        placed += [ValuePlacement(value, next_task, 1) for value in group]
        next_task += 1
    return Placement(tuple(placed), max(1, next_task), int(target))


def file_count(value_bytes: float, target_bytes: float, policy: PlacementPolicy) -> int:
    """The number of equal files whose size is closest to the target, as a ratio.

    >>> policy = PlacementPolicy(target_bytes=100)
    >>> [file_count(size, 100, policy) for size in (30, 140, 145, 250, 1000)]
    [1, 1, 2, 3, 10]
    """
    low = max(1, math.floor(value_bytes / target_bytes))
    best = min((low, low + 1), key=lambda files: abs(math.log(value_bytes / files / target_bytes)))
    while best > 1 and value_bytes / best < policy.small_partition_factor * target_bytes:
        best -= 1
    return best


def pack_small(
    values: Sequence[ValueRows], target_bytes: float, policy: PlacementPolicy, *, tasks_taken: int
) -> list[list[ValueRows]]:
    """First fit, largest first. A file costs more than its bytes: opening it is work, too.

    Fewer tasks than the cluster has cores would leave cores idle, so tasks stay smaller until there
    are enough of them.
    """
    overhead = min(MIB, target_bytes / 16)
    total = sum(value.bytes + overhead for value in values)
    wanted_tasks = max(1, policy.min_tasks - tasks_taken)
    limit = min(policy.merged_partition_factor * target_bytes, max(total / wanted_tasks, 1))
    groups: list[list[ValueRows]] = []
    fill: list[float] = []
    open_from = 0
    for value in sorted(values, key=lambda value: (-value.bytes, value.key)):
        cost = value.bytes + overhead
        for index in range(open_from, len(groups)):
            if fill[index] + cost <= limit and len(groups[index]) < policy.max_values_per_task:
                break
        else:
            index = len(groups)
            groups.append([])
            fill.append(0.0)
        groups[index].append(value)
        fill[index] += cost
        while open_from < len(groups) and (
            len(groups[open_from]) >= policy.max_values_per_task or fill[open_from] >= limit * 0.98
        ):
            open_from += 1
    return groups


def _merged_keys(values: Sequence[ValueRows]) -> list[ValueRows]:
    """Two values of one hash cannot be told apart by it, so they are placed as one."""
    found: dict[int, ValueRows] = {}
    for value in values:
        if value.rows <= 0:
            continue
        before = found.get(value.key)
        if before is not None:
            rows = before.rows + value.rows
            value = ValueRows(value.key, rows, (before.bytes + value.bytes) / rows, before.label)
        found[value.key] = value
    return list(found.values())


def _reachable_target(values: Sequence[ValueRows], policy: PlacementPolicy) -> float:
    """The target, raised where the number of tasks would otherwise pass what Spark can shuffle to."""
    total = sum(value.bytes for value in values)
    return max(policy.target_bytes, total / policy.max_tasks)
