"""Partition folders <-> names and typed values."""

from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.errors import PartitionLayoutError
from dbt.adapters.delta_maint.core.hive_layout import (
    common_columns,
    encode_path,
    escape,
    is_hidden_folder,
    partition_pairs,
    require_columns,
    unescape,
)
from dbt.adapters.delta_maint.core.partition_types import infer_type, stored_value, type_from_ddl
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1)


@given(TEXT)
def test_a_value_survives_the_way_into_a_folder_name_and_back(text: str) -> None:
    assert unescape(escape(text)) == text


@given(TEXT, TEXT)
def test_an_escaped_segment_is_one_segment(name: str, value: str) -> None:
    pairs = partition_pairs(f"{escape(name)}={escape(value)}")
    expected = None if value == "__HIVE_DEFAULT_PARTITION__" else value
    assert pairs == ((name, expected),)


@pytest.mark.parametrize(
    ("escaped", "plain"),
    [
        ("a%3Ab", "a:b"),
        ("%252F", "%2F"),
        ("50%25", "50%"),
        ("100%", "100%"),
        ("%zz", "%zz"),
        ("a+b", "a+b"),
        ("%2", "%2"),
        ("🚲%20x", "🚲 x"),
    ],
)
def test_percent_is_decoded_exactly_once(escaped: str, plain: str) -> None:
    assert unescape(escaped) == plain


@pytest.mark.parametrize(
    ("folder", "pairs"),
    [
        ("", ()),
        ("a/b", ()),
        ("k=1", (("k", "1"),)),
        ("k=1/batch", (("k", "1"),)),
        ("batch/k=1", (("k", "1"),)),
        ("k=", (("k", None),)),
        ("k=a=b", (("k", "a=b"),)),
        ("k=__HIVE_DEFAULT_PARTITION__/j=x", (("k", None), ("j", "x"))),
    ],
)
def test_folders_are_read_as_hive_wrote_them(folder: str, pairs: object) -> None:
    assert partition_pairs(folder) == pairs


def test_a_hidden_folder_with_an_equals_sign_is_a_partition() -> None:
    assert is_hidden_folder("_temporary")
    assert not is_hidden_folder("_key=1")


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (["", "k=1"], ["Expecting 0 partition column(s): []", "found 1 partition column(s): [k]"]),
        (["k=1", "k=1/j=2"], ["Expecting 1 partition column(s): [k]", "[k, j]", "k=1/j=2"]),
        (["a=1", "b=1"], ["Expecting partition column a", "found partition column b"]),
        (["a=1/a=2"], ["names the partition column a twice"]),
        (["=1"], ["without a column name"]),
    ],
)
def test_folders_that_disagree_are_named(folders: list[str], words: list[str]) -> None:
    with pytest.raises(PartitionLayoutError) as caught:
        common_columns(folders)
    for word in words:
        assert word in str(caught.value)


def test_columns_are_compared_without_case_and_keep_the_first_spelling() -> None:
    assert common_columns(["Day=1", "day=2"]) == ("Day",)
    require_columns(["DAY"], ["Day=1", "day=2"])


def test_a_path_is_encoded_from_what_is_on_disk() -> None:
    assert encode_path("k=a b%3Ac/x#1?.parquet") == "k=a%20b%253Ac/x%231%3F.parquet"
    assert encode_path("a:b/é🚲") == "a%3Ab/é🚲"
    assert encode_path("k=1/t=10:30/é🚲") == "k=1/t=10:30/é🚲"
    assert encode_path("a\u00a0b\u2028c") == "a%C2%A0b%E2%80%A8c"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-7", None], "integer"),
        (["1", "3000000000"], "long"),
        (["99999999999999999999"], "string"),
        (["007"], "string"),
        (["1", "x"], "string"),
        (["-0"], "string"),
        (["+1"], "string"),
        (["1.0"], "string"),
        (["true"], "string"),
        (["2024-02-29"], "date"),
        (["2023-02-29"], "string"),
        (["2024-2-9"], "string"),
        (["2024-01-01", "1"], "string"),
        (["2024-01-01 00:00:00"], "timestamp"),
        (["2024-01-01 00:00:00.5"], "timestamp"),
        (["2024-01-01 00:00:00.50"], "string"),
        ([None], "string"),
        ([], "string"),
    ],
)
def test_a_type_is_inferred_only_if_the_text_comes_back(values: list[str], kind: str) -> None:
    assert infer_type(values) == kind


def test_an_hour_that_the_clock_skips_stays_text() -> None:
    assert infer_type(["2024-03-31 02:30:00"], zone="Europe/Berlin") == "string"
    assert infer_type(["2024-03-31 02:30:00"], zone="UTC") == "timestamp"


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_inferred_number_is_stored_as_it_was(number: int) -> None:
    kind = infer_type([str(number)])
    assert stored_value(str(number), kind, column="k") == str(number)


@pytest.mark.parametrize(
    ("value", "kind", "stored"),
    [
        ("007", "integer", "7"),
        ("x", "string", "x"),
        (None, "integer", None),
        ("TRUE", "boolean", "true"),
        ("0", "boolean", "false"),
        ("1.5", "decimal(5,2)", "1.50"),
        ("2024-1-2", "date", "2024-01-02"),
        ("1.5", "double", "1.5"),
        ("2024-01-01 10:00:00", "timestamp", "2024-01-01T10:00:00.000000Z"),
        ("2024-01-01T10:00:00+02:00", "timestamp", "2024-01-01T08:00:00.000000Z"),
        ("2024-01-01 10:00:00.5", "timestamp_ntz", "2024-01-01 10:00:00.500000"),
    ],
)
def test_values_are_stored_as_delta_writes_them(value: str, kind: str, stored: str) -> None:
    assert stored_value(value, kind, column="k") == stored


def test_timestamps_are_read_in_the_session_zone() -> None:
    kept = stored_value("2024-07-01 00:00:00", "timestamp", column="t", zone="Europe/Berlin")
    assert kept == "2024-06-30T22:00:00.000000Z"
    assert stored_value("2024-07-01", "timestamp", column="t", zone="+05:30") == (
        "2024-06-30T18:30:00.000000Z"
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("x", "integer"),
        ("1.5", "integer"),
        ("300", "byte"),
        ("2024-02-30", "date"),
        ("maybe", "boolean"),
        ("1.555", "decimal(5,2)"),
        ("12345.6", "decimal(5,2)"),
        ("2024-01-01 25:00:00", "timestamp"),
        ("1_0", "double"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_column(value: str, kind: str) -> None:
    with pytest.raises(PartitionLayoutError, match="DELTA_FAILED_CAST_PARTITION_VALUE") as caught:
        stored_value(value, kind, column="day")
    assert value in str(caught.value)
    assert "day" in str(caught.value)


@pytest.mark.parametrize("text", ["interval", "array<int>", "binary", "varchar", ""])
def test_types_that_cannot_partition_are_refused(text: str) -> None:
    with pytest.raises(PartitionLayoutError, match="not a type for a partition column"):
        type_from_ddl(text)
