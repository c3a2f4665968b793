"""Contract constraints -> Delta table properties that hold from the first row on.

Delta checks a CHECK constraint that comes with CREATE OR REPLACE ... AS SELECT while it writes, so a
violating model fails before anything is visible and the old table stays. NOT NULL is written the same
way, because every column of a CREATE TABLE AS SELECT is nullable; once the rows are there, and known not
to be NULL, the schema says so instead. A table that is added to gets what it lacks before its new rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.merge_options import names
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt_common.contracts.constraints import ColumnLevelConstraint, ConstraintType

PREFIX = "delta.constraints."


def constraint_properties(
    model: Mapping[str, Any], file_format: str
) -> tuple[dict[str, str], list[ColumnLevelConstraint]]:
    """The properties, and the constraints that Delta does not enforce, for dbt to warn about."""
    found: dict[str, str] = {}
    unenforced: list[ColumnLevelConstraint] = []
    for constraint in model.get("constraints") or []:
        _add(found, unenforced, constraint, column=None)
    for column in (model.get("columns") or {}).values():
        for constraint in column.get("constraints") or []:
            _add(found, unenforced, constraint, column=column)
    if found and file_format != "delta":
        raise ConfigError(
            f"{model['name']} has constraints, which {file_format} tables do not enforce: use "
            "file_format delta, or remove them."
        )
    return found, unenforced


def _add(
    found: dict[str, str],
    unenforced: list[ColumnLevelConstraint],
    constraint: Mapping[str, Any],
    *,
    column: Mapping[str, Any] | None,
) -> None:
    kind = _kind(constraint)
    if kind == "not_null":
        for name in names(column["name"] if column else constraint.get("columns")):
            found[not_null_property(name)] = f"{identifier(name)} is not null"
    elif kind == "check":
        expression = str(constraint.get("expression") or "")
        if not expression:
            raise ConfigError("A check constraint has no expression: say what must hold.")
        name = constraint.get("name") or f"check_{_digest(expression)}"
        found[f"{PREFIX}{name}"] = expression
    elif kind in ("primary_key", "foreign_key", "unique"):
        unenforced.append(
            ColumnLevelConstraint(
                type=ConstraintType(kind),
                warn_unenforced=constraint.get("warn_unenforced", True),
                warn_unsupported=constraint.get("warn_unsupported", True),
            )
        )


def constraint_changes(
    table: str, wanted: Mapping[str, str], observed: Mapping[str, str]
) -> list[str]:
    """The statements that give a table the constraints it lacks; Delta checks every row for each.

    >>> constraint_changes("t", {"delta.constraints.Sign": "a > 0"}, {"delta.constraints.sign": "a > 0"})
    []
    >>> constraint_changes("t", {"delta.constraints.sign": "a > 0"}, {"delta.constraints.sign": "a > 1"})
    ['alter table t drop constraint `sign`', 'alter table t add constraint `sign` check (a > 0)']
    """
    there = {key.lower(): expression for key, expression in observed.items()}
    found = []
    for key, expression in wanted.items():
        name = identifier(key[len(PREFIX) :])
        if there.get(key.lower()) == expression:
            continue
        if key.lower() in there:
            found.append(f"alter table {table} drop constraint {name}")
        found.append(f"alter table {table} add constraint {name} check ({expression})")
    return found


def not_null_columns(model: Mapping[str, Any]) -> list[str]:
    found = []
    for column in (model.get("columns") or {}).values():
        for constraint in column.get("constraints") or []:
            if _kind(constraint) == "not_null":
                found += names(column["name"])
    for constraint in model.get("constraints") or []:
        if _kind(constraint) == "not_null":
            found += names(constraint.get("columns"))
    return found


def not_null_property(column: str) -> str:
    return f"{PREFIX}{_plain(column)}_not_null"


def _kind(constraint: Mapping[str, Any]) -> str:
    return str(getattr(constraint["type"], "value", constraint["type"]))


def _plain(name: str) -> str:
    plain = "".join(char if char.isalnum() else "_" for char in name.lower())
    return plain if plain == name.lower() else f"{plain}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8]
