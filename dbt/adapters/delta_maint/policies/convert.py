"""Arguments of convert_to_delta and undo_convert -> requests that can only be right.

`--args` is YAML: `2024-01-01` arrives as a date, `no` as a boolean, `010` as a number. What was meant as text
is refused by name instead of being guessed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConfigError, PartitionLayoutError
from dbt.adapters.delta_maint.core.partition_types import type_from_ddl
from dbt.adapters.delta_maint.core.sql_text import property_text

TARGETS = ("path", "table", "source", "select")
CHOICES = {
    "statistics": ("footer", "full", "none"),
    "engine": ("auto", "footer", "native"),
    "on_bad_file": ("fail", "skip"),
    "schema_mode": ("files", "catalog"),
    "mode": ("in_place", "snapshot"),
}
SWITCHES = ("dry_run", "accept_vacuum_loss", "widen_types")
COUNTS = ("schema_batch_size", "stats_batch_size")
OTHERS = ("partition_by", "properties", "register_as", "snapshot_path")
KNOWN = (*TARGETS, *CHOICES, *SWITCHES, *COUNTS, *OTHERS)
UNDO_KNOWN = (*TARGETS[:3], "dry_run")
_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


@dataclass(frozen=True)
class ConvertArguments:
    """What a person asked for: one target, and options that hold for whatever it names."""

    path: str | None = None
    table: str | None = None
    source: str | None = None
    select: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def parse_arguments(
    given: Mapping[str, Any], *, operation: str = "convert_to_delta"
) -> ConvertArguments:
    known = UNDO_KNOWN if operation == "undo_convert" else KNOWN
    for name in given:
        if name not in known:
            raise ConfigError(f"{operation} has no argument `{name}`: {_hint(name, known)}")
    targets = {name: given[name] for name in TARGETS if given.get(name) is not None}
    if len(targets) != 1:
        named = ", ".join(name for name in TARGETS if name in known)
        found = ", ".join(targets) or "none"
        raise ConfigError(f"{operation} needs exactly one of {named}, but got {found}.")
    texts = {name: _text(name, value) for name, value in targets.items()}
    options = {
        name: _option(name, value)
        for name, value in given.items()
        if name not in TARGETS and value is not None
    }
    _refuse_contradictions(options)
    return ConvertArguments(**texts, options=options)


def request_for(
    arguments: ConvertArguments,
    *,
    default_schema: str,
    path: str | None = None,
    table: tuple[str | None, str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ConvertRequest:
    """The request for one folder or table; `options` are a source's own, which arguments override."""
    own = {name: _option(name, value) for name, value in (options or {}).items()}
    merged = {**own, **arguments.options}
    _refuse_contradictions(merged)
    register_as = merged.pop("register_as", None)
    if register_as is not None:
        merged["register_as"] = table_name(register_as, default_schema, argument="register_as")
    return ConvertRequest(path=path, table=table, **merged)


