"""The `auto_compact` config, the arguments of `{{ auto_compact() }}` and of `compact` -> one policy.

Every key is checked before anything runs. What the model does not say is taken from the user's
`spark.databricks.delta.autoCompact.*` confs, so that a project moves here without changing its settings.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from dbt.adapters.delta_maint.core.compaction_policy import (
    AvoidWriters,
    Budget,
    Clustered,
    CompactionPolicy,
    PolicyKind,
    Rewrite,
    Verify,
)
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.sizes import parse_bytes

CONF = "spark.databricks.delta.autoCompact"
DEFERRED = "deferred"
_FLAGS = {"true": True, "false": False}
PROPERTY = "delta.autoOptimize.autoCompact"
LEGACY_PROPERTY = "delta.autoOptimize"


@dataclass(frozen=True)
class CompactionConfig:
    """`enabled` is None where the model says nothing; `stated` are the keys it does state."""

    enabled: bool | None = None
    deferred: bool = False
    policy: CompactionPolicy = field(default_factory=CompactionPolicy)
    stated: frozenset[str] = frozenset()


def read_config(value: Any, *, target_file_size: Any = None) -> CompactionConfig:
    """The value of `auto_compact`: true, false, deferred, or a dictionary of settings."""
    settings: dict[str, Any]
    if value is None or isinstance(value, bool):
        settings = {} if value is None else {"enabled": value}
    elif isinstance(value, str) and value.strip().lower() == DEFERRED:
        settings = {"enabled": True, "deferred": True}
    elif isinstance(value, str) and value.strip().lower() in _FLAGS:
        settings = {"enabled": value}  # as env_var() gives it
    elif isinstance(value, Mapping):
        settings = {"enabled": True, **value}
    else:
        raise ConfigError(
            f"auto_compact is {value!r}: use true, false, deferred, or a dictionary of settings."
        )
    if target_file_size is not None:
        settings.setdefault("target_file_size", target_file_size)
    return apply_settings(CompactionConfig(), settings)


def apply_settings(config: CompactionConfig, settings: Mapping[str, Any]) -> CompactionConfig:
    """Settings on top of a config; a key that is not known or cannot be is refused by name."""
    for key, value in settings.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), sorted(_KEYS), n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(_KEYS))}."
            raise ConfigError(f"auto_compact has the unknown setting {key!r}: {hint}")
        if value is not None:
            config = replace(_KEYS[key](config, value), stated=config.stated | {key})
    policy = config.policy
    if policy.done_ratio < policy.small_ratio:
        raise ConfigError(
            f"done_ratio is {policy.done_ratio} and small_ratio {policy.small_ratio}: a finished "
            "file cannot be smaller than a small one."
        )
    if (
        policy.min_file_bytes
        and policy.target_bytes
        and policy.min_file_bytes > policy.target_bytes
    ):
        raise ConfigError(
            f"min_file_size is {policy.min_file_bytes} bytes and target_file_size "
            f"{policy.target_bytes}: the first cannot be larger."
        )
    return config


def with_user_confs(
    config: CompactionConfig, conf: Callable[[str], str | None]
) -> CompactionConfig:
    """What the model leaves open, as the user's confs say."""
    found = {
        key: value
        for key, name in _CONFS.items()
        if key not in config.stated and (value := conf(f"{CONF}.{name}")) is not None
    }
    return replace(apply_settings(config, found), stated=config.stated)


def is_enabled(
    config: CompactionConfig,
    *,
    off_switch: bool,
    user_conf: str | None,
    properties: Mapping[str, str],
    default: bool = False,
) -> tuple[bool, str]:
    """Whether to compact, and who said so; the first that says anything decides."""
    if off_switch:
        return False, "switched off for this run"
    if config.enabled is not None:
        return config.enabled, "auto_compact of the model"
    if user_conf is not None:
        return read_flag(f"{CONF}.enabled", user_conf), f"the conf {CONF}.enabled"
    if properties.get(LEGACY_PROPERTY, "").lower() == "true":
        return True, f"the table property {LEGACY_PROPERTY}"
    if PROPERTY in properties:
        return properties[PROPERTY].lower() == "true", f"the table property {PROPERTY}"
    return default, "the default"


def read_budget(value: Any) -> Budget:
    """A size, or a dictionary of max_bytes, max_partitions and max_seconds."""
    if value is None:
        return Budget()
    if not isinstance(value, Mapping):
        return Budget(max_bytes=parse_bytes(value, name="budget"))
    unknown = set(value) - {"max_bytes", "max_partitions", "max_seconds"}
    if unknown:
        raise ConfigError(
            f"budget has the unknown key {sorted(map(str, unknown))[0]!r}: known are max_bytes, "
            "max_partitions and max_seconds."
        )
    return apply_settings(CompactionConfig(), value).policy.budget


def read_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    raise ConfigError(f"{name} is {value!r}: use true or false.")


