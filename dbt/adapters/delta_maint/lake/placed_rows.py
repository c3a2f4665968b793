"""A frame whose rows go to the write tasks of a plan, by one shuffle.

The task of a row is an expression over its own columns, written inline: Spark then drops a repartition,
coalesce or sort that the query ends with, and adaptive execution leaves our shuffle alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.placement import Placement, TaskLookup
from dbt.adapters.delta_maint.core.range_cuts import KeyRange, key_ranges
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.write_choice import SortColumn

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Percentiles asked of the counting pass: a value that is cut is cut at some of these.
RANGE_STEPS = 400
MAX_RANGES_IN_A_QUERY = 2_000
_POSITION_BITS = 33
_POSITION = "__delta_maint_position"
_NOT_HASHABLE = ("map", "variant", "void", "object", "geometry", "geography")


def column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(identifier(name))


def value_hash(keys: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    return F.xxhash64(*keys) if keys else F.lit(0).cast("bigint")


def place_rows(
    frame: DataFrame,
    placement: Placement,
    keys: Sequence[Column],
    *,
    salt: Column | None = None,
    cuts: Mapping[int, Sequence[KeyRange]] | None = None,
    range_key: Column | None = None,
) -> DataFrame:
    """`salt` spreads the rows of a cut value over its tasks; `cuts` do so by ranges of `range_key`."""
    lookup = placement.lookup()
    hashed = value_hash(keys)
    slot = _slot(lookup, hashed)
    salt = hash_salt(frame) if salt is None else salt
    if cuts and range_key is not None:
        offset = _range_offset(lookup, placement, slot, cuts, range_key, salt)
    else:
        offset = _hash_offset(lookup, slot, salt)
    first = _int_array(lookup.first_task)[slot]
    return frame.repartitionById(placement.tasks, (first + offset).cast("int"))


def place_chunks(frame: DataFrame, rows_per_task: Mapping[int, int], files: int) -> DataFrame:
    """Consecutive rows into files of equal row counts, in the order of the input partitions."""
    from pyspark.sql import functions as F

    last = max(rows_per_task, default=0)
    offsets, total = [], 0
    for index in range(last + 1):
        offsets.append(total)
        total += rows_per_task.get(index, 0)
    chunk = max(1, math.ceil(total / files))
    position = F.col(_POSITION)
    offset = _long_array(offsets)[F.shiftrightunsigned(position, _POSITION_BITS).cast("int")]
    within = position.bitwiseAND(F.lit((1 << _POSITION_BITS) - 1))
    numbered = frame.withColumn(_POSITION, F.monotonically_increasing_id())
    task = F.floor((offset + within) / F.lit(chunk)).cast("int")
    return numbered.repartitionById(files, task).drop(_POSITION)


def sort_in_tasks(
    frame: DataFrame, keys: Sequence[Column], order: Sequence[SortColumn]
) -> DataFrame:
    """A local sort that begins with the partition columns is the one Delta's writer needs anyway."""
    columns = list(keys)
    for part in order:
        by = column(part.name)
        if part.is_descending:
            columns.append(by.desc_nulls_first() if part.nulls_first else by.desc_nulls_last())
        else:
            columns.append(by.asc_nulls_first() if part.nulls_first else by.asc_nulls_last())
    return frame.sortWithinPartitions(*columns) if columns else frame


def hash_salt(frame: DataFrame, *, without: Sequence[str] = ()) -> Column:
    """A number from the row itself, so that a repeated task sends every row where it went before.

    `without` names the columns that a repeated task may fill with something else.
    """
    from pyspark.sql import functions as F

    hashable = [
        identifier(field.name)
        for field in frame.schema.fields
        if field.name not in without
        and not any(word in field.dataType.simpleString() for word in _NOT_HASHABLE)
    ]
    # As text: every column by itself would be several calls into the JVM.
    return F.expr(f"xxhash64({', '.join(hashable)})") if hashable else position_salt()


def position_salt() -> Column:
    """For rows that are too much alike for a hash to spread them."""
    from pyspark.sql import functions as F

    return F.monotonically_increasing_id()


