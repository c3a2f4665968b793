"""The model's columns against the table's -> what `on_schema_change` makes of the difference.

Names are compared without case, as Spark does. The plan is made before anything is altered, so what
cannot be done is refused while the table is still as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.nested_types import added_fields, misplaced_field

IGNORE, FAIL, APPEND, SYNC = "ignore", "fail", "append_new_columns", "sync_all_columns"
MODES = (IGNORE, FAIL, APPEND, SYNC)

TIMESTAMP_NTZ = "delta.feature.timestampNtz"
_MANUAL = re.compile(
    r"DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT.*?table feature\(s\):\s*([\w, -]+?)\.", re.DOTALL
)
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_TEXT = re.compile(r"(string|varchar\(\d+\)|char\(\d+\))")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


@dataclass(frozen=True)
class Field:
    name: str
    type: str


@dataclass(frozen=True)
class NestedField:
    """A field to add inside a column; the path begins with the column."""

    path: tuple[str, ...]
    type: str


@dataclass(frozen=True)
class SchemaChange:
    """What will be altered, and the names of the columns that the model then writes."""

    added: tuple[Field, ...] = ()
    dropped: tuple[str, ...] = ()
    widened: tuple[Field, ...] = ()
    nested: tuple[NestedField, ...] = ()
    written: tuple[str, ...] = field(default=())


def plan_schema_change(
    mode: str, model: Sequence[Field], table: Sequence[Field], *, table_name: str
) -> SchemaChange:
    if mode not in MODES:
        raise ConfigError(f"on_schema_change is {mode!r}: use one of {', '.join(MODES)}.")
    offered = {column.name.lower(): column for column in model}
    present = {column.name.lower(): column for column in table}
    new = tuple(column for key, column in offered.items() if key not in present)
    gone = tuple(column.name for key, column in present.items() if key not in offered)
    retyped = tuple(
        Field(present[key].name, column.type)
        for key, column in offered.items()
        if key in present and not _same_type(present[key].type, column.type)
    )
    if mode == IGNORE:
        if gone:
            raise ConfigError(
                f"The model no longer has {_told(gone)}, which {table_name} has: set "
                "on_schema_change to append_new_columns or sync_all_columns, select the column "
                "again, or run once with --full-refresh."
            )
        return SchemaChange(written=tuple(column.name for column in table))
    if mode == FAIL:
        _refuse_any(new, gone, retyped, table_name)
    nested, rest = _grown(retyped, present)
    retyped = () if mode == APPEND else rest
    if mode == APPEND:
        gone = ()
    for column in retyped:
        before = present[column.name.lower()].type
        if not can_widen(before, column.type):
            raise ConfigError(
                f"Column {column.name} of {table_name} is {before} and the model gives "
                f"{column.type}: Delta widens types and does not change them otherwise. Cast the "
                "column in the model, or run once with --full-refresh."
            )
    kept = [column.name for column in table if column.name.lower() in offered]
    return SchemaChange(
        added=new,
        dropped=gone,
        widened=retyped,
        nested=nested,
        written=(*kept, *(column.name for column in new)),
    )


def statements(table: str, change: SchemaChange) -> list[str]:
    """The ALTER statements in the order in which Delta takes them."""
    found = []
    new = [f"{sql_text.identifier(c.name)} {c.type}" for c in change.added]
    new += [f"{sql_text.qualified(*c.path)} {c.type}" for c in change.nested]
    if new:
        found.append(f"alter table {table} add columns ({', '.join(new)})")
    if change.dropped:
        names = sql_text.identifier_list(change.dropped)
        found.append(f"alter table {table} drop columns ({names})")
    found += [
        f"alter table {table} alter column {sql_text.identifier(c.name)} type {c.type}"
        for c in change.widened
    ]
    return found


def needed_properties(change: SchemaChange) -> dict[str, str]:
    """Table features that the statements need and that older readers do not know."""
    found = {}
    if change.dropped:
        found["delta.columnMapping.mode"] = "name"
    if change.widened:
        found["delta.enableTypeWidening"] = "true"
    types = [column.type for column in (*change.added, *change.widened)]
    types += [column.type for column in change.nested]
    if any("timestamp_ntz" in kind.lower() for kind in types):
        found[TIMESTAMP_NTZ] = "supported"
    return found


def manual_features(message: str) -> dict[str, str]:
    """The properties that Delta asks for when a table's new schema needs features of its protocol.

    >>> manual_features("[DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT] ... table feature(s): timestampNtz. To")
    {'delta.feature.timestampNtz': 'supported'}
    """
    named = _MANUAL.search(message)
    if named is None:
        return {}
    return {f"delta.feature.{name}": "supported" for name in re.findall(r"[\w-]+", named[1])}


def refuse_layout_columns(change: SchemaChange, layout: Sequence[str], *, table_name: str) -> None:
    """Delta drops no column by which the files are laid out."""
    laid_out = {name.lower() for name in layout}
    fixed = [name for name in change.dropped if name.lower() in laid_out]
    if fixed:
        raise ConfigError(
            f"The model no longer has {_told(fixed)}, by which {table_name} is partitioned or "
            "clustered: select the column again, or run once with --full-refresh."
        )


def can_widen(before: str, after: str) -> bool:
    """Delta's type widening, as its protocol lists it.

    >>> can_widen("int", "bigint"), can_widen("bigint", "int"), can_widen("int", "string")
    (True, False, False)
    >>> can_widen("decimal(10,2)", "decimal(12,4)"), can_widen("decimal(10,2)", "decimal(10,4)")
    (True, False)
    """
    before, after = before.lower(), after.lower()
    if before in _WHOLE and after in _WHOLE:
        return _WHOLE.index(before) < _WHOLE.index(after)
    if after == "double":
        return before in ("tinyint", "smallint", "int", "float")
    if (before, after) == ("date", "timestamp_ntz"):
        return True
    wider = _DECIMAL.fullmatch(after)
    if wider is None:
        return False
    precision, scale = int(wider[1]), int(wider[2])
    if before in _WHOLE_DIGITS:
        return precision - scale >= _WHOLE_DIGITS[before]
    narrower = _DECIMAL.fullmatch(before)
    if narrower is None:
        return False
    more_scale = scale - int(narrower[2])
    return more_scale >= 0 and precision - int(narrower[1]) >= more_scale


def _grown(
    retyped: Sequence[Field], present: Mapping[str, Field]
) -> tuple[tuple[NestedField, ...], tuple[Field, ...]]:
    """Columns whose structures only have more fields than before, and the others."""
    nested: list[NestedField] = []
    rest: list[Field] = []
    for column in retyped:
        fields = added_fields(present[column.name.lower()].type, column.type)
        if fields is None:
            rest.append(column)
        else:
            nested += [NestedField((column.name, *path), kind) for path, kind in fields]
    return tuple(nested), tuple(rest)


def refuse_misplaced_fields(
    change: SchemaChange, model: Sequence[Field], table: Sequence[Field], *, table_name: str
) -> None:
    """For statements that fill structures by position, as INSERT does."""
    offered = {column.name.lower(): column.type for column in model}
    for column in table:
        kind = offered.get(column.name.lower())
        if kind is None or "struct<" not in kind or _same_type(column.type, kind):
            continue
        added = [c.path[1:] for c in change.nested if c.path[0].lower() == column.name.lower()]
        field = misplaced_field(column.type, kind, added)
        if field is not None:
            raise ConfigError(
                f"{column.name}.{field} of {table_name} stands at another place in the model, and "
                "an INSERT fills the fields of a structure by place: give them in the table's "
                f"order, {column.type}, or use incremental_strategy merge."
            )


def _same_type(before: str, after: str) -> bool:
    """Text is text, whatever length was once declared for it."""
    if _TEXT.fullmatch(before.lower()) and _TEXT.fullmatch(after.lower()):
        return True
    return before.lower().replace(" ", "") == after.lower().replace(" ", "")


def _refuse_any(
    new: Sequence[Field], gone: Sequence[str], retyped: Sequence[Field], table_name: str
) -> None:
    if not (new or gone or retyped):
        return
    found = []
    if new:
        found.append(f"new: {_told([column.name for column in new])}")
    if gone:
        found.append(f"missing: {_told(gone)}")
    if retyped:
        found.append("other type: " + ", ".join(f"{c.name} {c.type}" for c in retyped))
    raise ConfigError(
        "The source and target schemas on this incremental model are out of sync, and "
        f"on_schema_change is fail. Against {table_name}, {'; '.join(found)}. Set on_schema_change "
        "to append_new_columns or sync_all_columns, or run once with --full-refresh."
    )


def _told(names: Sequence[str]) -> str:
    return ", ".join(names)
