"""Partition values as text <-> what the column's type makes of them.

A type is inferred only where reading the value back gives the same text: `7` is an int, `007` stays a
string. A declared type must fit every value. Values leave here as Delta stores them: dates as
`yyyy-MM-dd`, timestamps in UTC with microseconds, booleans as true and false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from zoneinfo import ZoneInfo

from dbt.adapters.delta_maint.core.errors import PartitionLayoutError

INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}:?\d{2})?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_DECIMAL_TYPE = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}
_WORDS = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal(10,0)",
    "numeric": "decimal(10,0)",
    "decimal": "decimal(10,0)",
}
_KNOWN = {*INTEGER_BITS, "string", "boolean", "float", "double", "date", "timestamp"} | {
    "timestamp_ntz"
}


def type_from_ddl(text: str) -> str:
    """A type as people write it -> as a Spark schema spells it.

    >>> type_from_ddl("BIGINT"), type_from_ddl("decimal(5, 2)")
    ('long', 'decimal(5,2)')
    """
    word = " ".join(text.lower().split())
    found = re.fullmatch(r"(?:decimal|dec|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", word)
    if found:
        return f"decimal({int(found.group(1))},{int(found.group(2) or 0)})"
    if re.fullmatch(r"(?:var)?char\s*\(\s*\d+\s*\)", word):
        return "string"
    word = _WORDS.get(word, word)
    if word not in _KNOWN and not _DECIMAL_TYPE.fullmatch(word):
        raise PartitionLayoutError(
            f"{text!r} is not a type for a partition column: use string, boolean, tinyint, "
            "smallint, int, bigint, float, double, decimal(p,s), date, timestamp or timestamp_ntz."
        )
    return word


def type_to_ddl(type_name: str) -> str:
    """
    >>> type_to_ddl("long")
    'bigint'
    """
    names = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
    return names.get(type_name, type_name)


def infer_type(values: Iterable[str | None], *, zone: str = "UTC") -> str:
    """The narrowest type from which every value comes back as it was written.

    >>> infer_type(["7", "12"]), infer_type(["007"]), infer_type(["2024-02-29"])
    ('integer', 'string', 'date')
    """
    present = [value for value in values if value is not None]
    if not present:
        return "string"
    if all(_is_plain_integer(value) for value in present):
        widest = max(int(value).bit_length() for value in present)
        return "integer" if widest < 32 else "long" if widest < 64 else "string"
    if all(_is_plain_date(value) for value in present):
        return "date"
    if all(_is_plain_timestamp(value, zone) for value in present):
        return "timestamp"
    return "string"


def stored_value(
    value: str | None, type_name: str, *, column: str, zone: str = "UTC"
) -> str | None:
    """The text Delta keeps in `partitionValues`; a value that does not fit is an error.

    >>> stored_value("2024-01-01 00:30:00", "timestamp", column="t", zone="Europe/Berlin")
    '2023-12-31T23:30:00.000000Z'
    """
    if value is None or type_name == "string":
        return value
    text = value.strip()
    try:
        return _store(text, type_name, zone)
    except (ValueError, ArithmeticError) as exc:
        raise PartitionLayoutError(
            f"[DELTA_FAILED_CAST_PARTITION_VALUE] Failed to cast partition value {value!r} of "
            f"column {column} to {type_to_ddl(type_name)}: declare {column} as string in "
            "partition_by, or rename the folder."
        ) from exc


def session_zone(name: str) -> tzinfo:
    """A time zone as Spark names it: a region, or an offset such as +02:00."""
    return _zone(name)


@lru_cache(maxsize=16)
def _zone(name: str) -> tzinfo:
    if name in ("Z", "UTC", "GMT"):
        return timezone.utc
    found = _OFFSET.fullmatch(name)
    if found:
        sign = -1 if found.group(1) == "-" else 1
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        return timezone(sign * timedelta(hours=hours, minutes=minutes, seconds=seconds))
    return ZoneInfo(name)


def _store(text: str, type_name: str, zone: str) -> str:
    if type_name in INTEGER_BITS:
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ValueError(text)
        number = int(text)
        limit = 1 << (INTEGER_BITS[type_name] - 1)
        if not -limit <= number < limit:
            raise ValueError(text)
        return str(number)
    if type_name == "boolean":
        return _store_boolean(text)
    if type_name in ("float", "double"):
        float(text)
        if "_" in text:
            raise ValueError(text)
        return text
    decimal_type = _DECIMAL_TYPE.fullmatch(type_name)
    if decimal_type:
        return _store_decimal(text, int(decimal_type.group(1)), int(decimal_type.group(2)))
    if type_name == "date":
        found = _DATE.fullmatch(text)
        if not found:
            raise ValueError(text)
        return date(*(int(part) for part in found.groups())).isoformat()
    if type_name == "timestamp":
        moment, offset = _parse_timestamp(text)
        aware = moment.replace(tzinfo=offset or _zone(zone)).astimezone(timezone.utc)
        return aware.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)
    if type_name == "timestamp_ntz":
        moment, offset = _parse_timestamp(text)
        if offset is not None:
            raise ValueError(text)
        return moment.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26)
    raise ValueError(type_name)


def _store_boolean(text: str) -> str:
    word = text.lower()
    if word in _TRUE:
        return "true"
    if word in _FALSE:
        return "false"
    raise ValueError(text)


def _store_decimal(text: str, precision: int, scale: int) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation as exc:
        raise ValueError(text) from exc
    if not number.is_finite():
        raise ValueError(text)
    exact = number.quantize(Decimal(1).scaleb(-scale))
    if exact != number or len(exact.as_tuple().digits) > max(precision, scale):
        raise ValueError(text)
    return format(exact, "f")


def _parse_timestamp(text: str) -> tuple[datetime, tzinfo | None]:
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        raise ValueError(text)
    *parts, fraction, offset = found.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    microsecond = int((fraction or "").ljust(6, "0"))
    moment = datetime(year, month, day, hour, minute, second, microsecond)
    return moment, _zone(offset) if offset else None


def _is_plain_integer(text: str) -> bool:
    return re.fullmatch(r"0|-?[1-9][0-9]*", text) is not None


def _is_plain_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_plain_timestamp(text: str, zone: str) -> bool:
    found = re.fullmatch(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?", text
    )
    if not found or (found.group(1) or "1").endswith("0"):
        return False
    try:
        moment, _ = _parse_timestamp(text)
        local = moment.replace(tzinfo=_zone(zone))
        # An hour that the clock skips does not come back as it was written.
        return local.astimezone(timezone.utc).astimezone(_zone(zone)).replace(tzinfo=None) == moment
    except (ValueError, ArithmeticError):
        return False
