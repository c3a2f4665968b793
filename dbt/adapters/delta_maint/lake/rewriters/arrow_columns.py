"""A file's columns -> the table's columns: missing, reordered and widened ones come out as the table says.

Travels to executors by value. A type in a file that is not proven to read as the table's type is refused
by name; no value is ever changed to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from dbt.adapters.delta_maint.core import footer_stats

Convert = Callable[[pa.Array], pa.Array]
# Place in the file (None: the file lacks it) and the conversion (None: it is what the table says).
Column = tuple["int | None", "Convert | None"]

PLAIN = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
INTEGERS = ("byte", "short", "integer", "long")
DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
UNSIGNED = {"unsigned:8": "short", "unsigned:16": "integer", "unsigned:32": "long"}


class RefusedFileError(Exception):
    """Why Arrow leaves a bin to Spark."""


def arrow_field(column: dict[str, Any]) -> pa.Field:
    number = (column.get("metadata") or {}).get("parquet.field.id")
    metadata = None if number is None else {b"PARQUET:field_id": str(number).encode()}
    return pa.field(column["name"], arrow_type(column["type"]), True, metadata)


def arrow_type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        if kind.startswith("decimal("):
            precision, scale = decimal_parts(kind)
            return pa.decimal128(precision, scale)
        return PLAIN[kind]
    if kind["type"] == "struct":
        return pa.struct([arrow_field(child) for child in kind["fields"]])
    if kind["type"] == "array":
        return pa.list_(pa.field("element", arrow_type(kind["elementType"])))
    return pa.map_(arrow_type(kind["keyType"]), pa.field("value", arrow_type(kind["valueType"])))


def spark_name(kind: pa.DataType) -> str:
    """The table's name of a primitive Arrow type made by `arrow_type`."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for name, known in PLAIN.items() if known.equals(kind))


def decimal_parts(kind: str) -> tuple[int, int]:
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def reads_as(kind: str, wanted: str) -> bool:
    """Whether a leaf of a file, as `footer_stats.leaf_type` names it, is the table's type or grows to it.

    >>> reads_as("integer", "long"), reads_as("long", "integer"), reads_as("int96", "timestamp")
    (True, False, True)
    """
    kind = UNSIGNED.get(kind, kind)
    name = kind.split(":")[0]
    if name == wanted or (kind, wanted) == ("binary?", "binary"):
        return True
    if kind in INTEGERS:
        if wanted in INTEGERS:
            return INTEGERS.index(kind) < INTEGERS.index(wanted)
        if wanted.startswith("decimal"):
            precision, scale = decimal_parts(wanted)
            return precision - scale >= DIGITS[kind]
        return wanted == "double" and kind != "long"
    if kind.startswith("decimal") and wanted.startswith("decimal"):
        (precision, scale), (more, finer) = decimal_parts(kind), decimal_parts(wanted)
        return finer >= scale and more - finer >= precision - scale
    return (kind, wanted) in {
        ("float", "double"),
        ("int96", "timestamp"),
        ("date", "timestamp_ntz"),
    }


def refuse_old_calendar(metadata: Any, has_times: bool) -> None:
    """Days before 1582 mean something else in files of Spark 2 and Hive; only Spark turns them over."""
    pairs = metadata.metadata or {}
    if not has_times:
        return
    if any(key in pairs for key in footer_stats.LEGACY_CALENDAR_KEYS):
        raise RefusedFileError("a file of the old calendar")
    version = pairs.get(footer_stats.SPARK_VERSION_KEY)
    is_old = version is not None and version[:2] in (b"1.", b"2.")
    if is_old or (version is None and (metadata.created_by or "").startswith("parquet-mr")):
        raise RefusedFileError("a file whose writer may have used the old calendar")


def plan_columns(file: pq.ParquetFile, schema: pa.Schema) -> list[Column]:
    """How each column of the table comes out of this file."""
    found = file.schema_arrow
    leaves = footer_stats.leaf_columns(file.schema)
    kinds: dict[int, list[str]] = {}
    at = 0
    for place, field in enumerate(found):
        count = sum(1 for _ in leaf_types(field.type))
        kinds[place] = [kind for _, kind, _ in leaves[at : at + count]]
        at += count
    if at != len(leaves):
        raise RefusedFileError("a file whose columns Arrow cannot name")
    plan: list[Column] = []
    for wanted in schema:
        name = matching_name(wanted.name, found.names)
        if name is None:
            plan.append((None, None))
            continue
        place = found.names.index(name)
        convert = conversion(found.field(place).type, wanted.type, iter(kinds[place]), name)
        plan.append((place, convert))
    return plan


def conform_columns(batch: pa.RecordBatch, plan: list[Column], schema: pa.Schema) -> list[pa.Array]:
    arrays = []
    for (place, convert), wanted in zip(plan, schema, strict=True):
        if place is None:
            arrays.append(pa.nulls(batch.num_rows, wanted.type))
        else:
            array = batch.column(place)
            arrays.append(array if convert is None else convert(array))
    return arrays


