"""The config as people write it: every setting works or is refused by name, before anything runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt.adapters.delta_maint.auto_compaction import is_switched_off
from dbt.adapters.delta_maint.core.compaction_policy import Budget, Clustered, PolicyKind
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.sizes import GIB, MIB
from dbt.adapters.delta_maint.maintenance_selection import select_relations
from dbt.adapters.delta_maint.policies.compaction import (
    CONF,
    is_enabled,
    read_budget,
    read_config,
    with_user_confs,
)


def test_the_short_forms() -> None:
    assert read_config(None).enabled is None
    assert read_config(True).enabled is True
    assert read_config(False).enabled is False
    assert read_config("deferred").deferred
    assert read_config({"policy": "count"}).enabled is True
    assert read_config({"enabled": False, "policy": "count"}).enabled is False
    # As env_var() gives them.
    assert (read_config("true").enabled, read_config(" False ").enabled) == (True, False)


@pytest.mark.parametrize(
    "said", ["128 MiB", "128mb", " 128 m ", "0.125 GiB", 134217728, "134217728", "134217728b", 134217728.0]
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(said: Any) -> None:
    assert read_config({"target_file_size": said}).policy.target_bytes == 128 * MIB
    assert read_budget(said).max_bytes == 128 * MIB


def test_every_setting_reaches_the_policy() -> None:
    config = read_config(
        {
            "policy": "eager", "target_file_size": "64 MiB", "small_ratio": 0.4, "done_ratio": 0.8,
            "min_input_files": 4, "min_num_files": 20, "min_file_size": "8 MiB",
            "max_deleted_rows_ratio": 0.1, "modified_partitions_only": False, "non_blind_append": True,
            "reserve_partitions": False, "max_bytes": "1 GiB", "max_partitions": 7, "max_seconds": 2.5,
            "zorder": ["a", "b"], "clustered": "optimize", "on_error": "fail", "deferred": True,
        }
    )  # fmt: skip
    policy = config.policy
    assert policy.kind is PolicyKind.EAGER
    assert (policy.target_bytes, policy.min_file_bytes) == (64 * MIB, 8 * MIB)
    assert (policy.small_ratio, policy.done_ratio, policy.max_deleted_rows_ratio) == (0.4, 0.8, 0.1)
    assert (policy.min_input_files, policy.min_num_files) == (4, 20)
    assert (policy.modified_partitions_only, policy.non_blind_append) == (False, True)
    assert policy.reserve_partitions is False
    assert policy.budget == Budget(GIB, 7, 2.5)
    assert policy.zorder == ("a", "b")
    assert policy.clustered is Clustered.OPTIMIZE
    assert policy.fail_on_error
    assert config.deferred


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("yes", "auto_compact is 'yes'"),
        (3, "auto_compact is 3"),
        (["bins"], "use true, false, deferred, or a dictionary of settings"),
        ({"polcy": "bins"}, "did you mean policy?"),
        ({"target_size": "1 GiB"}, "did you mean target_file_size?"),
        ({"xyz": 1}, "known are avoid_writers, clustered"),
        ({1: 1}, "unknown setting 1"),
        ({"target_file_size": ["128 MiB"]}, "target_file_size is ['128 MiB']"),
        ({"target_file_size": True}, "target_file_size is True"),
        ({"target_file_size": "128 MX"}, "a size such as '128 MiB'"),
        ({"target_file_size": "1e9"}, "target_file_size is '1e9'"),
        ({"target_file_size": 2**63}, "between 1 byte and 2^63 - 1"),
        ({"min_file_size": "0.5"}, "between 1 byte and 2^63 - 1"),
        ({"max_bytes": -1}, "max_bytes is -1"),
        ({"max_partitions": 0}, "at least 1"),
        ({"max_partitions": 2.5}, "max_partitions is 2.5"),
        ({"max_partitions": "²"}, "max_partitions is '²'"),
        ({"max_seconds": "inf"}, "max_seconds is 'inf'"),
        ({"quiet_seconds": None, "max_seconds": [1]}, "max_seconds is [1]"),
        ({"max_deleted_rows_ratio": 1.5}, "at most 1"),
        ({"done_ratio": -0.5}, "done_ratio is -0.5"),
        ({"policy": ["bins"]}, "policy is ['bins']"),
        ({"policy": "EAGER"}, "use one of bins, count, eager"),
        ({"clustered": True}, "use one of skip, optimize"),
        ({"modified_partitions_only": 1}, "modified_partitions_only is 1: use true or false"),
        ({"deferred": "later"}, "deferred is 'later'"),
        ({"zorder": ["a", None]}, "zorder is"),
        ({"policy": "all"}, "use one of bins, count, eager"),
        ({"target_file_size": 0}, "target_file_size is 0"),
        ({"target_file_size": "-1"}, "target_file_size is '-1'"),
        ({"min_input_files": 1}, "at least 2"),
        ({"min_input_files": "8; drop"}, "min_input_files is '8; drop'"),
        ({"min_num_files": True}, "min_num_files is True"),
        ({"small_ratio": 0}, "small_ratio is 0"),
        ({"small_ratio": 0.9}, "cannot be smaller than a small one"),
        ({"max_deleted_rows_ratio": "nan"}, "max_deleted_rows_ratio is 'nan'"),
        ({"max_seconds": -1}, "max_seconds is -1"),
        ({"enabled": "no"}, "enabled is 'no'"),
        ({"zorder": {"a": 1}}, "zorder is"),
        ({"on_error": "ignore"}, "use one of warn, fail"),
        ({"min_file_size": "2 MiB", "target_file_size": "1 MiB"}, "cannot be larger"),
    ],
)
def test_what_cannot_be_is_refused_by_name(value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        read_config(value)


def test_the_users_confs_fill_what_the_model_leaves_open() -> None:
    confs = {
        f"{CONF}.maxFileSize": "1048576",
        f"{CONF}.minNumFiles": "5",
        f"{CONF}.modifiedPartitionsOnly.enabled": "false",
        f"{CONF}.nonBlindAppend.enabled": "true",
        f"{CONF}.reservePartitions.enabled": "false",
        f"{CONF}.maxNumModifiedPartitions": "3",
        f"{CONF}.minFileSize": "512k",
    }
    policy = with_user_confs(read_config({"min_num_files": 9}), confs.get).policy
    assert (policy.target_bytes, policy.min_num_files) == (MIB, 9)
    assert (policy.modified_partitions_only, policy.non_blind_append) == (False, True)
    assert (policy.reserve_partitions, policy.budget.max_partitions) == (False, 3)
    assert policy.min_file_bytes == 512 * 1024


PROPERTY, LEGACY = "delta.autoOptimize.autoCompact", "delta.autoOptimize"
ENABLED = [
    # off switch, config, conf, properties, default -> enabled
    (True, True, "true", {PROPERTY: "true"}, True, False),
    (False, False, "true", {PROPERTY: "true"}, True, False),
    (False, True, "false", {PROPERTY: "false"}, False, True),
    (False, None, "true", {PROPERTY: "false"}, False, True),
    (False, None, "False", {PROPERTY: "true"}, True, False),
    (False, None, None, {LEGACY: "tRue", PROPERTY: "false"}, False, True),
    (False, None, None, {LEGACY: "false", PROPERTY: "tRue"}, False, True),
    (False, None, None, {PROPERTY: "fALse"}, True, False),
    (False, None, None, {}, False, False),
    (False, None, None, {}, True, True),
]


@pytest.mark.parametrize(("off", "config", "conf", "properties", "default", "expected"), ENABLED)
def test_the_first_that_says_anything_decides(
    off: bool, config: Any, conf: Any, properties: Any, default: bool, expected: bool
) -> None:
    found, _ = is_enabled(
        read_config(config), off_switch=off, user_conf=conf, properties=properties, default=default
    )
    assert found is expected


def test_a_conf_that_says_neither_is_refused_as_delta_refuses_it() -> None:
    with pytest.raises(ConfigError, match=r"autoCompact\.enabled is 'auto': use true"):
        is_enabled(read_config(None), off_switch=False, user_conf="auto", properties={})


@pytest.mark.parametrize(
    ("environment", "var", "off"),
    [
        (None, None, False),
        (None, False, True),
        ("false", None, True),
        ("true", False, False),
        ("", "off", True),
        (" OFF ", None, True),
        (None, 0, True),
        (None, True, False),
    ],
)
def test_the_off_switch(
    monkeypatch: pytest.MonkeyPatch, environment: str | None, var: Any, off: bool
) -> None:
    monkeypatch.delenv("DELTA_MAINT_AUTO_COMPACT", raising=False)
    if environment is not None:
        monkeypatch.setenv("DELTA_MAINT_AUTO_COMPACT", environment)
    assert is_switched_off(var) is off


def test_an_off_switch_that_says_neither_is_refused_not_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DELTA_MAINT_AUTO_COMPACT", "disabled")
    with pytest.raises(ConfigError, match="DELTA_MAINT_AUTO_COMPACT is 'disabled'"):
        is_switched_off(None)
    monkeypatch.delenv("DELTA_MAINT_AUTO_COMPACT")
    with pytest.raises(ConfigError, match="delta_maint_auto_compact is 'none'"):
        is_switched_off("none")


def test_budgets() -> None:
    assert read_budget(None) == Budget()
    assert read_budget("2 GiB") == Budget(max_bytes=2 * GIB)
    assert read_budget({"max_seconds": 5, "max_partitions": 2}) == Budget(None, 2, 5.0)
    for value in (
        {"max_byte": 1},
        {"max_bytes": "-1"},
        "many",
        [1],
        0,
        -5,
        True,
        {"policy": "eager"},
    ):
        with pytest.raises(ConfigError):
            read_budget(value)


def node(name: str, **facts: Any) -> dict[str, Any]:
    known = {
        "resource_type": "model", "name": name, "alias": name, "schema": "s", "database": None,
        "unique_id": f"model.shop.{name}", "tags": [], "original_file_path": f"models/{name}.sql",
        "config": {"materialized": "table"},
    }  # fmt: skip
    return {**known, **facts}


GRAPH = {
    "nodes": {
        n["name"]: n
        for n in (
            node("orders", tags=["daily"], original_file_path="models/marts/orders.sql"),
            node("events", config={"materialized": "incremental"}),
            node("seen", tags=["daily"], config={"materialized": "view"}),
            node("hook", resource_type="operation"),
        )
    },
    "sources": {"x": node("clicks", resource_type="source", source_name="raw", identifier="clicks_v1", alias=None)},
}  # fmt: skip
SELECT = [
    (None, ["orders", "events"]),
    ("orders", ["orders"]),
    (["orders", "tag:daily", "events"], ["orders", "events"]),
    ("tag:daily", ["orders"]),
    ("path:models/marts", ["orders"]),
    ("source:raw.clicks", ["clicks_v1"]),
    ("source:raw", ["clicks_v1"]),
    ("seen", ["seen"]),
    ("other.table", ["table"]),
    ("cat.`my db`.`odd.na``me`", ["odd.na`me"]),
    (["S.Orders"], ["orders"]),
]


@pytest.mark.parametrize(("select", "expected"), SELECT)
def test_words_select_tables(select: Any, expected: list[str]) -> None:
    assert [item.identifier for item in select_relations(GRAPH, select)] == expected


def test_a_qualified_name_of_a_model_has_the_settings_of_the_model() -> None:
    by_name, qualified, foreign = select_relations(GRAPH, ["s.orders", "events", "x.`a b`"])
    assert (by_name.node, qualified.node) == ("model.shop.orders", "model.shop.events")
    assert (foreign.schema, foreign.identifier, foreign.node) == ("x", "a b", None)


@pytest.mark.parametrize(
    "select",
    [
        "+orders",
        "orders+",
        "@orders",
        "state:modified",
        "nobody",
        [],
        [1],
        {"a": 1},
        "path:models/none",
    ],
)
def test_words_that_select_nothing_or_are_dbts_own_are_refused(select: Any) -> None:
    with pytest.raises(ConfigError, match="select"):
        select_relations(GRAPH, select)


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one() -> None:
    with pytest.raises(
        ConfigError, match=r"matches no table of this project\. Did you mean orders"
    ):
        select_relations(GRAPH, "oders")
