"""Contract constraints -> Delta table properties that hold from the first row on.

Delta checks a CHECK constraint that comes with CREATE OR REPLACE ... AS SELECT while it writes, so a
violating model fails before anything is visible and the old table stays. NOT NULL is written the same
way: Spark makes every column of a CREATE TABLE AS SELECT nullable, and Delta refuses to change that
afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.delta_maint.core.sql_text import identifier

PREFIX = "delta.constraints."


def constraint_properties(model: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The properties, and a sentence for each constraint that Delta does not enforce."""
    found: dict[str, str] = {}
    remarks: list[str] = []
    for constraint in model.get("constraints") or []:
        _add(found, remarks, constraint, column=None)
    for column in (model.get("columns") or {}).values():
        for constraint in column.get("constraints") or []:
            _add(found, remarks, constraint, column=column)
    return found, remarks


def _add(
    found: dict[str, str],
    remarks: list[str],
    constraint: Mapping[str, Any],
    *,
    column: Mapping[str, Any] | None,
) -> None:
    kind = str(getattr(constraint["type"], "value", constraint["type"]))
    if kind == "not_null":
        names: Iterable[str] = [column["name"]] if column else constraint.get("columns") or []
        for name in names:
            found[f"{PREFIX}{_plain(name)}_not_null"] = f"{identifier(name)} is not null"
    elif kind == "check":
        expression = str(constraint["expression"])
        name = constraint.get("name") or f"check_{_digest(expression)}"
        found[f"{PREFIX}{name}"] = expression
    elif kind in ("primary_key", "foreign_key", "unique"):
        where = f" on {column['name']}" if column else ""
        remarks.append(f"The {kind} constraint{where} is documentation: Delta does not enforce it.")


def _plain(name: str) -> str:
    plain = "".join(char if char.isalnum() else "_" for char in name.lower())
    return plain if plain == name.lower() else f"{plain}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8]
