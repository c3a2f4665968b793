"""Spark's own schema, as JSON -> columns and types as DESCRIBE and ALTER TABLE write them.

DESCRIBE shortens a struct of many fields and does not quote the names inside it, so its text cannot always
go back into a statement. This one can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dbt.adapters.delta_maint.core import sql_text

_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
# Spark reads VARCHAR and CHAR as strings and remembers what was declared beside the field.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_PLAIN = re.compile(r"[A-Za-z_]\w*")


def columns_of(schema: str) -> list[tuple[str, str]]:
    """
    >>> columns_of('{"type":"struct","fields":[{"name":"n","type":"long","metadata":{}}]}')
    [('n', 'bigint')]
    """
    return [(field["name"], field_type(field)) for field in json.loads(schema)["fields"]]


def field_type(field: Mapping[str, Any]) -> str:
    declared = (field.get("metadata") or {}).get(_DECLARED)
    return str(declared) if declared else type_text(field["type"])


def type_text(kind: Any) -> str:
    """
    >>> type_text({"type": "struct", "fields": [{"name": "a b", "type": "date", "metadata": {}}]})
    'struct<`a b`:date>'
    """
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    if kind["type"] == "struct":
        return f"struct<{','.join(_member(field) for field in kind['fields'])}>"
    if kind["type"] == "array":
        return f"array<{type_text(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{type_text(kind['keyType'])},{type_text(kind['valueType'])}>"
    return type_text(kind["sqlType"])  # a type of a user's own is stored as another


def _member(field: Mapping[str, Any]) -> str:
    name = field["name"]
    quoted = name if _PLAIN.fullmatch(name) else sql_text.identifier(name)
    return f"{quoted}:{field_type(field)}"