def table_name(
    text: str, default_schema: str, *, argument: str = "table"
) -> tuple[str | None, str, str]:
    """
    >>> table_name("raw.`odd.name`", "analytics")
    (None, 'raw', 'odd.name')
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        found = _NAME_PART.match(text, position)
        if not found or (found.end() < len(text) and text[found.end()] != "."):
            raise ConfigError(
                f"{argument} is {text!r}: write schema.table, odd names in backticks."
            )
        quoted, plain = found.groups()
        parts.append(quoted.replace("``", "`") if quoted else plain.strip())
        position = found.end() + 1
    if not 1 <= len(parts) <= 3 or not all(parts) or text.endswith("."):
        raise ConfigError(f"{argument} is {text!r}: write schema.table, odd names in backticks.")
    if len(parts) == 1:
        return None, default_schema, parts[0]
    return (parts[0] if len(parts) == 3 else None), parts[-2], parts[-1]


def parse_partition_by(value: Any) -> tuple[tuple[str, str | None], ...]:
    """DDL such as "day date, country string", a mapping of names to types, or a list of names or of {name: type}.

    >>> parse_partition_by("day date, `odd name` decimal(5,2)")
    (('day', 'date'), ('odd name', 'decimal(5,2)'))
    """
    if isinstance(value, str):
        items: list[Any] = _split_ddl(value)
    elif isinstance(value, Mapping):
        items = [{name: kind} for name, kind in value.items()]
    elif isinstance(value, list | tuple):
        items = list(value)
    else:
        raise ConfigError(
            f"partition_by is {value!r}: write DDL such as 'day date, country string', or a list."
        )
    columns = [_partition_column(item) for item in items]
    names = [name.lower() for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"partition_by names {name} twice: each column may stand once.")
    return tuple(columns)


def _partition_column(item: Any) -> tuple[str, str | None]:
    if isinstance(item, Mapping) and set(item) in ({"name", "type"}, {"name", "data_type"}):
        item = {item["name"]: item.get("type", item.get("data_type"))}
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, kind),) = item.items()
        name, kind = _text("partition_by", name), _text("partition_by", kind)
    elif isinstance(item, str) and item.strip():
        found = re.fullmatch(r"\s*(?:`((?:[^`]|``)+)`|([^\s`:]+))\s*(.*)", item, re.DOTALL)
        if not found:
            raise ConfigError(f"partition_by has {item!r}: write a name and a type.")
        name = (found.group(1) or "").replace("``", "`") or found.group(2)
        kind = found.group(3).lstrip(": ").strip() or None
    else:
        raise ConfigError(
            f"partition_by has {item!r}, a {_yaml_word(item)}: write a column name, in quotes if "
            "YAML reads it as something else."
        )
    if kind is None:
        return name, None
    try:
        return name, type_from_ddl(kind)
    except PartitionLayoutError as exc:
        raise ConfigError(f"partition_by: {exc}") from exc


def _split_ddl(text: str) -> list[str]:
    items, current, depth, quoted = [], "", 0, False
    for char in text:
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char == "(") - (char == ")")
        if char == "," and depth == 0 and not quoted:
            items.append(current)
            current = ""
        else:
            current += char
    return [item for item in (*items, current) if item.strip()]


def _option(name: str, value: Any) -> Any:
    if name in CHOICES:
        # YAML reads a bare `none` as text but `no` as false, and an empty value as null.
        found = value.strip().lower() if isinstance(value, str) else value
        if found not in CHOICES[name]:
            allowed = ", ".join(CHOICES[name])
            raise ConfigError(f"{name} is {value!r}: use one of {allowed}.")
        return found
    if name in SWITCHES:
        if not isinstance(value, bool):
            quotes = ", without quotes" if str(value).lower() in ("true", "false") else ""
            raise ConfigError(f"{name} is {value!r}: use true or false{quotes}.")
        return value
    if name in COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{name} is {value!r}: use a whole number of files, 1 or more.")
        return value
    if name == "partition_by":
        return parse_partition_by(value)
    if name == "properties":
        return _properties(value)
    if name in ("register_as", "snapshot_path"):
        return _text(name, value)
    raise ConfigError(f"`{name}` is not an option of convert_to_delta: {_hint(name, KNOWN[4:])}")


def _hint(name: Any, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}."


def _properties(value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping):
        raise ConfigError(f"properties is {value!r}: write key: value pairs.")
    pairs = []
    for key, text in value.items():
        if not isinstance(key, str) or not key.strip():
            raise ConfigError(f"properties has the key {key!r}, a {_yaml_word(key)}: quote it.")
        if not isinstance(text, str | bool | int | float):
            raise ConfigError(
                f"the property {key} is {text!r}, a {_yaml_word(text)}: write it in quotes."
            )
        pairs.append((key, property_text(text)))
    return tuple(pairs)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(
            f"{name} is {value!r}, which YAML reads as a {_yaml_word(value)}: write it in quotes."
        )
    if not value.strip():
        raise ConfigError(f"{name} is empty: name something.")
    if "\x00" in value:
        raise ConfigError(f"{name} holds a null character, which no name or path can.")
    return value.strip()


def _yaml_word(value: Any) -> str:
    words = {"bool": "boolean", "int": "number", "float": "number", "NoneType": "null"}
    kind = type(value).__name__
    return words.get(kind, kind)


def _refuse_contradictions(options: Mapping[str, Any]) -> None:
    mode = options.get("mode", "in_place")
    if options.get("snapshot_path") is not None and mode != "snapshot":
        raise ConfigError("snapshot_path is for mode: snapshot: set both, or neither.")
    if mode == "snapshot" and not (options.get("snapshot_path") or options.get("register_as")):
        raise ConfigError(
            "mode: snapshot needs snapshot_path (the folder of the new log) or register_as (a table "
            "name, whose usual folder is taken)."
        )
    if options.get("engine") == "native":
        for name, why in (
            ("widen_types", "Delta's own command has no widening"),
            ("snapshot_path", "Delta's own command converts in place"),
            ("properties", "Delta's own command takes none"),
            ("schema_mode", "Delta's own command decides it by its confs"),
        ):
            if options.get(name):
                raise ConfigError(f"{name} needs engine: footer, because {why}.")
        if mode == "snapshot":
            raise ConfigError(
                "mode: snapshot needs engine: footer: the native command is in place."
            )
        if options.get("statistics") == "footer":
            raise ConfigError(
                "statistics: footer needs engine: footer; native knows full and none."
            )
        if options.get("on_bad_file") == "skip":
            raise ConfigError("on_bad_file: skip needs engine: footer; the native command fails.")
