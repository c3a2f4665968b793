"""Many file schemas -> one table schema, by Delta's rules."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.delta_maint.core.errors import SchemaMergeError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.schema_merge import (
    FileSchema,
    check_table_schema,
    merge_file_schemas,
    with_partition_columns,
)
from hypothesis import given
from hypothesis import strategies as st


def struct(**columns: Any) -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": False, "metadata": {}}
        for name, kind in columns.items()
    ]
    return {"type": "struct", "fields": fields}


def merge(*structs: dict[str, Any], widen: bool = False) -> dict[str, Any]:
    files = [FileSchema(f"{number}.parquet", found) for number, found in enumerate(structs)]
    return merge_file_schemas(files, widen_types=widen)


def columns(found: dict[str, Any]) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in found["fields"]}


def array(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": False}


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ("integer", "integer", "integer"),
        ("byte", "short", "short"),
        ("integer", "byte", "integer"),
        ("void", "string", "string"),
        ("string", "void", "string"),
    ],
)
def test_types_that_merge(left: str, right: str, merged: str) -> None:
    assert columns(merge(struct(a=left), struct(a=right))) == {"a": merged}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("integer", "long"),
        ("float", "double"),
        ("integer", "string"),
        ("date", "timestamp"),
        ("decimal(9,1)", "decimal(9,2)"),
        ("timestamp", "timestamp_ntz"),
        ("string", array("string")),
        (array("integer"), array("long")),
    ],
)
def test_types_that_do_not_merge_name_the_column_and_both_files(left: Any, right: Any) -> None:
    with pytest.raises(SchemaMergeError) as caught:
        merge(struct(b="long"), struct(a=left), struct(a=right))
    for word in ("DELTA_FAILED_TO_MERGE_FIELDS", "column a", "1.parquet", "2.parquet"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ("integer", "long", "long"),
        ("long", "short", "long"),
        ("float", "double", "double"),
        ("decimal(9,1)", "decimal(12,2)", "decimal(12,2)"),
    ],
)
def test_widening_takes_the_wider_type_and_records_it(left: str, right: str, merged: str) -> None:
    found = merge(struct(a=left), struct(a=right), widen=True)
    assert columns(found) == {"a": merged}
    (change,) = found["fields"][0]["metadata"]["delta.typeChanges"]
    assert change["toType"] == merged


@pytest.mark.parametrize(
    ("left", "right"), [("integer", "string"), ("decimal(9,1)", "decimal(9,2)"), ("long", "double")]
)
def test_widening_loses_nothing(left: str, right: str) -> None:
    with pytest.raises(SchemaMergeError):
        merge(struct(a=left), struct(a=right), widen=True)


def test_a_conflict_that_widening_would_solve_says_so() -> None:
    with pytest.raises(SchemaMergeError, match="widen_types: true"):
        merge(struct(a="integer"), struct(a="long"))


def test_new_columns_go_last_in_path_order_and_everything_is_nullable() -> None:
    found = merge(struct(b="long", a="long"), struct(c="long", a="long"))
    assert list(columns(found)) == ["b", "a", "c"]
    assert all(field["nullable"] for field in found["fields"])


def test_structs_merge_field_by_field_also_inside_lists() -> None:
    left = struct(s=struct(x="long"), li=array(struct(x="long")))
    right = struct(s=struct(y="string"), li=array(struct(y="string")))
    merged = columns(merge(left, right))
    assert columns(merged["s"]) == {"x": "long", "y": "string"}
    assert columns(merged["li"]["elementType"]) == {"x": "long", "y": "string"}


def test_names_keep_their_first_spelling_across_files_and_clash_within_one() -> None:
    assert columns(merge(struct(Id="long"), struct(ID="long"))) == {"Id": "long"}
    with pytest.raises(SchemaMergeError, match="DELTA_DUPLICATE_COLUMNS_FOUND"):
        merge(struct(Id="long", ID="long"))


@given(
    st.lists(st.dictionaries(st.sampled_from("abcdef"), st.just("long"), min_size=1), min_size=1)
)
def test_merging_again_changes_nothing(parts: list[dict[str, str]]) -> None:
    once = merge(*(struct(**part) for part in parts))
    assert merge(once, *(struct(**part) for part in parts)) == once
    assert set(columns(once)) == {name for part in parts for name in part}


def test_a_partition_column_takes_the_place_of_a_data_column() -> None:
    found = with_partition_columns(
        struct(K="long", id="long"),
        [PartitionColumn("k", "integer"), PartitionColumn("j", "date")],
    )
    assert list(columns(found).items()) == [("k", "integer"), ("id", "long"), ("j", "date")]


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (struct(**{"a b": "long"}), "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        (struct(s=struct(**{"a;b": "long"})), "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        (struct(a="interval year"), "DELTA_UNSUPPORTED_DATA_TYPES"),
        (struct(k="long", K="long"), "DELTA_DUPLICATE_COLUMNS_FOUND"),
    ],
)
def test_what_delta_refuses_is_refused_before(found: dict[str, Any], error: str) -> None:
    with pytest.raises(SchemaMergeError, match=error):
        check_table_schema(found)


def test_no_file_is_no_schema() -> None:
    with pytest.raises(SchemaMergeError, match="DELTA_FAILED_INFER_SCHEMA"):
        merge_file_schemas([])
