"""A table's schema as its parquet files have it: physical names, field ids, no void columns.

Without column mapping that is the schema itself. Imports nothing: executors get what it returns as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PHYSICAL_NAME = "delta.columnMapping.physicalName"
COLUMN_ID = "delta.columnMapping.id"
FIELD_ID = "parquet.field.id"


def physical_schema(schema: Mapping[str, Any], *, is_mapped: bool) -> dict[str, Any]:
    """Every column nullable, as Delta writes files.

    >>> column = {"name": "a", "type": "long", "nullable": False, "metadata": {PHYSICAL_NAME: "c1", COLUMN_ID: 7}}
    >>> physical_schema({"fields": [column]}, is_mapped=True)["fields"][0]["name"]
    'c1'
    """
    fields = [_field(f, is_mapped) for f in schema["fields"] if f["type"] != "void"]
    return {"type": "struct", "fields": fields}


def physical_path(
    schema: Mapping[str, Any], path: Sequence[str], *, is_mapped: bool
) -> tuple[str, ...]:
    """The physical names along a path of logical ones through structs."""
    names = []
    fields = schema["fields"]
    for part in path:
        column = next(f for f in fields if f["name"] == part)
        names.append(_name(column, is_mapped))
        kind = column["type"]
        fields = kind.get("fields", []) if isinstance(kind, dict) else []
    return tuple(names)


def _field(column: Mapping[str, Any], is_mapped: bool) -> dict[str, Any]:
    metadata = dict(column.get("metadata") or {})
    if is_mapped and COLUMN_ID in metadata:
        metadata = {FIELD_ID: metadata[COLUMN_ID], **metadata}
    return {
        "name": _name(column, is_mapped),
        "type": _type(column["type"], is_mapped),
        "nullable": True,
        "metadata": metadata,
    }


def _name(column: Mapping[str, Any], is_mapped: bool) -> str:
    name = (column.get("metadata") or {}).get(PHYSICAL_NAME) if is_mapped else None
    return str(name or column["name"])


def _type(kind: Any, is_mapped: bool) -> Any:
    if isinstance(kind, str):
        return kind
    found = dict(kind)
    if found["type"] == "struct":
        found["fields"] = [_field(child, is_mapped) for child in found["fields"]]
    for key in ("elementType", "keyType", "valueType"):
        if key in found:
            found[key] = _type(found[key], is_mapped)
    for key in ("containsNull", "valueContainsNull"):
        if key in found:
            found[key] = True
    return found
