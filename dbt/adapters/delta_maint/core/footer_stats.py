"""Parquet footer -> Delta statistics, without reading a row.

A bound is written only where it is true of every row, and for numbers and dates exact, because Delta
answers MIN, MAX and COUNT from it. Whatever a footer leaves in doubt is left out: a missing bound never
hides a row. In doubt are: float bounds of writers that skip NaN, INT96, dates of the old calendar,
strings that are not text, a column with one row group that says nothing.

This module runs on executors, which have pyarrow but not this package. So it imports nothing of ours,
hands out plain tuples and strings, and is shipped by value. Bounds travel as JSON text: a decimal never
passes through a float.
"""

from __future__ import annotations

import json
import math
import re
import struct
from datetime import date
from typing import Any, NamedTuple

# One leaf of one file: Spark type, nulls (None: unknown), JSON text of min and max (None: unknown).
Leaf = tuple[str, "int | None", "str | None", "str | None"]


class Writer(NamedTuple):
    """What can be believed of the bounds in a file, by who wrote it."""

    orders_nan: bool
    orders_bytes: bool
    is_legacy: bool


SPARK_SCHEMA_KEY = b"org.apache.spark.sql.parquet.row.metadata"
SPARK_VERSION_KEY = b"org.apache.spark.version"
LEGACY_CALENDAR_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
FIRST_GREGORIAN_DAY = date(1582, 10, 15).toordinal() - date(1970, 1, 1).toordinal()
MICROS_OF_1900 = -2_208_988_800_000_000
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
ASCII_TIE_BREAKER = "\x7f"
HIGHEST_CHARACTER = "\U0010ffff"
UNITS_PER_MILLISECOND = {"milliseconds": 1, "microseconds": 1_000}
INTEGER_ORDER = ("byte", "short", "integer", "long")
FLOATS = ("float", "double")
# Numbers whose order no writer ever got wrong.
PLAIN_ORDER = ("INT32", "INT64", "BOOLEAN")
# json.dumps makes an encoder for every call that is not all defaults.
quoted = json.JSONEncoder(ensure_ascii=False).encode
_PARQUET_MR = re.compile(r"parquet-mr version (\d+)\.(\d+)")


def leaf_columns(schema: Any) -> list[tuple[tuple[str, ...], str, bool]]:
    """Path, Spark type and "repeated" of every leaf of a parquet schema, in column order.

    Dotted paths do not tell a column `a.b` from the field b of a, so names come from the Arrow
    schema, walked depth-first. Where Arrow has no such type the answer is empty: nothing is known.
    """
    columns = [schema.column(index) for index in range(len(schema.names))]
    try:
        paths = [path for field in schema.to_arrow_schema() for path in _arrow_leaves(field, ())]
    except Exception:  # Arrow raises many kinds for a type it does not know
        return []
    if len(paths) != len(columns):
        return []
    return [
        (path, leaf_type(column), column.max_repetition_level > 0)
        for path, column in zip(paths, columns, strict=True)
    ]


def leaf_type(column: Any) -> str:
    """The type Spark reads a leaf as; `binary?` is bytes without an annotation, `?` is anything else."""
    logical = json.loads(column.logical_type.to_json())
    kind, physical = logical.get("Type"), column.physical_type
    if kind == "Int":
        return _integer_type(logical["bitWidth"], logical["isSigned"])
    if kind == "Decimal":
        return f"decimal({logical['precision']},{logical['scale']})"
    if kind == "Timestamp":
        if logical["timeUnit"] not in UNITS_PER_MILLISECOND or physical != "INT64":
            return "?"
        name = "timestamp" if logical["isAdjustedToUTC"] else "timestamp_ntz"
        return f"{name}:{logical['timeUnit']}"
    named = {"Date": "date", "String": "string", "Enum": "string", "JSON": "string"}
    if kind in named:
        return named[kind]
    if kind != "None":
        return "?"
    plain = {
        "INT32": "integer",
        "INT64": "long",
        "FLOAT": "float",
        "DOUBLE": "double",
        "BYTE_ARRAY": "binary?",
        "BOOLEAN": "boolean",
        "INT96": "int96",
    }
    return plain.get(physical, "?")


def wanted_leaves(
    columns: list[tuple[tuple[str, ...], str, bool]],
    *,
    limit: int,
    names: frozenset[str] | None = None,
    without: frozenset[str] = frozenset(),
) -> list[int]:
    """The leaves a table is likely to index: the first `limit` (-1: all), or those of `names`.

    A list or map counts once, whatever is inside; partition columns (`without`) do not count.
    """
    counted = 0
    repeated: set[str] = set()
    wanted: list[int] = []
    for index, (path, _, is_repeated) in enumerate(columns):
        top = path[0].lower()
        if top in without or (names is not None and top not in names):
            continue
        if not (is_repeated and top in repeated):
            if limit >= 0 and names is None and counted >= limit:
                break
            counted += 1
        if is_repeated:
            repeated.add(top)
        wanted.append(index)
    return wanted


