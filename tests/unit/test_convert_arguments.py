"""Arguments of the operations: what YAML made of them is checked, never guessed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from dbt.adapters.delta_maint.conversion import chosen_sources, source_location
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.policies.convert import (
    parse_arguments,
    parse_partition_by,
    request_for,
    table_name,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("given_arguments", "words"),
    [
        ({}, "exactly one of path, table, source, select, but got none"),
        ({"path": "/a", "table": "b"}, "but got path, table"),
        ({"pth": "/a"}, "did you mean `path`?"),
        ({"path": dt.date(2024, 1, 1)}, "which YAML reads as a date: write it in quotes"),
        ({"path": 10}, "which YAML reads as a number"),
        ({"table": True}, "which YAML reads as a boolean"),
        ({"path": ["/a"]}, "which YAML reads as a list"),
        ({"path": "  "}, "path is empty"),
        ({"path": "/a\x00b"}, "null character"),
        ({"path": "/a", "statistics": "some"}, "use one of footer, full, none"),
        ({"path": "/a", "statistics": False}, "use one of footer, full, none"),
        ({"path": "/a", "dry_run": "yes please"}, "dry_run is 'yes please': use true or false"),
        ({"path": "/a", "dry_run": 1}, "use true or false"),
        ({"path": "/a", "dry_run": "True"}, "use true or false, without quotes"),
        ({"path": "/a", "statistic": "none"}, "did you mean `statistics`?"),
        ({"path": "/a", "partition_by": {"day": True}}, "which YAML reads as a boolean"),
        ({"path": "/a", "stats_batch_size": 0}, "1 or more"),
        ({"path": "/a", "stats_batch_size": True}, "1 or more"),
        ({"path": "/a", "partition_by": 7}, "write DDL such as"),
        ({"path": "/a", "partition_by": [dt.date(2024, 1, 1)]}, "a date"),
        ({"path": "/a", "partition_by": "day interval"}, "not a type for a partition column"),
        ({"path": "/a", "partition_by": "a int, A int"}, "twice"),
        ({"path": "/a", "properties": "x"}, "key: value pairs"),
        ({"path": "/a", "properties": {"a": dt.date(2024, 1, 1)}}, "the property a is"),
        ({"path": "/a", "properties": {1: "x"}}, "quote it"),
        ({"path": "/a", "mode": "snapshot"}, "needs snapshot_path"),
        ({"path": "/a", "snapshot_path": "/b"}, "is for mode: snapshot"),
        ({"path": "/a", "engine": "native", "widen_types": True}, "needs engine: footer"),
        ({"path": "/a", "engine": "native", "on_bad_file": "skip"}, "needs engine: footer"),
        ({"path": "/a", "engine": "native", "statistics": "footer"}, "native knows full and none"),
    ],
)
def test_what_cannot_work_is_refused_by_name(given_arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(given_arguments)
    assert words in str(caught.value)


def test_undo_takes_fewer_arguments() -> None:
    assert parse_arguments({"path": "/a", "dry_run": True}, operation="undo_convert").path == "/a"
    with pytest.raises(ConfigError, match="undo_convert has no argument `engine`"):
        parse_arguments({"path": "/a", "engine": "auto"}, operation="undo_convert")


def test_a_full_request_is_taken_as_it_is_meant() -> None:
    arguments = parse_arguments(
        {
            "path": "/data/x",
            "partition_by": "day date, country string",
            "statistics": "Full",
            "properties": {"delta.appendOnly": True, "owner": "team", "n": 3},
            "mode": "snapshot",
            "register_as": "lake.x",
        }
    )
    request = request_for(arguments, default_schema="analytics", path=arguments.path)
    assert request.partition_by == (("day", "date"), ("country", "string"))
    assert request.properties == (("delta.appendOnly", "true"), ("owner", "team"), ("n", "3"))
    assert request.register_as == (None, "lake", "x")
    assert request.statistics == "full"
    assert request.is_snapshot


def test_an_option_that_a_source_spells_wrong_is_named() -> None:
    arguments = parse_arguments({"select": "tag:x"})
    with pytest.raises(ConfigError, match="did you mean `partition_by`"):
        request_for(arguments, default_schema="s", path="/a", options={"partitions_by": "day"})


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        ("a int", (("a", "integer"),)),
        ("a", (("a", None),)),
        ("a int, `b c` decimal(5, 2)", (("a", "integer"), ("b c", "decimal(5,2)"))),
        (["a", "b bigint", {"c": "date"}], (("a", None), ("b", "long"), ("c", "date"))),
        ({"a": "int", "b": "date"}, (("a", "integer"), ("b", "date"))),
        (
            [{"name": "a", "type": "int"}, {"name": "b", "data_type": "date"}],
            (("a", "integer"), ("b", "date")),
        ),
        ("a: int, `b:c` date", (("a", "integer"), ("b:c", "date"))),
        ([], ()),
    ],
)
def test_partition_columns_come_as_ddl_or_list(value: Any, columns: Any) -> None:
    assert parse_partition_by(value) == columns


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t", (None, "analytics", "t")),
        ("s.t", (None, "s", "t")),
        ("c.s.t", ("c", "s", "t")),
        ("`a.b`.`t``x`", (None, "a.b", "t`x")),
    ],
)
def test_table_names_are_split_where_they_should_be(text: str, name: Any) -> None:
    assert table_name(text, "analytics") == name


@pytest.mark.parametrize("text", ["a.b.c.d", "a..b", "`a", "a.", ".a", "`a`b", "a`b`"])
def test_odd_table_names_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        table_name(text, "analytics")


@given(st.text(min_size=1).filter(lambda text: "\x00" not in text and text.strip() == text))
def test_any_name_in_backticks_is_one_name(text: str) -> None:
    quoted = "`" + text.replace("`", "``") + "`"
    assert table_name(f"s.{quoted}", "analytics") == (None, "s", text)


def source(name: str, **keys: Any) -> dict[str, Any]:
    return {
        "unique_id": f"source.shop.raw.{name}",
        "source_name": "raw",
        "name": name,
        "schema": "raw",
        "identifier": name,
        "tags": [],
        "package_name": "shop",
        **keys,
    }


SOURCES = {
    node["unique_id"]: node
    for node in (
        source("events", tags=["landing"]),
        source("rides", tags=["landing", "late"]),
        source("bikes"),
    )
}


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("tag:landing", ["events", "rides"]),
        ("tag:landing,tag:late", ["rides"]),
        ("tag:late bikes", ["bikes", "rides"]),
        ("source:raw", ["bikes", "events", "rides"]),
        ("source:raw.b*", ["bikes"]),
        ("raw.events", ["events"]),
        ("package:shop,tag:late", ["rides"]),
    ],
)
def test_sources_are_selected_as_dbt_does(select: str, names: list[str]) -> None:
    arguments = parse_arguments({"select": select})
    assert [node["name"] for node in chosen_sources(arguments, SOURCES)] == names


@pytest.mark.parametrize(
    ("given_arguments", "words"),
    [
        ({"source": "raw.nothing"}, "its sources are raw.bikes, raw.events, raw.rides"),
        ({"select": "tag:nothing"}, "matches no source"),
        ({"select": "state:modified"}, "does not know"),
    ],
)
def test_a_source_that_is_not_there_is_named(given_arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen_sources(parse_arguments(given_arguments), SOURCES)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("node", "location", "options"),
    [
        (source("x"), None, {}),
        (source("x", external={"location": "s3a://b/x"}), "s3a://b/x", {}),
        (source("x", meta={"delta_maint": "data/x"}), "data/x", {}),
        (
            source("x", config={"meta": {"delta_maint": {"location": "d", "statistics": "none"}}}),
            "d",
            {"statistics": "none"},
        ),
    ],
)
def test_a_source_says_where_its_files_lie(node: Any, location: Any, options: Any) -> None:
    assert source_location(node) == (location, options)
