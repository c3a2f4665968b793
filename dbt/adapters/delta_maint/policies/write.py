"""A model's config -> WritePolicy. A value that cannot work is refused here, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.sizes import parse_bytes
from dbt.adapters.delta_maint.core.write_choice import Mode, WritePolicy

MATERIALIZATION = "delta_optimized"
STRATEGY = "optimized_write"
TABLE_PROPERTY = "delta.autoOptimize.optimizeWrite"
SMALLEST_TARGET_BYTES = 64 * 1024
SORTED_QUERY = ("skip", "within")
REPARTITION = ("hash", "round_robin")
KEYS = (
    "optimized_write",
    "target_file_size",
    "write_order",
    "sorted_query",
    "write_repartition",
    "min_write_tasks",
    "small_partition_factor",
    "merged_partition_factor",
)


def write_policy(get: Callable[[str], Any], *, session_says_on: bool = False) -> WritePolicy | None:
    """None when the model says nothing about its files: then the write stays as Delta does it."""
    asked = get("optimized_write")
    mode = _default_mode(get, session_says_on) if asked is None else _mode(asked)
    if mode is None:
        return None
    if mode is not Mode.OFF and (get("file_format") or "delta") != "delta":
        raise ConfigError(
            f"optimized_write places rows for Delta, but file_format is {get('file_format')!r}: "
            "remove one of the two."
        )
    return WritePolicy(
        mode=mode,
        target_bytes=_target_bytes(get("target_file_size")),
        write_order=_names("write_order", get("write_order")),
        clustered_by=_clustered(get("liquid_clustered_by")),
        sorted_query=_one_of("sorted_query", get("sorted_query"), SORTED_QUERY),
        repartition=_one_of("write_repartition", get("write_repartition"), REPARTITION),
        small_partition_factor=_number(
            "small_partition_factor", get("small_partition_factor"), 0.5, low=0.0, high=1.0
        ),
        merged_partition_factor=_number(
            "merged_partition_factor", get("merged_partition_factor"), 1.2, low=0.5, high=4.0
        ),
        min_write_tasks=_tasks(get("min_write_tasks")),
    )


def _default_mode(get: Callable[[str], Any], session_says_on: bool) -> Mode | None:
    if get("materialized") == MATERIALIZATION or get("incremental_strategy") == STRATEGY:
        return Mode.AUTO
    properties = get("tblproperties") or {}
    if str(properties.get(TABLE_PROPERTY, session_says_on)).lower() == "true":
        return Mode.AUTO
    return None


def _mode(asked: Any) -> Mode:
    # YAML reads `off` and `on` as booleans.
    if isinstance(asked, bool):
        return Mode.AUTO if asked else Mode.OFF
    try:
        return Mode(str(asked).lower())
    except ValueError:
        raise ConfigError(
            f"optimized_write is {asked!r}: use one of {', '.join(mode.value for mode in Mode)}."
        ) from None


def _target_bytes(value: Any) -> int | None:
    if value is None:
        return None
    size = parse_bytes(value, name="target_file_size")
    if size < SMALLEST_TARGET_BYTES:
        raise ConfigError(
            f"target_file_size is {value!r}: files below 64 KiB are all footer, use 128 MiB or "
            "leave it out."
        )
    return size


def _names(key: str, value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value or []
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"{key} is {value!r}: name a column, or a list of columns.")
    return tuple(names)


def _clustered(value: Any) -> tuple[str, ...]:
    """Fields of structs cluster a table as well, but rows are not placed by them."""
    return tuple(name for name in _names("liquid_clustered_by", value) if "." not in name)


def _one_of(key: str, value: Any, known: Sequence[str]) -> str:
    if value is None:
        return known[0]
    if value not in known:
        raise ConfigError(f"{key} is {value!r}: use one of {', '.join(known)}.")
    return str(value)


def _number(key: str, value: Any, default: float, *, low: float, high: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigError(f"{key} is {value!r}: use a number from {low:g} to {high:g}.")
    return float(value)


def _tasks(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
        raise ConfigError(f"min_write_tasks is {value!r}: use a whole number from 1 to 10,000.")
    return value