def matching_name(wanted: str, names: list[str]) -> str | None:
    """Spark reads names without regard to case; two that differ by it are not told apart."""
    exact = [name for name in names if name == wanted]
    found = exact or [name for name in names if name.lower() == wanted.lower()]
    if len(found) > 1:
        raise RefusedFileError(f"a file with several columns named {wanted}")
    return found[0] if found else None


def conversion(
    found: pa.DataType, wanted: pa.DataType, kinds: Iterator[str], name: str
) -> Convert | None:
    """None where the array is already what the table says; takes one of `kinds` per leaf."""
    if isinstance(found, pa.BaseExtensionType):
        raise RefusedFileError(f"column {name} is of the type {found} in a file")
    if pa.types.is_struct(wanted) and pa.types.is_struct(found):
        return _of_struct(found, wanted, kinds, name)
    if pa.types.is_map(wanted) and pa.types.is_map(found):
        return _of_map(found, wanted, kinds, name)
    if pa.types.is_list(wanted) and (pa.types.is_list(found) or pa.types.is_large_list(found)):
        return _of_list(found, wanted, kinds, name)
    if pa.types.is_nested(wanted) or pa.types.is_nested(found):
        raise RefusedFileError(f"column {name} is {found} in a file and {wanted} in the table")
    kind, target = next(kinds), spark_name(wanted)
    if not reads_as(kind, target):
        raise RefusedFileError(f"column {name} is {kind} in a file and {target} in the table")
    if found.equals(wanted):
        return None
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted) and found.unit == "us":
        return lambda array: array.view(wanted)
    return lambda array: array.cast(wanted)


def leaf_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_map(kind):
        yield from leaf_types(kind.key_type)
        yield from leaf_types(kind.item_type)
    elif pa.types.is_struct(kind) and kind.num_fields:
        for index in range(kind.num_fields):
            yield from leaf_types(kind.field(index).type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from leaf_types(kind.value_type)
    else:
        yield kind


def locate(schema: pa.Schema, path: tuple[str, ...]) -> tuple[int, list[int], pa.DataType]:
    """The place of a column, the steps through its structs, and the type at the end of the path."""
    place = schema.names.index(path[0])
    kind, steps = schema.field(place).type, []
    for part in path[1:]:
        step = kind.get_field_index(part)
        steps.append(step)
        kind = kind.field(step).type
    return place, steps, kind


def _of_struct(
    found: pa.DataType, wanted: pa.DataType, kinds: Iterator[str], name: str
) -> Convert | None:
    fields = [found.field(index) for index in range(found.num_fields)]
    names = [field.name for field in fields]
    own = [[next(kinds) for _ in leaf_types(field.type)] for field in fields]
    parts: list[Column] = []
    for index in range(wanted.num_fields):
        child = wanted.field(index)
        match = matching_name(child.name, names)
        if match is None:
            parts.append((None, None))
            continue
        place = names.index(match)
        inside = conversion(fields[place].type, child.type, iter(own[place]), f"{name}.{match}")
        parts.append((place, inside))
    if found.equals(wanted) and all(convert is None for _, convert in parts):
        return None
    children = list(wanted)

    def convert(array: pa.Array) -> pa.Array:
        arrays = []
        for (place, inside), child in zip(parts, children, strict=True):
            if place is None:
                arrays.append(pa.nulls(len(array), child.type))
            else:
                values = array.field(place)
                arrays.append(values if inside is None else inside(values))
        return pa.StructArray.from_arrays(arrays, fields=children, mask=array.is_null())

    return convert


def _of_list(
    found: pa.DataType, wanted: pa.DataType, kinds: Iterator[str], name: str
) -> Convert | None:
    inside = conversion(found.value_type, wanted.value_type, kinds, name)
    if inside is None and found.equals(wanted):
        return None

    def convert(array: pa.Array) -> pa.Array:
        array = _from_its_start(array)
        values = array.values if inside is None else inside(array.values)
        offsets = array.offsets.cast(pa.int32())
        return pa.ListArray.from_arrays(offsets, values, type=wanted, mask=array.is_null())

    return convert


def _of_map(
    found: pa.DataType, wanted: pa.DataType, kinds: Iterator[str], name: str
) -> Convert | None:
    of_keys = conversion(found.key_type, wanted.key_type, kinds, f"{name}.key")
    of_values = conversion(found.item_type, wanted.item_type, kinds, f"{name}.value")
    if of_keys is None and of_values is None and found.equals(wanted):
        return None

    def convert(array: pa.Array) -> pa.Array:
        array = _from_its_start(array)
        keys = array.keys if of_keys is None else of_keys(array.keys)
        items = array.items if of_values is None else of_values(array.items)
        return pa.MapArray.from_arrays(
            array.offsets, keys, items, type=wanted, mask=array.is_null()
        )

    return convert


def _from_its_start(array: pa.Array) -> pa.Array:
    """A slice as an array of its own: offsets and values of a slice do not start together."""
    if array.offset == 0:
        return array
    return array.take(pa.array(range(len(array)), pa.int64()))
