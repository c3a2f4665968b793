"""Partition keys <-> the WHERE clause that names exactly those partitions.

Columns appear by their logical names, quoted; values as typed casts of the raw strings of the log; null
as IS NULL. Delta silently ignores a predicate on a partition column whose name holds a dot, and would
rewrite the whole table: that is refused here, before any statement exists.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from zoneinfo import ZoneInfo

from dbt.adapters.delta_maint.core.errors import PredicateError
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.core.table import PartitionColumn, PartitionKey, Snapshot


def create_partition_predicate(
    columns: Sequence[PartitionColumn], partitions: Iterable[PartitionKey]
) -> str | None:
    """None where nothing narrows: an unpartitioned table.

    >>> column = PartitionColumn("day", "day", "date")
    >>> create_partition_predicate([column], [("2026-01-01",), (None,)])
    "(`day` = cast('2026-01-01' as date)) or (`day` is null)"
    """
    if not columns:
        return None
    refuse_columns_that_cannot_narrow(columns)
    terms = [
        "(" + " and ".join(_term(c, v) for c, v in zip(columns, key, strict=True)) + ")"
        for key in partitions
    ]
    if not terms:
        raise PredicateError("No partition was named: a statement without any would take them all.")
    return " or ".join(terms)


def refuse_columns_that_cannot_narrow(columns: Sequence[PartitionColumn]) -> None:
    for column in columns:
        if "." in column.name:
            raise PredicateError(
                f"The partition column {column.name!r} has a dot in its name, and Delta ignores a "
                "predicate on it: rename the column, or compact the whole table with OPTIMIZE."
            )


def typed_key(columns: Sequence[PartitionColumn], key: PartitionKey, zone: str) -> PartitionKey:
    """One key for all notations of one partition: a timestamp is logged in UTC or in local time."""
    return tuple(
        _instant(value, zone) if value is not None and column.sql_type == "timestamp" else value
        for column, value in zip(columns, key, strict=True)
    )


def first_notations(snapshot: Snapshot, zone: str) -> Callable[[PartitionKey], PartitionKey]:
    """OPTIMIZE groups by typed values, so two notations of one timestamp are one partition."""
    columns = snapshot.partition_columns
    if not any(column.sql_type == "timestamp" for column in columns):
        return lambda key: key
    first_of: dict[PartitionKey, PartitionKey] = {}
    for key in snapshot.by_partition():
        first_of.setdefault(typed_key(columns, key, zone), key)
    return lambda key: first_of.get(typed_key(columns, key, zone), key)


def _instant(raw: str, zone: str) -> str:
    try:
        moment = dt.datetime.fromisoformat(raw.replace("Z", "+00:00").replace(" +", "+"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(zone))
        return moment.astimezone(dt.timezone.utc).isoformat()
    except (ValueError, KeyError):
        return raw


def _term(column: PartitionColumn, raw: str | None) -> str:
    name = identifier(column.name)
    if raw is None:
        return f"{name} is null"
    literal = string_literal(raw)
    if column.sql_type in ("string",) or column.sql_type.startswith(("char", "varchar")):
        return f"{name} = {literal}"
    return f"{name} = cast({literal} as {column.sql_type})"