def footer_leaves(
    metadata: Any,
    columns: list[tuple[tuple[str, ...], str, bool]],
    wanted: list[int],
    pairs: dict[bytes, bytes] | None = None,
    *,
    string_prefix: int = 32,
    without_nan: frozenset[int] = frozenset(),
) -> list[Leaf]:
    """The wanted leaves of one file, from the statistics of its row groups.

    `pairs` are the key-value pairs of the footer, for callers that have read them already;
    `without_nan` are float leaves whose rows were seen to hold no NaN, whoever wrote the file.
    """
    writer = writer_of(metadata.created_by, (metadata.metadata or {}) if pairs is None else pairs)
    groups = [
        group
        for group in (metadata.row_group(index) for index in range(metadata.num_row_groups))
        if group.num_rows > 0
    ]
    schema = metadata.schema
    found: list[Leaf] = []
    for index in wanted:
        _, kind, is_repeated = columns[index]
        physical_type = schema.column(index).physical_type
        nulls, lows, highs = _across_groups(groups, index, physical_type)
        low = high = None
        if lows is not None and not is_repeated:
            if kind in FLOATS:
                is_trusted = writer.orders_nan or index in without_nan
            else:
                is_trusted = writer.orders_bytes or (
                    physical_type in PLAIN_ORDER and not kind.startswith("unsigned")
                )
            if is_trusted:
                low, high = bounds_text(
                    kind, lows, highs, string_prefix=string_prefix, is_legacy=writer.is_legacy
                )
        found.append((kind, nulls, low, high))
    return found


def facts_leaves(
    facts: list[tuple[int | None, Any, Any]],
    columns: list[tuple[tuple[str, ...], str, bool]],
    wanted: list[int],
    writer: Writer,
    *,
    string_prefix: int = 32,
) -> list[Leaf]:
    """The same from nulls, least and greatest of each wanted column, for a writer that orders bytes."""
    found: list[Leaf] = []
    for index, (nulls, least, greatest) in zip(wanted, facts, strict=True):
        _, kind, is_repeated = columns[index]
        low = high = None
        if least is not None and not is_repeated and (writer.orders_nan or kind not in FLOATS):
            low, high = bounds_text(
                kind, [least], [greatest], string_prefix=string_prefix, is_legacy=writer.is_legacy
            )
        found.append((kind, nulls, low, high))
    return found


def writer_of(created_by: str | None, pairs: dict[bytes, bytes]) -> Writer:
    return Writer(
        _writer_orders_nan(created_by),
        _writer_orders_bytes(created_by),
        _has_legacy_calendar(pairs),
    )


def _across_groups(
    groups: list[Any], index: int, physical_type: str
) -> tuple[int | None, Any, Any]:
    """Nulls of all row groups, and (raw min values, raw max values) if every group can be trusted."""
    nulls: int | None = 0
    lows: list[Any] | None = []
    highs: list[Any] = []
    for group in groups:
        chunk = group.column(index)
        if chunk.physical_type != physical_type:
            # Asked for the statistics of such a chunk pyarrow ends the process.
            raise ValueError(
                f"column {index + 1} is {physical_type} in its schema and {chunk.physical_type} in a "
                "row group"
            )
        stats = chunk.statistics
        if stats is None:
            return None, None, None
        count = stats.null_count if stats.has_null_count else None
        if count is not None and count < 0:
            raise ValueError(f"column {index + 1} has {count} nulls")
        nulls = None if nulls is None or count is None else nulls + count
        if stats.has_min_max:
            if lows is not None:
                lows.append(stats.min_raw)
                highs.append(stats.max_raw)
        elif count is None or count != chunk.num_values:
            lows = None
    return nulls, lows or None, highs


def bounds_text(
    kind: str, lows: list[Any], highs: list[Any], *, string_prefix: int, is_legacy: bool
) -> tuple[str | None, str | None]:
    """JSON text of the least and the greatest; a side that is not sure is None."""
    try:
        if kind in INTEGER_ORDER:
            return str(min(lows)), str(max(highs))
        if kind in ("string", "binary?"):
            return (
                quoted(min([low.decode() for low in lows])[:string_prefix]),
                _max_string_text(max([high.decode() for high in highs]), string_prefix),
            )
        if kind in FLOATS:
            return _float_text(lows, min, kind), _float_text(highs, max, kind)
        if kind.startswith("timestamp"):
            return _timestamp_texts(kind, min(lows), max(highs), is_legacy)
        if kind == "date":
            return _date_texts(min(lows), max(highs), is_legacy)
        if kind.startswith("decimal"):
            return _decimal_texts(kind, lows, highs)
        if kind.startswith("unsigned"):
            return _unsigned_text(kind, lows, highs)
    except (UnicodeDecodeError, OverflowError, ValueError, TypeError):
        pass
    return None, None


def cut_max_string(text: str, prefix: int) -> str | None:
    """A string of about `prefix` characters that no string starting like `text` exceeds.

    >>> cut_max_string("abcd", 2) == "ab" + ASCII_TIE_BREAKER
    True
    """
    if len(text) <= prefix:
        return text
    for end in range(prefix, 2 * prefix + 1):
        if end >= len(text):
            return None
        if text[end] < ASCII_TIE_BREAKER:
            return text[:end] + ASCII_TIE_BREAKER
        if text[end] < HIGHEST_CHARACTER:
            return text[:end] + HIGHEST_CHARACTER
    return None