def range_key(frame: DataFrame, name: str) -> Column | None:
    """A number that orders rows as the column does; None for a type without such an order."""
    from pyspark.sql import functions as F

    kind = next(
        (
            field.dataType.simpleString()
            for field in frame.schema.fields
            if field.name.lower() == name.lower()
        ),
        "",
    )
    if kind.startswith(("string", "varchar", "char")):
        # Seven bytes of a string are a number that sorts like the string.
        prefix = F.rpad(F.hex(F.substring(F.encode(column(name), "UTF-8"), 1, 7)), 14, "0")
        return F.conv(prefix, 16, 10).cast("double")
    if kind == "date":
        return F.datediff(column(name), F.lit("1970-01-01").cast("date")).cast("double")
    if kind == "timestamp_ntz":
        return F.unix_micros(column(name).cast("timestamp")).cast("double")
    if kind == "timestamp":
        return F.unix_micros(column(name)).cast("double")
    numeric = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
    return column(name).cast("double") if kind.startswith(numeric) else None


def range_steps(key: Column) -> Column:
    from pyspark.sql import functions as F

    return F.percentile_approx(
        key, [step / RANGE_STEPS for step in range(1, RANGE_STEPS)], F.lit(5_000)
    )


def choose_cuts(
    placement: Placement, steps: Mapping[int, Sequence[float] | None]
) -> dict[int, list[KeyRange]]:
    """For every value that is cut, the ranges that its files share."""
    found: dict[int, list[KeyRange]] = {}
    for placed in placement.values:
        known = steps.get(placed.value.key)
        if placed.files > 1 and known:
            found[placed.value.key] = key_ranges(known, placed.files)
    return found if sum(map(len, found.values())) <= MAX_RANGES_IN_A_QUERY else {}


def _slot(lookup: TaskLookup, hashed: Column) -> Column:
    from pyspark.sql import functions as F

    table = lookup.table
    bucket = F.pmod(hashed, F.lit(len(table.displacements))).cast("int")
    mixed = hashed.bitwiseXOR(_long_array(table.displacements)[bucket])
    return F.pmod(mixed, F.lit(table.slots)).cast("int")


def _hash_offset(lookup: TaskLookup, slot: Column, salt: Column) -> Column:
    from pyspark.sql import functions as F

    if max(lookup.task_count) == 1:
        return F.lit(0)
    return F.pmod(salt, _int_array(lookup.task_count)[slot])


def _range_offset(
    lookup: TaskLookup,
    placement: Placement,
    slot: Column,
    cuts: Mapping[int, Sequence[KeyRange]],
    key: Column,
    salt: Column,
) -> Column:
    from pyspark.sql import functions as F

    offset: Any = None
    for placed in placement.values:
        ranges = cuts.get(placed.value.key)
        if not ranges:
            continue
        inside: Any = F.lit(0)
        for part in ranges[1:]:
            inside = inside + F.coalesce(
                (key >= F.lit(float(part.start or 0))).cast("int"), F.lit(0)
            )
        first = _int_array([part.first for part in ranges])[inside]
        if any(part.files > 1 for part in ranges):
            first = first + F.pmod(salt, _int_array([part.files for part in ranges])[inside])
        is_here = slot == F.lit(lookup.table.slot(placed.value.key))
        offset = F.when(is_here, first) if offset is None else offset.when(is_here, first)
    # A value without a single key to order it by is spread like any other.
    spread = _hash_offset(lookup, slot, salt)
    return spread if offset is None else offset.otherwise(spread)


def _int_array(values: Sequence[int]) -> Column:
    return _array(values, "int")


def _long_array(values: Sequence[int]) -> Column:
    return _array(values, "bigint")


def _array(values: Sequence[int], kind: str) -> Column:
    """One literal, folded once: ten thousand literals would be ten thousand calls into the JVM."""
    from pyspark.sql import functions as F

    text = ",".join(str(value) for value in values)
    return F.expr(f"cast(split('{text}', ',') as array<{kind}>)")