def _whole_number(name: str, value: Any, least: int) -> int:
    text = (
        str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    )
    if not (text.isascii() and text.isdigit()) or not least <= int(text) < 2**31:
        raise ConfigError(f"{name} is {value!r}: use a whole number of at least {least}.")
    return int(text)


def _number(name: str, value: Any, *, above: float, up_to: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigError(f"{name} is {value!r}: use a number.")
    try:
        found = float(value)
    except ValueError:
        found = float("nan")
    if not above < found <= up_to:
        raise ConfigError(f"{name} is {value!r}: use a number above {above:g}, at most {up_to:g}.")
    return found


def _columns(name: str, value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) and n for n in names):
        raise ConfigError(f"{name} is {value!r}: use a column name or a list of them.")
    return tuple(names)


def _choice(name: str, value: Any, kind: type[Enum]) -> Any:
    allowed = [member.value for member in kind]
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}: use one of {', '.join(allowed)}.")
    return kind(value)


Apply = Callable[[CompactionConfig, Any], CompactionConfig]


def _of_policy(key: str, attribute: str, read: Callable[[str, Any], Any]) -> Apply:
    return lambda config, value: replace(
        config, policy=replace(config.policy, **{attribute: read(key, value)})
    )


def _of_budget(key: str, read: Callable[[str, Any], Any]) -> Apply:
    def apply(config: CompactionConfig, value: Any) -> CompactionConfig:
        budget = replace(config.policy.budget, **{key: read(key, value)})
        return replace(config, policy=replace(config.policy, budget=budget))

    return apply


def _bytes(name: str, value: Any) -> int:
    return parse_bytes(value, name=name)


def _ratio(name: str, value: Any) -> float:
    return _number(name, value, above=0, up_to=1)


_ON_ERROR = Enum("_ON_ERROR", {"warn": "warn", "fail": "fail"})

_KEYS: dict[str, Apply] = {
    "enabled": lambda config, value: replace(config, enabled=read_flag("enabled", value)),
    "deferred": lambda config, value: replace(config, deferred=read_flag("deferred", value)),
    "policy": _of_policy("policy", "kind", lambda n, v: _choice(n, v, PolicyKind)),
    "target_file_size": _of_policy("target_file_size", "target_bytes", _bytes),
    "small_ratio": _of_policy("small_ratio", "small_ratio", _ratio),
    "done_ratio": _of_policy("done_ratio", "done_ratio", _ratio),
    "min_input_files": _of_policy(
        "min_input_files", "min_input_files", lambda n, v: _whole_number(n, v, 2)
    ),
    "min_num_files": _of_policy(
        "min_num_files", "min_num_files", lambda n, v: _whole_number(n, v, 0)
    ),
    "min_file_size": _of_policy("min_file_size", "min_file_bytes", _bytes),
    "max_deleted_rows_ratio": _of_policy(
        "max_deleted_rows_ratio", "max_deleted_rows_ratio", _ratio
    ),
    "modified_partitions_only": _of_policy(
        "modified_partitions_only", "modified_partitions_only", read_flag
    ),
    "non_blind_append": _of_policy("non_blind_append", "non_blind_append", read_flag),
    "reserve_partitions": _of_policy("reserve_partitions", "reserve_partitions", read_flag),
    "zorder": _of_policy("zorder", "zorder", _columns),
    "clustered": _of_policy("clustered", "clustered", lambda n, v: _choice(n, v, Clustered)),
    "rewrite": _of_policy("rewrite", "rewrite", lambda n, v: _choice(n, v, Rewrite)),
    "verify": _of_policy("verify", "verify", lambda n, v: _choice(n, v, Verify)),
    "on_error": _of_policy(
        "on_error", "fail_on_error", lambda n, v: _choice(n, v, _ON_ERROR).value == "fail"
    ),
    "avoid_writers": _of_policy(
        "avoid_writers", "avoid_writers", lambda n, v: _choice(n, v, AvoidWriters)
    ),
    "quiet_seconds": _of_policy(
        "quiet_seconds", "quiet_seconds", lambda n, v: _number(n, v, above=0, up_to=10**9)
    ),
    "max_bytes": _of_budget("max_bytes", _bytes),
    "max_partitions": _of_budget("max_partitions", lambda n, v: _whole_number(n, v, 1)),
    "max_seconds": _of_budget("max_seconds", lambda n, v: _number(n, v, above=0, up_to=10**9)),
}

_CONFS = {
    "target_file_size": "maxFileSize",
    "min_file_size": "minFileSize",
    "min_num_files": "minNumFiles",
    "max_partitions": "maxNumModifiedPartitions",
    "modified_partitions_only": "modifiedPartitionsOnly.enabled",
    "non_blind_append": "nonBlindAppend.enabled",
    "reserve_partitions": "reservePartitions.enabled",
}
