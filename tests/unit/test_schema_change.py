from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.data_change import changed_data_at
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.merge_options import check_options, names
from dbt.adapters.delta_maint.core.schema_change import (
    Field,
    can_widen,
    needed_properties,
    plan_schema_change,
    refuse_layout_columns,
    refuse_misplaced_fields,
    statements,
)

TABLE = [Field("id", "int"), Field("Name", "varchar(5)")]


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("tinyint", "smallint", True),
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "double", True),
        ("bigint", "double", False),
        ("float", "double", True),
        ("double", "float", False),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(9,0)", False),
        ("bigint", "decimal(22,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(12,5)", False),
        ("decimal(10,2)", "decimal(9,2)", False),
        ("string", "int", False),
    ],
)
def test_types_widen_as_delta_allows(before: str, after: str, allowed: bool) -> None:
    assert can_widen(before, after) is allowed


def test_names_are_compared_without_case_and_text_is_text() -> None:
    model = [Field("ID", "int"), Field("name", "string")]
    for mode in ("ignore", "fail", "append_new_columns", "sync_all_columns"):
        change = plan_schema_change(mode, model, TABLE, table_name="t")
        assert statements("t", change) == []
        assert change.written == ("id", "Name")


def test_sync_asks_for_the_features_it_needs() -> None:
    model = [Field("id", "bigint"), Field("odd`one", "int")]
    change = plan_schema_change("sync_all_columns", model, TABLE, table_name="t")
    assert statements("t", change) == [
        "alter table t add columns (`odd``one` int)",
        "alter table t drop columns (`Name`)",
        "alter table t alter column `id` type bigint",
    ]
    assert set(needed_properties(change)) == {
        "delta.columnMapping.mode",
        "delta.enableTypeWidening",
    }
    assert change.written == ("id", "odd`one")


def test_a_type_that_cannot_widen_is_refused_only_where_it_would_be_changed() -> None:
    model = [Field("id", "string"), Field("name", "string")]
    with pytest.raises(ConfigError, match=r"Column id of t is int and the model gives string"):
        plan_schema_change("sync_all_columns", model, TABLE, table_name="t")
    assert plan_schema_change("append_new_columns", model, TABLE, table_name="t").widened == ()


def test_a_structure_grows_where_the_mode_lets_columns_grow() -> None:
    table = [Field("s", "array<struct<a:int,`b c`:struct<d:date>>>")]
    model = [Field("S", "array<struct<a:int,`b c`:struct<d:date,`e``f`:decimal(10,2)>,g:int>>")]
    for mode in ("append_new_columns", "sync_all_columns"):
        change = plan_schema_change(mode, model, table, table_name="t")
        assert statements("t", change) == [
            "alter table t add columns (`s`.`element`.`g` int, "
            "`s`.`element`.`b c`.`e``f` decimal(10,2))"
        ]
        refuse_misplaced_fields(change, model, table, table_name="t")
    with pytest.raises(ConfigError, match="other type: s array"):
        plan_schema_change("fail", model, table, table_name="t")


@pytest.mark.parametrize(
    ("table", "model", "field"),
    [
        ("struct<a:int,b:int>", "struct<b:int,a:int>", "s.a of t"),
        ("struct<a:int>", "struct<b:int,a:int>", "s.a of t"),
        ("map<string,struct<a:int,b:int>>", "map<string,struct<b:int,a:int>>", "s.value.a of t"),
        ("struct<a:int,b:int>", "struct<A:int,b:int>", None),
        ("struct<a:int>", "struct<a:int,b:int>", None),
    ],
)
def test_fields_that_an_insert_would_mix_up_are_named(
    table: str, model: str, field: str | None
) -> None:
    offered, present = [Field("s", model)], [Field("s", table)]
    change = plan_schema_change("append_new_columns", offered, present, table_name="t")
    if field is None:
        refuse_misplaced_fields(change, offered, present, table_name="t")
        return
    with pytest.raises(ConfigError, match=field):
        refuse_misplaced_fields(change, offered, present, table_name="t")


def test_columns_that_lay_out_the_files_are_not_dropped() -> None:
    change = plan_schema_change("sync_all_columns", TABLE[:1], TABLE, table_name="t")
    with pytest.raises(ConfigError, match="no longer has Name, by which t is partitioned"):
        refuse_layout_columns(change, ["NAME"], table_name="t")
    refuse_layout_columns(change, ["id"], table_name="t")


def test_options_of_a_users_own_strategy_are_the_users() -> None:
    check_options("my_own", {"matched_condition": "true"})


def test_names_lose_the_quotes_a_user_put_around_them() -> None:
    assert names(["`a``b`", "c"]) == ["a`b", "c"]


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (['{"commitInfo": {"timestamp": 5}}', '{"add": {"dataChange": true}}'], 5),
        (['{"commitInfo": {"timestamp": 5}}', '{"add": {"dataChange": false}}'], None),
        (['{"commitInfo": {"timestamp": 5, "inCommitTimestamp": 6}}', '{"remove": {}}'], 6),
        (['{"commitInfo": {"timestamp": 5}}', '{"metaData": {}}'], None),
    ],
)
def test_a_commit_says_itself_whether_it_changed_data(lines: list[str], at: int | None) -> None:
    assert changed_data_at(lines) == at
