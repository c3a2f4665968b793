"""Columns as a Spark Thrift server sends them -> rows of Python values.

Decimals, dates and timestamps travel as text, arrays, maps and structures as text that is nearly JSON.
Timestamps are read in the session's time zone and given as local ones without a zone, as a session of
Spark's own gives them.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from dbt.adapters.delta_maint.environments.thrift_protocol import TypeId

_NAMES = {
    0: "boolean",
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "bigint",
    5: "float",
    6: "double",
    7: "string",
    8: "timestamp",
    9: "binary",
    10: "array",
    11: "map",
    12: "struct",
    15: "decimal",
    16: "void",
    17: "date",
}

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class ThriftColumn:
    name: str
    type_id: int

    @classmethod
    def of(cls, description: Any) -> ThriftColumn:
        entry = description.typeDesc.types[0].primitiveEntry
        return cls(str(description.columnName), int(entry.type) if entry else TypeId.STRUCT)

    @property
    def type_name(self) -> str:
        return _NAMES.get(self.type_id, "string")

    @property
    def is_timestamp(self) -> bool:
        return self.type_id == TypeId.TIMESTAMP

    def converter(self, zone: str | None) -> Convert | None:
        """None where the value is one of Python's already."""
        if self.type_id == TypeId.DECIMAL:
            return Decimal
        if self.type_id == TypeId.DATE:
            return _date
        if self.type_id == TypeId.TIMESTAMP:
            return _timestamps(zone)
        if self.type_id in (TypeId.ARRAY, TypeId.MAP, TypeId.STRUCT):
            return structure
        return None


def rows_of(
    row_set: Any, columns: Sequence[ThriftColumn], zone: str | None
) -> Iterator[tuple[Any, ...]]:
    if row_set is None or not row_set.columns:
        return
    values = [
        _values(sent, column.converter(zone))
        for sent, column in zip(row_set.columns, columns, strict=True)
    ]
    yield from zip(*values, strict=True)


def structure(text: str) -> Any:
    """
    >>> structure('["a","b"]'), structure('{"k":"v"}')
    (['a', 'b'], {'k': 'v'})
    >>> structure('["say "hi""]')  # Spark does not escape what is inside: left as it came
    '["say "hi""]'
    """
    try:
        return json.loads(text)
    except ValueError:
        return text


def _values(sent: Any, convert: Convert | None) -> list[Any]:
    column = next(found for name in sent.__slots__ if (found := getattr(sent, name)) is not None)
    values: list[Any] = column.values or []
    nulls: bytes = column.nulls or b""
    if not any(nulls):
        return values if convert is None else [convert(value) for value in values]
    return [
        None if _is_null(nulls, index) else (value if convert is None else convert(value))
        for index, value in enumerate(values)
    ]


def _is_null(nulls: bytes, index: int) -> bool:
    byte = index // 8
    return byte < len(nulls) and bool(nulls[byte] & (1 << (index % 8)))


def _date(text: str) -> Any:
    """A date that Python does not know, in the year 10000 say, stays text."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return text


def _timestamps(zone: str | None) -> Convert:
    found = None
    if zone is not None:
        try:
            found = ZoneInfo(zone)
        except Exception:  # a fixed offset, as Java writes it
            found = None

    def read(text: str) -> Any:
        try:
            stamp = dt.datetime.fromisoformat(_six_digits(text))
        except ValueError:
            return text
        if found is None:
            return stamp
        return stamp.replace(tzinfo=found).astimezone().replace(tzinfo=None)

    return read


def _six_digits(text: str) -> str:
    """Python before 3.11 reads three or six digits of a second, no other number of them."""
    whole, dot, fraction = text.partition(".")
    return f"{whole}.{fraction:0<6}" if dot else whole
