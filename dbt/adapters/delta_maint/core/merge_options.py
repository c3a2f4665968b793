"""Strategy and merge options of an incremental model, checked before any statement is sent.

A key or column that the model or the table does not have is named here: Delta would name it too, but
only after the schema has been changed, and pyspark loses some of those messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConfigError

MERGE_ONLY = (
    "merge_update_columns",
    "merge_exclude_columns",
    "matched_condition",
    "not_matched_condition",
    "not_matched_by_source_action",
    "not_matched_by_source_condition",
    "skip_matched_step",
    "skip_not_matched_step",
    "source_alias",
    "target_alias",
    "merge_with_schema_evolution",
)
WITHOUT_MERGE_OPTIONS = (
    "append",
    "insert_overwrite",
    "replace_where",
    "microbatch",
    "delete+insert",
)
NEEDS_KEY = ("delete+insert",)
_ACTION = re.compile(r"\s*(delete|update\s+set\s+.+)\s*", re.IGNORECASE | re.DOTALL)


def names(value: str | Sequence[str] | None) -> list[str]:
    """One name or several, without the quotes a user may have put around them.

    >>> names("`order`"), names(["a", "b"]), names(None)
    (['order'], ['a', 'b'], [])
    """
    given = [] if value is None else [value] if isinstance(value, str) else list(value)
    return [_unquoted(name) for name in given]


def check_options(strategy: str, config: Mapping[str, Any]) -> None:
    """Options against each other; needs no table."""
    if strategy in WITHOUT_MERGE_OPTIONS:
        for option in MERGE_ONLY:
            if config.get(option):
                raise ConfigError(
                    f"{option} is set, but incremental_strategy is {strategy}: it works with merge "
                    "only. Remove it, or set incremental_strategy to merge."
                )
    if strategy in NEEDS_KEY and not names(config.get("unique_key")):
        raise ConfigError(f"incremental_strategy {strategy} needs unique_key.")
    if config.get("merge_update_columns") and config.get("merge_exclude_columns"):
        raise ConfigError(
            "Model cannot specify merge_update_columns and merge_exclude_columns. Please update "
            "model to use only one config"
        )
    action = config.get("not_matched_by_source_action")
    if action and not _ACTION.fullmatch(action):
        raise ConfigError(
            f"not_matched_by_source_action is {action!r}: use delete, or update set column = value."
        )
    if config.get("not_matched_by_source_condition") and not action:
        raise ConfigError(
            "not_matched_by_source_condition needs not_matched_by_source_action: delete, or "
            "update set column = value."
        )
    if config.get("skip_matched_step") and config.get("skip_not_matched_step") and not action:
        raise ConfigError(
            "skip_matched_step and skip_not_matched_step are both set, so the merge would do "
            "nothing: remove one, or set not_matched_by_source_action."
        )
    aliases = [config.get("source_alias"), config.get("target_alias")]
    if aliases[0] and str(aliases[0]).lower() == str(aliases[1]).lower():
        raise ConfigError(f"source_alias and target_alias are both {aliases[0]}: make them differ.")


def check_columns(
    strategy: str,
    config: Mapping[str, Any],
    *,
    model: Sequence[str],
    table: Sequence[str],
    table_name: str,
) -> None:
    """Names in options against the columns of the model and of the table."""
    if strategy in ("merge", "delete+insert"):
        for key in names(config.get("unique_key")):
            _require(key, "unique_key", "the model", model)
            _require(key, "unique_key", table_name, table)
    if strategy != "merge":
        return
    for name in names(config.get("merge_update_columns")):
        _require(name, "merge_update_columns", "the model", model)
    for name in names(config.get("merge_exclude_columns")):
        _require(name, "merge_exclude_columns", table_name, [*table, *model])


def _require(name: str, option: str, where: str, columns: Sequence[str]) -> None:
    if name.lower() not in {column.lower() for column in columns}:
        raise ConfigError(
            f"{option} names {name}, which is not a column of {where}: it has {', '.join(columns)}."
        )


def _unquoted(name: str) -> str:
    if len(name) > 1 and name.startswith("`") and name.endswith("`"):
        return name[1:-1].replace("``", "`")
    return name
