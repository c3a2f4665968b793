"""Bounds from a footer are true of every row; for numbers and dates they are exact."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dbt.adapters.delta_maint.core import delta_stats, footer_stats
from hypothesis import given, settings
from hypothesis import strategies as st

SPARK_TYPES = {
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float64(): "double",
    pa.string(): "string",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("ms", "UTC"): "timestamp",
    pa.decimal128(38, 10): "decimal(38,10)",
    pa.decimal128(9, 2): "decimal(9,2)",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
}


def metadata_of(table: pa.Table, **options: Any) -> Any:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(io.BytesIO(sink.getvalue()))


def stats_of(table: pa.Table, schema: dict[str, Any] | None = None, **options: Any) -> Any:
    metadata = metadata_of(table, **options)
    columns = footer_stats.leaf_columns(metadata.schema)
    wanted = footer_stats.wanted_leaves(columns, limit=-1)
    leaves = footer_stats.footer_leaves(metadata, columns, wanted)
    indexed = delta_stats.indexed_columns(schema or spark_schema(table.schema), [], {})
    plan, _ = delta_stats.sources(columns, wanted, indexed)
    text = delta_stats.StatsWriter(indexed, tight_bounds=False).text(
        metadata.num_rows, leaves, plan
    )
    return json.loads(text, parse_float=decimal.Decimal)


def spark_schema(schema: pa.Schema) -> dict[str, Any]:
    def kind(found: pa.DataType) -> Any:
        if pa.types.is_struct(found):
            return spark_schema(pa.schema(list(found)))
        if pa.types.is_list(found):
            return {"type": "array", "elementType": kind(found.value_type), "containsNull": True}
        return SPARK_TYPES[found]

    return {
        "type": "struct",
        "fields": [{"name": f.name, "type": kind(f.type), "metadata": {}} for f in schema],
    }


NUMBERS = {
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint8(): st.integers(0, 255),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.decimal128(38, 10): st.decimals(-(10**27), 10**27, places=10, allow_nan=False),
    pa.decimal128(9, 2): st.decimals(-(10**6), 10**6, places=2, allow_nan=False),
}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bounds_of_numbers_are_exact_over_any_row_groups(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(NUMBERS)))
    values = data.draw(st.lists(st.none() | NUMBERS[kind], min_size=1, max_size=20))
    table = pa.table({"c": pa.array(values, kind)})
    stats = stats_of(table, row_group_size=data.draw(st.integers(1, 20)))
    present = [value for value in values if value is not None]
    assert stats["numRecords"] == len(values)
    assert stats["nullCount"]["c"] == len(values) - len(present)
    if present:
        assert decimal.Decimal(stats["minValues"]["c"]) == min(present)
        assert decimal.Decimal(stats["maxValues"]["c"]) == max(present)
    else:
        assert "minValues" not in stats


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=80),
        min_size=1,
        max_size=8,
    )
)
def test_bounds_of_text_enclose_every_row_and_stay_short(values: list[str | None]) -> None:
    stats = stats_of(pa.table({"c": pa.array(values, pa.string())}))
    present = [value for value in values if value is not None]
    if "c" in stats.get("minValues", {}):
        assert stats["minValues"]["c"] <= min(present)
        assert len(stats["minValues"]["c"]) <= 32
    if "c" in stats.get("maxValues", {}):
        assert stats["maxValues"]["c"] >= max(present)
        assert len(stats["maxValues"]["c"]) <= 65


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([pa.timestamp("us", "UTC"), pa.timestamp("us")]),
)
def test_times_are_cut_down_to_milliseconds(values: list[dt.datetime], kind: Any) -> None:
    stats = stats_of(pa.table({"c": pa.array(values, kind)}))
    low = dt.datetime.fromisoformat(stats["minValues"]["c"].rstrip("Z"))
    high = dt.datetime.fromisoformat(stats["maxValues"]["c"].rstrip("Z"))
    assert low <= min(values) < low + dt.timedelta(milliseconds=1)
    assert high <= max(values) < high + dt.timedelta(milliseconds=1)
    assert stats["minValues"]["c"].endswith("Z") == (kind.tz is not None)


def test_floats_of_a_writer_that_hides_nan_have_no_bounds() -> None:
    stats = stats_of(pa.table({"c": [1.0, float("nan")]}))
    assert "minValues" not in stats
    assert stats["nullCount"]["c"] == 0


@pytest.mark.parametrize(
    ("writer", "is_trusted"),
    [
        ("parquet-mr version 1.17.0 (build abc)", True),
        ("parquet-mr version 1.10.1 (build abc)", True),
        ("parquet-mr version 1.9.0 (build abc)", False),
        ("parquet-mr", False),
        ("parquet-cpp-arrow version 26.0.1", False),
        ("delta-rs version 1.6.6", False),
        ("my parquet-mr version 1.17.0", False),
        (None, False),
    ],
)
def test_floats_are_trusted_by_writer(writer: str | None, is_trusted: bool) -> None:
    assert footer_stats._writer_orders_nan(writer) is is_trusted


@pytest.mark.parametrize(
    ("lows", "highs", "expected"),
    [
        ([1.5], [2.5], ("1.5", "2.5")),
        ([1.5], [float("nan")], ("1.5", None)),
        ([1.5], [float("inf")], ("1.5", None)),
        ([-float("inf")], [2.0], (None, "2.0")),
        ([-0.0], [0.0], ("0.0", "0.0")),
        ([1.5, 0.5], [2.5, float("nan")], ("0.5", None)),
    ],
)
def test_a_side_of_a_float_is_written_only_if_it_is_finite(
    lows: list[float], highs: list[float], expected: tuple[str | None, str | None]
) -> None:
    found = footer_stats.bounds_text("double", lows, highs, string_prefix=32, is_legacy=False)
    assert found == expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float32_is_written_with_the_shortest_text_that_reads_back(value: float) -> None:
    text = footer_stats.float_text(value, "float")
    assert text is not None
    assert float(pa.scalar(float(text), pa.float32()).as_py()) == value
    assert len(text) <= len(repr(value))


@pytest.mark.parametrize(
    ("pairs", "is_legacy"),
    [
        ({}, False),
        ({footer_stats.SPARK_SCHEMA_KEY: b"{}"}, True),
        ({footer_stats.SPARK_SCHEMA_KEY: b"{}", footer_stats.SPARK_VERSION_KEY: b"2.4.8"}, True),
        ({footer_stats.SPARK_SCHEMA_KEY: b"{}", footer_stats.SPARK_VERSION_KEY: b"4.2.0"}, False),
        ({footer_stats.SPARK_VERSION_KEY: b"3.5.0", b"org.apache.spark.legacyDateTime": b""}, True),
    ],
)
def test_the_old_calendar_is_recognised(pairs: dict[bytes, bytes], is_legacy: bool) -> None:
    assert footer_stats._has_legacy_calendar(pairs) is is_legacy


def test_old_dates_of_the_old_calendar_have_no_bounds() -> None:
    old = [dt.date(1500, 1, 1).toordinal() - footer_stats.EPOCH_ORDINAL]
    new = [dt.date(2024, 1, 1).toordinal() - footer_stats.EPOCH_ORDINAL]
    for lows, expected in ((old, (None, None)), (new, ('"2024-01-01"', '"2024-01-01"'))):
        found = footer_stats.bounds_text("date", lows, new, string_prefix=32, is_legacy=True)
        assert found == expected


def test_a_date_outside_of_the_calendar_is_left_out() -> None:
    found = footer_stats.bounds_text("date", [0], [10**7], string_prefix=32, is_legacy=False)
    assert found == (None, None)


def test_bytes_that_are_not_text_are_left_out() -> None:
    found = footer_stats.bounds_text("string", [b"a"], [b"\xff"], string_prefix=32, is_legacy=False)
    assert found == (None, None)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("ab", "ab"),
        ("abc", "abc"),
        ("abcd", "abc\x7f"),
        ("abcé", "abc\U0010ffff"),
        ("abc\U0010ffffd", "abc\U0010ffff\x7f"),
        ("abc" + "\U0010ffff" * 9, None),
    ],
)
def test_a_long_max_is_cut_with_a_tie_breaker(text: str, cut: str | None) -> None:
    assert footer_stats.cut_max_string(text, 3) == cut


@pytest.mark.parametrize(
    ("created_by", "trusted"),
    [
        ("parquet-mr version 1.8.1 (build x)", {"i", "l"}),
        (None, {"i", "l"}),
        ("parquet-mr version 1.10.1 (build x)", {"i", "l", "m", "s", "u", "d"}),
        ("parquet-cpp-arrow version 26.0.0", {"i", "l", "m", "s", "u"}),
    ],
)
def test_bounds_that_an_old_writer_took_by_signed_bytes_are_left_out(
    created_by: str | None, trusted: set[str]
) -> None:
    found = metadata_of(
        pa.table(
            {
                "i": pa.array([1], pa.int32()),
                "l": [1],
                "m": pa.array([decimal.Decimal(1)], pa.decimal128(38, 0)),
                "s": ["a"],
                "u": pa.array([1], pa.uint32()),
                "d": [1.5],
            }
        )
    )

    class ByAnother:
        """The same footer under the name of another writer, which pyarrow cannot write."""

        def __init__(self) -> None:
            self.created_by = created_by

        def __getattr__(self, name: str) -> Any:
            return getattr(found, name)

    columns = footer_stats.leaf_columns(found.schema)
    leaves = footer_stats.footer_leaves(ByAnother(), columns, list(range(6)))
    bounded = {path[0] for (path, _, _), leaf in zip(columns, leaves, strict=True) if leaf[2]}
    assert bounded == trusted


def test_an_all_null_row_group_does_not_hide_the_others() -> None:
    stats = stats_of(pa.table({"c": [None, None, 3, 4]}), row_group_size=2)
    assert (stats["minValues"]["c"], stats["maxValues"]["c"]) == (3, 4)


def test_a_row_group_that_says_nothing_silences_the_column() -> None:
    class Chunk:
        num_values = 2
        statistics = None
        physical_type = "INT64"

    class Group:
        def column(self, index: int) -> Chunk:
            return Chunk()

    assert footer_stats._across_groups([Group()], 0, "INT64") == (None, None, None)


def test_nested_leaves_keep_their_place_and_lists_say_only_no_null() -> None:
    table = pa.table(
        {
            "s": [{"x": 1, "y": "a"}, None],
            "full": pa.array([[1], [2]]),
            "holes": pa.array([[1], []]),
        }
    )
    stats = stats_of(table)
    assert stats["minValues"] == {"s": {"x": 1, "y": "a"}}
    assert stats["nullCount"] == {"s": {"x": 1, "y": 1}, "full": 0}


def test_a_column_the_file_lacks_is_null_in_every_row_unless_it_has_a_default() -> None:
    schema = {
        "type": "struct",
        "fields": [
            {"name": "ID", "type": "long", "metadata": {}},
            {"name": "new", "type": "string", "metadata": {}},
            {"name": "filled", "type": "long", "metadata": {"EXISTS_DEFAULT": "1"}},
        ],
    }
    stats = stats_of(pa.table({"id": [1, 2]}), schema)
    assert stats["nullCount"] == {"ID": 0, "new": 2}
    assert stats["minValues"] == {"ID": 1}


@pytest.mark.parametrize(
    ("kind", "table_type", "keeps"),
    [
        (pa.int16(), "long", True),
        (pa.int64(), "integer", False),
        (pa.int32(), "string", False),
        (pa.int32(), "double", False),
        (pa.decimal128(9, 2), "decimal(12,4)", True),
        (pa.decimal128(9, 2), "decimal(9,1)", False),
        (pa.uint64(), "decimal(20,0)", True),
        (pa.date32(), "timestamp", False),
    ],
)
def test_bounds_survive_another_table_type_only_as_the_same_value(
    kind: Any, table_type: str, keeps: bool
) -> None:
    schema = {"type": "struct", "fields": [{"name": "c", "type": table_type, "metadata": {}}]}
    value = dt.date(2024, 1, 1) if kind == pa.date32() else 7
    stats = stats_of(pa.table({"c": pa.array([value], kind)}), schema)
    assert ("minValues" in stats) is keeps
    assert stats["nullCount"] == {"c": 0}


def test_a_float_read_as_double_has_the_bound_of_the_double() -> None:
    source = delta_stats.StatSource((0,), keeps_bounds=True, widens_float=True)
    low, _, _ = delta_stats._answer(source, [("float", 0, "0.1", "0.1")], 1)
    assert low is not None
    assert float(low) == pa.scalar(0.1, pa.float32()).as_py()
    assert not math.isclose(float(low), 0.1, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({}, [f"c{n}" for n in range(32)]),
        ({"delta.dataSkippingNumIndexedCols": "2"}, ["c0", "c1"]),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, [f"c{n}" for n in range(40)]),
        ({"delta.dataSkippingStatsColumns": "c39,`c1`"}, ["c1", "c39"]),
    ],
)
def test_the_indexed_columns_follow_the_properties(
    properties: dict[str, str], names: list[str]
) -> None:
    schema = {
        "type": "struct",
        "fields": [{"name": f"c{n}", "type": "long", "metadata": {}} for n in range(40)],
    }
    found = delta_stats.indexed_columns(schema, [], properties)
    assert [column.name for column in found] == names


def test_partition_columns_are_not_indexed_and_structs_count_by_leaf() -> None:
    inner = {
        "type": "struct",
        "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "long"}],
    }
    schema = {
        "type": "struct",
        "fields": [
            {"name": "p", "type": "date"},
            {"name": "s", "type": inner},
            {"name": "c", "type": "long"},
        ],
    }
    found = delta_stats.indexed_columns(schema, ["P"], {"delta.dataSkippingNumIndexedCols": "2"})
    assert [column.name for column in found] == ["s.x", "s.y"]
