"""What a model may say about its files."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.write_choice import Mode, WritePolicy
from dbt.adapters.delta_maint.policies.write import write_policy


def policy(session_says_on: bool = False, **config: Any) -> WritePolicy | None:
    return write_policy(config.get, session_says_on=session_says_on)


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ({"materialized": "table"}, None),
        ({"materialized": "delta_optimized"}, Mode.AUTO),
        ({"materialized": "incremental", "incremental_strategy": "optimized_write"}, Mode.AUTO),
        ({"materialized": "delta_optimized", "optimized_write": "off"}, Mode.OFF),
        ({"optimized_write": False}, Mode.OFF),  # YAML's `off`
        ({"optimized_write": True}, Mode.AUTO),
        ({"optimized_write": "exact"}, Mode.EXACT),
        ({"tblproperties": {"delta.autoOptimize.optimizeWrite": True}}, Mode.AUTO),
        ({"tblproperties": {"delta.autoOptimize.optimizeWrite": "false"}}, None),
        ({"session_says_on": True}, Mode.AUTO),
        (
            {
                "session_says_on": True,
                "tblproperties": {"delta.autoOptimize.optimizeWrite": "false"},
            },
            None,
        ),
    ],
)
def test_the_mode_and_its_defaults(config: dict[str, Any], mode: Mode | None) -> None:
    found = policy(**config)
    assert (found.mode if found else None) is mode


def test_everything_can_be_set() -> None:
    found = policy(
        optimized_write="auto",
        target_file_size="32 MiB",
        write_order="day",
        liquid_clustered_by=["day", "payload.kind"],
        sorted_query="within",
        write_repartition="round_robin",
        min_write_tasks=4,
        small_partition_factor=0.3,
        merged_partition_factor=1,
    )
    assert found == WritePolicy(
        Mode.AUTO, 32 * 1024**2, ("day",), ("day",), "within", "round_robin", 0.3, 1.0, 4
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("optimized_write", "yes"),
        ("target_file_size", "big"),
        ("target_file_size", "1 KiB"),
        ("write_order", 5),
        ("write_order", [""]),
        ("sorted_query", "drop"),
        ("write_repartition", "range"),
        ("min_write_tasks", 0),
        ("min_write_tasks", 2.5),
        ("small_partition_factor", 1.5),
        ("small_partition_factor", True),
        ("merged_partition_factor", "1.2"),
        ("file_format", "parquet"),
    ],
)
def test_a_value_that_cannot_work_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        policy(**{"optimized_write": "auto", key: value})