def float_text(value: float, kind: str) -> str | None:
    """The shortest text that reads back as this float; None for NaN and infinities."""
    if not math.isfinite(value):
        return None
    if value == 0:
        return "0.0"
    if kind == "double":
        return repr(value)
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
            return repr(float(text))
    return repr(value)


def decimal_text(unscaled: int, scale: int) -> str:
    """
    >>> decimal_text(-150, 2)
    '-1.50'
    """
    if scale <= 0:
        return str(unscaled * 10**-scale)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def date_text(days: int) -> str:
    return date.fromordinal(days + EPOCH_ORDINAL).isoformat()


def timestamp_text(milliseconds: int, *, is_utc: bool) -> str:
    """
    >>> timestamp_text(-1, is_utc=True)
    '1969-12-31T23:59:59.999Z'
    """
    seconds, millisecond = divmod(milliseconds, 1_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    day, zone = date_text(days), "Z" if is_utc else ""
    return "%sT%02d:%02d:%02d.%03d%s" % (day, hour, minute, second, millisecond, zone)  # noqa: UP031


def _arrow_leaves(field: Any, above: tuple[str, ...]) -> list[tuple[str, ...]]:
    here = (*above, field.name)
    kind = field.type
    if hasattr(kind, "storage_type"):
        kind = kind.storage_type
    if str(kind).startswith("dictionary"):
        return [here]
    children = [kind.field(index) for index in range(kind.num_fields)]
    if str(kind).startswith("map<"):
        children = [kind.key_field, kind.item_field]
    if not children:
        return [here]
    return [leaf for child in children for leaf in _arrow_leaves(child, here)]


def _integer_type(bits: int, is_signed: bool) -> str:
    if is_signed:
        return INTEGER_ORDER[(8, 16, 32, 64).index(bits)]
    return f"unsigned:{bits}"


def _writer_orders_nan(created_by: str | None) -> bool:
    """parquet-mr from 1.10 on sorts NaN last and so shows it; other writers leave it out unseen."""
    found = _PARQUET_MR.match(created_by or "")
    return found is not None and (int(found.group(1)), int(found.group(2))) >= (1, 10)


def _writer_orders_bytes(created_by: str | None) -> bool:
    """parquet-mr before 1.10, and those of its time that left no name, compared bytes as signed numbers."""
    found = _PARQUET_MR.match(created_by or "")
    if found is None:
        return bool(created_by) and not str(created_by).startswith("parquet-mr")
    return (int(found.group(1)), int(found.group(2))) >= (1, 10)


def _has_legacy_calendar(pairs: dict[bytes, bytes]) -> bool:
    if any(key in pairs for key in LEGACY_CALENDAR_KEYS):
        return True
    version = pairs.get(SPARK_VERSION_KEY)
    if version is None:
        return SPARK_SCHEMA_KEY in pairs
    return version[:2] in (b"1.", b"2.")


def _float_text(values: list[float], choose: Any, kind: str) -> str | None:
    if any(not math.isfinite(value) for value in values):
        return None
    return float_text(choose(values), kind)


def _unsigned_text(kind: str, lows: list[int], highs: list[int]) -> tuple[str | None, str | None]:
    mask = (1 << (64 if kind.endswith("64") else 32)) - 1
    low, high = min(v & mask for v in lows), max(v & mask for v in highs)
    return (str(low), str(high)) if low <= high else (None, None)


def _decimal_texts(kind: str, lows: list[Any], highs: list[Any]) -> tuple[str, str]:
    low, high = min(map(_unscaled, lows)), max(map(_unscaled, highs))
    if low > high:
        raise ValueError("bounds in an unknown order")
    scale = _scale(kind)
    return decimal_text(low, scale), decimal_text(high, scale)


def _unscaled(value: int | bytes) -> int:
    return value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)


def _scale(kind: str) -> int:
    return int(kind.rstrip(")").split(",")[1])


def _date_texts(low: int, high: int, is_legacy: bool) -> tuple[str | None, str | None]:
    if is_legacy and low < FIRST_GREGORIAN_DAY:
        return None, None
    return f'"{date_text(low)}"', f'"{date_text(high)}"'


def _timestamp_texts(
    kind: str, low: int, high: int, is_legacy: bool
) -> tuple[str | None, str | None]:
    name, unit = kind.split(":")
    per_millisecond = UNITS_PER_MILLISECOND[unit]
    if is_legacy and low * 1_000 // per_millisecond < MICROS_OF_1900:
        return None, None
    is_utc = name == "timestamp"
    return (
        f'"{timestamp_text(low // per_millisecond, is_utc=is_utc)}"',
        f'"{timestamp_text(high // per_millisecond, is_utc=is_utc)}"',
    )


def _max_string_text(text: str, prefix: int) -> str | None:
    cut = cut_max_string(text, prefix)
    return None if cut is None else quoted(cut)
