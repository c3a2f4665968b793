"""One table schema from the schemas of many files, by Delta's rules.

Schemas are Spark's own JSON form. The result depends on the order given alone, which is path order, so
a folder always gives the same table. Everything becomes nullable; new columns go last; names are
compared without case and keep the first spelling. Byte, short and int become the widest of them;
nothing else changes type unless widening is asked for. A conflict names the column and both files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core.errors import SchemaMergeError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn

SparkType = Any  # a name, or the JSON object of a struct, array or map
Field = dict[str, Any]
Struct = dict[str, Any]

_INTEGERS = ("byte", "short", "integer")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_VOID = ("void", "null")
TYPE_CHANGES = "delta.typeChanges"
INVALID_NAME_CHARACTERS = " ,;{}()\n\t="


@dataclass(frozen=True)
class FileSchema:
    """The schema of one file, which stands for all files that have the same."""

    path: str
    struct: Struct


class _ConflictError(Exception):
    def __init__(self, column: str, left: SparkType, right: SparkType) -> None:
        super().__init__(column)
        self.column, self.left, self.right = column, left, right


def merge_file_schemas(schemas: Sequence[FileSchema], *, widen_types: bool = False) -> Struct:
    """Folds the schemas in the order given.

    With `widen_types` also int -> long, float -> double and decimals grow; the field then carries
    the change in its metadata, as Delta's type widening asks.
    """
    if not schemas:
        raise SchemaMergeError(
            "[DELTA_FAILED_INFER_SCHEMA] No file has a schema: name a folder with parquet files."
        )
    merged: Struct = {"type": "struct", "fields": []}
    for schema in schemas:
        _refuse_case_duplicates(schema.struct, schema.path)
        try:
            merged = _merge_structs(merged, as_nullable(schema.struct), (), widen_types)
        except _ConflictError as conflict:
            earlier = _first_with(schemas, conflict.column, schema.path)
            raise SchemaMergeError(_conflict_text(conflict, schema.path, earlier)) from None
    return merged


def as_nullable(kind: SparkType) -> SparkType:
    if isinstance(kind, str):
        return kind
    if kind["type"] == "struct":
        fields = [{**f, "type": as_nullable(f["type"]), "nullable": True} for f in kind["fields"]]
        return {**kind, "fields": fields}
    if kind["type"] == "array":
        return {**kind, "elementType": as_nullable(kind["elementType"]), "containsNull": True}
    if kind["type"] == "map":
        value = as_nullable(kind["valueType"])
        key = as_nullable(kind["keyType"])
        return {**kind, "keyType": key, "valueType": value, "valueContainsNull": True}
    return kind


def with_partition_columns(struct: Struct, partitions: Sequence[PartitionColumn]) -> Struct:
    """A partition column takes the place of a data column of its name, with its own type.

    The others are appended in path order.
    """
    by_name = {column.name.lower(): column for column in partitions}
    fields: list[Field] = []
    for field in struct["fields"]:
        column = by_name.pop(field["name"].lower(), None)
        fields.append(field if column is None else _partition_field(column))
    fields += [_partition_field(column) for column in by_name.values()]
    return {"type": "struct", "fields": fields}


def check_table_schema(struct: Struct) -> None:
    """What Delta would refuse, said before anything is written."""
    _refuse_case_duplicates(struct, None)
    bad = [name for name in _all_names(struct) if set(name) & set(INVALID_NAME_CHARACTERS)]
    if bad:
        raise SchemaMergeError(
            "[DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES] Column name(s) "
            f"{', '.join(repr(name) for name in bad)} contain one of the characters "
            "' ,;{}()\\n\\t=', which a Delta table without column mapping cannot hold: rename the "
            "columns, or convert through a view and a dbt model."
        )
    unsupported = [name for name, kind in _leaves(struct, "") if _is_unsupported(kind)]
    if unsupported:
        raise SchemaMergeError(
            "[DELTA_UNSUPPORTED_DATA_TYPES] Delta has no type for the column(s) "
            f"{', '.join(unsupported)}: leave them out, or write them as another type."
        )


def type_text(kind: SparkType) -> str:
    """A type as people write it.

    >>> type_text({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    if isinstance(kind, str):
        names = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
        return names.get(kind, kind)
    if kind["type"] == "struct":
        inside = ", ".join(f"{f['name']}: {type_text(f['type'])}" for f in kind["fields"])
        return f"struct<{inside}>"
    if kind["type"] == "array":
        return f"array<{type_text(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{type_text(kind['keyType'])}, {type_text(kind['valueType'])}>"
    return str(kind["type"])


def widened_columns(struct: Struct) -> list[str]:
    return [f["name"] for f in struct["fields"] if TYPE_CHANGES in f.get("metadata", {})]


def _merge_structs(left: Struct, right: Struct, at: tuple[str, ...], widen: bool) -> Struct:
    incoming = {field["name"].lower(): field for field in right["fields"]}
    fields: list[Field] = []
    for field in left["fields"]:
        other = incoming.pop(field["name"].lower(), None)
        fields.append(field if other is None else _merge_fields(field, other, at, widen))
    known = {field["name"].lower() for field in left["fields"]}
    fields += [field for field in right["fields"] if field["name"].lower() not in known]
    return {"type": "struct", "fields": fields}


def _merge_fields(left: Field, right: Field, at: tuple[str, ...], widen: bool) -> Field:
    here = (*at, left["name"])
    kind, change = _merge_types(left["type"], right["type"], here, widen)
    merged = {**left, "type": kind}
    if change is not None:
        changes = left.get("metadata", {}).get(TYPE_CHANGES, [])
        entry = {"fromType": change[0], "toType": change[1]}
        if entry not in changes:
            merged["metadata"] = {**left.get("metadata", {}), TYPE_CHANGES: [*changes, entry]}
    return merged


def _merge_types(
    left: SparkType, right: SparkType, at: tuple[str, ...], widen: bool
) -> tuple[SparkType, tuple[str, str] | None]:
    """The common type, and the change that type widening has to record, if there is one."""
    if isinstance(left, dict) and isinstance(right, dict) and left["type"] == right["type"]:
        if left["type"] == "struct":
            return _merge_structs(left, right, at, widen), None
        if left["type"] == "array":
            element, _ = _merge_types(left["elementType"], right["elementType"], at, False)
            return {**left, "elementType": element}, None
        if left["type"] == "map":
            key, _ = _merge_types(left["keyType"], right["keyType"], at, False)
            value, _ = _merge_types(left["valueType"], right["valueType"], at, False)
            return {**left, "keyType": key, "valueType": value}, None
    if left == right:
        return left, None
    if left in _VOID:
        return right, None
    if right in _VOID:
        return left, None
    if left in _INTEGERS and right in _INTEGERS:
        return max(left, right, key=_INTEGERS.index), None
    if widen and isinstance(left, str) and isinstance(right, str):
        wide = _wider(left, right)
        if wide is not None:
            return wide, (left if wide != left else right, wide)
    raise _ConflictError(".".join(at), left, right)


def _wider(left: str, right: str) -> str | None:
    pair = {left, right}
    if pair <= {*_INTEGERS, "long"}:
        return "long"
    if pair == {"float", "double"}:
        return "double"
    first, second = _DECIMAL.fullmatch(left), _DECIMAL.fullmatch(right)
    if first and second:
        digits = max(int(d.group(1)) - int(d.group(2)) for d in (first, second))
        scale = max(int(d.group(2)) for d in (first, second))
        wide = f"decimal({digits + scale},{scale})"
        # Readers widen a decimal by growing it; one that both sides must grow into has no file yet.
        if digits + scale <= 38 and wide in pair:
            return wide
    return None


def _conflict_text(conflict: _ConflictError, path: str, earlier: str) -> str:
    left, right = type_text(conflict.left), type_text(conflict.right)
    both_decimal = left.startswith("decimal") and right.startswith("decimal")
    inner = (
        "DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE"
        if both_decimal
        else "DELTA_MERGE_INCOMPATIBLE_DATATYPE"
    )
    can_widen = (
        isinstance(conflict.left, str)
        and isinstance(conflict.right, str)
        and _wider(conflict.left, conflict.right) is not None
    )
    way_out = (
        "set widen_types: true to read both as the wider type"
        if can_widen
        else "rewrite one of the two files"
    )
    return (
        f"[DELTA_FAILED_MERGE_SCHEMA_FILE] Failed to merge the schema of file {path} "
        f"[DELTA_FAILED_TO_MERGE_FIELDS] [{inner}]: column {conflict.column} is {right} there "
        f"and {left} in {earlier}: {way_out}."
    )


def _first_with(schemas: Sequence[FileSchema], column: str, before: str) -> str:
    wanted = column.lower().split(".")
    for schema in schemas:
        if schema.path == before:
            break
        if _has_column(schema.struct, wanted):
            return schema.path
    return "an earlier file"


def _has_column(struct: SparkType, path: Sequence[str]) -> bool:
    if not isinstance(struct, dict) or struct.get("type") != "struct":
        return not path
    for length in range(1, len(path) + 1):
        name = ".".join(path[:length])
        for field in struct["fields"]:
            if field["name"].lower() == name:
                return length == len(path) or _has_column(field["type"], path[length:])
    return False


def _refuse_case_duplicates(struct: Struct, path: str | None) -> None:
    seen: dict[str, str] = {}
    for field in struct["fields"]:
        other = seen.get(field["name"].lower())
        if other is not None:
            where = f"the file {path}" if path else "the table schema"
            raise SchemaMergeError(
                f"[DELTA_DUPLICATE_COLUMNS_FOUND] Columns {other} and {field['name']} of {where} "
                "differ by case alone or not at all, which Spark cannot tell apart: rename one."
            )
        seen[field["name"].lower()] = field["name"]
    for field in struct["fields"]:
        if isinstance(field["type"], dict) and field["type"].get("type") == "struct":
            _refuse_case_duplicates(field["type"], path)


def _partition_field(column: PartitionColumn) -> Field:
    return {"name": column.name, "type": column.type_name, "nullable": True, "metadata": {}}


def _all_names(kind: SparkType) -> Iterable[str]:
    if isinstance(kind, str):
        return
    if kind["type"] == "struct":
        for field in kind["fields"]:
            yield field["name"]
            yield from _all_names(field["type"])
    for part in ("elementType", "keyType", "valueType"):
        if part in kind:
            yield from _all_names(kind[part])


def _leaves(kind: SparkType, at: str) -> Iterable[tuple[str, SparkType]]:
    if isinstance(kind, str):
        yield at, kind
    elif kind["type"] == "struct":
        for field in kind["fields"]:
            yield from _leaves(field["type"], f"{at}.{field['name']}".lstrip("."))
    else:
        for part in ("elementType", "keyType", "valueType"):
            if part in kind:
                yield from _leaves(kind[part], at)


def _is_unsupported(kind: SparkType) -> bool:
    return isinstance(kind, str) and kind.startswith(("interval", "calendarinterval", "geo"))


def schema_json(struct: Struct) -> str:
    return json.dumps(struct, ensure_ascii=False, separators=(",", ":"))
