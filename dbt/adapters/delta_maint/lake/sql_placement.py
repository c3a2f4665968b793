"""Rows on their way to the write tasks of a plan, as SQL text.

What `placed_rows` builds from columns is written out here. The task of a row is an expression over its own
columns; `REPARTITION(n, x)` sends the row there, with an `x` whose hash is that task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.calibration import PartitionValues
from dbt.adapters.delta_maint.core.murmur3 import values_for_tasks
from dbt.adapters.delta_maint.core.placement import Placement
from dbt.adapters.delta_maint.core.sql_text import identifier, identifier_list
from dbt.adapters.delta_maint.core.write_choice import SortColumn
from dbt.adapters.delta_maint.lake.row_counts import CountedRows
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner

TASK = identifier("__delta_maint_task")
_SLOT = identifier("__delta_maint_slot")
_NOT_HASHABLE = ("map", "variant", "void", "object", "geometry", "geography")
_POSITION_BITS = 33


@dataclass(frozen=True)
class SqlQuery:
    """A query with the columns of its result."""

    text: str
    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    def count(self) -> str:
        grouped = f" group by {', '.join(self.keys)}" if self.keys else ""
        return f"select count(1) from ({self.text}){grouped}"


def count_values(sql: SqlRunner, query: SqlQuery) -> CountedRows:
    """Rows of every partition value."""
    names = [f"k{index}" for index in range(len(query.keys))]
    named = ", ".join(f"{key} as {name}" for key, name in zip(query.keys, names, strict=True))
    texts = "".join(f", cast({name} as string)" for name in names)
    grouped = f" group by {', '.join(names)}" if names else ""
    found = list(
        sql.rows(
            f"select {_value_hash(names)}, count(1){texts} from "
            f"(select {named or '1'} from ({query.text})){grouped}"
        )
    )
    values: list[PartitionValues] = [tuple(value or None for value in row[2:]) for row in found]
    return CountedRows(
        keys=tuple(int(row[0]) for row in found),
        rows=tuple(int(row[1]) for row in found),
        partitions=tuple(values),
        steps={},
    )


def count_tasks(sql: SqlRunner, query: SqlQuery) -> dict[int, int]:
    counted = f"select spark_partition_id(), count(1) from ({query.text}) group by 1"
    return {int(task): int(rows) for task, rows in sql.rows(counted)}


def place_rows(query: SqlQuery, placement: Placement) -> str:
    lookup = placement.lookup()
    table = lookup.table
    hashed = _value_hash(query.keys)
    displacement = f"{_array(table.displacements, 'bigint')}[cast(pmod({hashed}, {len(table.displacements)}) as int)]"
    slot = f"cast(pmod({hashed} ^ {displacement}, {table.slots}) as int)"
    task = f"{_array(lookup.first_task, 'int')}[{_SLOT}]"
    if max(lookup.task_count) > 1:
        salt = _row_hash(query)
        task += f" + cast(pmod({salt}, {_array(lookup.task_count, 'int')}[{_SLOT}]) as int)"
    inside = f"select *, {slot} as {_SLOT} from ({query.text})"
    return _sent(inside, query.names, task, placement.tasks)


def place_chunks(query: SqlQuery, rows_per_task: Mapping[int, int], files: int) -> str:
    """Consecutive rows into files of equal row counts, in the order of the input partitions."""
    offsets, total = [], 0
    for index in range(max(rows_per_task, default=0) + 1):
        offsets.append(total)
        total += rows_per_task.get(index, 0)
    chunk = max(1, -(-total // files))
    first = (
        f"{_array(offsets, 'bigint')}[cast(shiftrightunsigned({_SLOT}, {_POSITION_BITS}) as int)]"
    )
    within = f"({_SLOT} & {(1 << _POSITION_BITS) - 1}L)"
    task = f"least({files - 1}, cast(({first} + {within}) div {chunk} as int))"
    inside = f"select *, monotonically_increasing_id() as {_SLOT} from ({query.text})"
    return _sent(inside, query.names, task, files)


def rebalanced(query: SqlQuery, reducers: int, columns: Sequence[str]) -> str:
    given = ", ".join([str(reducers), *(identifier(name) for name in columns)])
    return f"select /*+ REBALANCE({given}) */ * from ({query.text})"


def joined(query: SqlQuery, tasks: int) -> str:
    return f"select /*+ COALESCE({tasks}) */ * from ({query.text})"


def sorted_in_tasks(text: str, keys: Sequence[str], order: Sequence[SortColumn]) -> str:
    """A local sort that begins with the partition columns is the one Delta's writer needs anyway."""
    wanted = list(keys)
    for part in order:
        direction = "desc" if part.is_descending else "asc"
        nulls = "first" if part.nulls_first else "last"
        wanted.append(f"{identifier(part.name)} {direction} nulls {nulls}")
    return f"select * from ({text}) sort by {', '.join(wanted)}" if wanted else text


def _sent(inside: str, names: Sequence[str], task: str, tasks: int) -> str:
    """Only names, never expressions, may stand in a hint: so the number is a column for a moment."""
    number = f"{_array(values_for_tasks(tasks), 'int')}[{task}]"
    columns = identifier_list(names)
    return (
        f"select {columns} from (select /*+ REPARTITION({tasks}, {TASK}) */ {columns}, {TASK} from "
        f"(select {columns}, {number} as {TASK} from ({inside})))"
    )


def _value_hash(keys: Sequence[str]) -> str:
    return f"xxhash64({', '.join(keys)})" if keys else "cast(0 as bigint)"


def _row_hash(query: SqlQuery) -> str:
    """A number from the row itself, so that a repeated task sends every row where it went before."""
    hashable = [
        identifier(name)
        for name, kind in query.columns
        if not any(word in kind for word in _NOT_HASHABLE)
    ]
    return f"xxhash64({', '.join(hashable)})" if hashable else "monotonically_increasing_id()"


def _array(values: Sequence[int], kind: str) -> str:
    """One literal, folded once, however many numbers it holds."""
    text = ",".join(str(value) for value in values)
    return f"cast(split('{text}', ',') as array<{kind}>)"
