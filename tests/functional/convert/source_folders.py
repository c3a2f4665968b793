"""Folders of parquet as they are met in the wild, each built in a few lines.

`partitioned_by` is what the native command has to be told; ours infers it. `native` says what it does:
ok, error, or wrong (it converts but loses or bends something, which the note says).
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Build = Callable[[Path], None]
FOLDERS: list[SourceFolder] = []


@dataclass(frozen=True)
class SourceFolder:
    name: str
    build: Build
    partitioned_by: str | None = None
    native: str = "ok"
    note: str = ""
    rows: int | None = None
    error: str = ""


def folder(
    partitioned_by: str | None = None,
    native: str = "ok",
    note: str = "",
    rows: int | None = None,
    error: str = "",
) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        FOLDERS.append(
            SourceFolder(build.__name__, build, partitioned_by, native, note, rows, error)
        )
        return build

    return add


def put(path: Path, columns: dict[str, Any] | pa.Table, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, path, **options)


def ids(start: int = 0, count: int = 3) -> pa.Array:
    return pa.array(range(start, start + count), pa.int64())


def by_value(root: Path, column: str, values: list[str]) -> None:
    for number, value in enumerate(values):
        put(root / f"{column}={value}" / "f.parquet", {"id": ids(number * 3)})


# -- plain ------------------------------------------------------------------------------------


@folder(rows=3)
def one_file(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(), "name": ["x", None, "z"]})


@folder(rows=6)
def file_without_suffix_and_equals_in_its_name(root: Path) -> None:
    put(root / "plain", {"id": ids()})
    put(root / "a=b.parquet", {"id": ids(3)})


@folder(rows=3)
def hidden_and_marker_files(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "_temporary" / "0" / "x.parquet", {"id": ids(9)})
    put(root / ".hidden" / "x.parquet", {"id": ids(9)})
    for name in ("_SUCCESS", ".gone.parquet.crc", "_committed_1", ".part"):
        (root / name).write_bytes(b"mark")
    (root / "empty_folder" / "below").mkdir(parents=True)


@folder(rows=6)
def nested_plain_folders(root: Path) -> None:
    put(root / "batch1" / "deep" / "a.parquet", {"id": ids()})
    put(root / "batch2" / "b.parquet", {"id": ids(3)})


@folder(rows=3)
def empty_log_folder_of_a_failed_attempt(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    (root / "_delta_log" / "_staged_commits").mkdir(parents=True)


@folder(rows=10)
def many_row_groups(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(0, 10), "s": [f"v{n}" for n in range(10)]}, row_group_size=3)


@folder(rows=4)
def names_with_dots_quotes_and_emoji(root: Path) -> None:
    put(
        root / "a.parquet",
        {"a.b": [1, 2, 3, 4], "it's": ["x"] * 4, "🚲": [1.5] * 4, "größe": [1, None, 3, 4]},
    )


@folder(rows=3)
def file_names_that_look_like_patterns(root: Path) -> None:
    put(root / "part[1]{a}*?.parquet", {"id": ids(), "s": ["a", "b", "c"]})


@folder(rows=3)
def file_names_with_every_odd_character(root: Path) -> None:
    put(root / "a b%20+#;&@,~'\"é🚲.parquet", {"id": ids()})


# -- partition values -------------------------------------------------------------------------


@folder("k string", rows=15)
def partition_text_with_spaces_percent_plus_and_quotes(root: Path) -> None:
    by_value(root, "k", ["a b", "50%25", "a+b", "it's", "x%22y"])


@folder("k string", rows=12)
def partition_text_escaped_once(root: Path) -> None:
    by_value(root, "k", ["a%3Ab", "a%2Fb", "a%252Fb", "%20"])


@folder("k string", rows=9)
def partition_text_emoji_and_umlauts(root: Path) -> None:
    by_value(root, "k", ["🚲", "größe", "日本"])


@folder("k string", rows=6)
def partition_text_of_200_bytes(root: Path) -> None:
    by_value(root, "k", ["x" * 200, "é" * 100])


@folder("k string", rows=6)
def partition_text_with_newline_and_tab(root: Path) -> None:
    by_value(root, "k", ["a%0Ab", "a%09b"])


@folder("k string", rows=6)
def partition_text_of_special_characters(root: Path) -> None:
    by_value(root, "k", ["%25%21@%23$%25%5E&%2A-", "%3F.+<_>|%2F"])


@folder("k int", rows=9)
def partition_int(root: Path) -> None:
    by_value(root, "k", ["1", "-7", "2147483647"])


@folder("k bigint", rows=6)
def partition_long(root: Path) -> None:
    by_value(root, "k", ["1", "9007199254740993"])


@folder("k string", rows=6)
def partition_with_leading_zeros_stays_text(root: Path) -> None:
    by_value(root, "k", ["007", "7"])


@folder("k date", rows=9)
def partition_date_with_null(root: Path) -> None:
    by_value(root, "k", ["2024-02-29", "1999-12-31", "__HIVE_DEFAULT_PARTITION__"])


@folder("k string", rows=6)
def partition_text_null(root: Path) -> None:
    by_value(root, "k", ["a", "__HIVE_DEFAULT_PARTITION__"])


@folder("k int", rows=6)
def partition_int_null(root: Path) -> None:
    by_value(root, "k", ["1", "__HIVE_DEFAULT_PARTITION__"])


@folder("k string", native="error", note="the suite says null, the command fails", rows=6)
def partition_empty_text(root: Path) -> None:
    by_value(root, "k", ["a", ""])


@folder("t timestamp", native="error", note="a parse error", rows=6)
def partition_timestamp(root: Path) -> None:
    by_value(root, "t", ["2024-01-01 00%3A00%3A00", "2024-06-01 12%3A30%3A00.5"])


@folder("k string", rows=6)
def partition_boolean_words_stay_text(root: Path) -> None:
    by_value(root, "k", ["true", "false"])


@folder("k string", rows=6)
def partition_decimals_stay_text(root: Path) -> None:
    by_value(root, "k", ["1.50", "2.0"])


@folder("a int, b string", rows=6)
def two_partition_levels(root: Path) -> None:
    put(root / "a=1" / "b=x" / "f.parquet", {"id": ids()})
    put(root / "a=2" / "b=y" / "f.parquet", {"id": ids(3)})


@folder("`_k` int, `.j` int", rows=6)
def partition_names_with_underscore_and_dot_in_front(root: Path) -> None:
    put(root / "_k=1" / ".j=1" / "f.parquet", {"id": ids()})
    put(root / "_k=2" / ".j=2" / "f.parquet", {"id": ids(3)})


@folder("`p@r!t$` string", rows=6)
def partition_name_with_special_characters(root: Path) -> None:
    by_value(root, "p@r!t$", ["a", "b"])


@folder("k int", rows=6)
def plain_folder_below_a_partition(root: Path) -> None:
    put(root / "k=1" / "batch" / "f.parquet", {"id": ids()})
    put(root / "k=2" / "f.parquet", {"id": ids(3)})


@folder("k int", rows=6)
def partition_column_also_in_the_files(root: Path) -> None:
    for number in (1, 2):
        put(
            root / f"k={number}" / "f.parquet",
            {"k": pa.array([number] * 3, pa.int64()), "id": ids(number)},
        )


@folder("k int", native="error", error="DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME")
def files_in_root_and_in_a_partition(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "k=1" / "b.parquet", {"id": ids()})


@folder("k int", native="error", error="DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME")
def partition_levels_of_different_depth(root: Path) -> None:
    put(root / "k=1" / "a.parquet", {"id": ids()})
    put(root / "k=2" / "j=1" / "b.parquet", {"id": ids()})


@folder("k int", native="error", error="DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME")
def partition_columns_of_different_name(root: Path) -> None:
    put(root / "k=1" / "a.parquet", {"id": ids()})
    put(root / "j=2" / "b.parquet", {"id": ids()})


@folder("`a b` int", native="error", error="DELTA_INVALID_PARTITION_COLUMN_NAME")
def partition_name_with_a_space(root: Path) -> None:
    by_value(root, "a b", ["1", "2"])


@folder("k int", rows=2)
def partition_column_is_the_only_column_of_the_files(root: Path) -> None:
    put(root / "k=1" / "f.parquet", {"k": pa.array([1, 1], pa.int32())})


@folder("t string", native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def partition_text_with_a_raw_colon_in_front(root: Path) -> None:
    by_value(root, "t", ["10:30", "11:30"])


@folder("k int, t string", rows=6)
def partition_text_with_a_raw_colon_further_down(root: Path) -> None:
    by_value(root / "k=1", "t", ["10:30", "11:30"])


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def file_name_with_a_raw_colon(root: Path) -> None:
    put(root / "batch" / "10:30.parquet", {"id": ids()})


@folder(rows=3)
def whole_file_of_a_name_for_partial_ones(root: Path) -> None:
    put(root / "a.part", {"id": ids()})


# -- types ------------------------------------------------------------------------------------


@folder(rows=4)
def every_number(root: Path) -> None:
    values = [-3, 0, None, 7]
    put(
        root / "a.parquet",
        {
            "i8": pa.array(values, pa.int8()),
            "i16": pa.array(values, pa.int16()),
            "i32": pa.array(values, pa.int32()),
            "i64": pa.array([-(2**62), 0, None, 2**62], pa.int64()),
            "f": pa.array([0.1, -2.5, None, 1e10], pa.float32()),
            "d": pa.array([0.1, -2.5, None, 1e300], pa.float64()),
        },
    )


@folder(rows=3)
def unsigned_numbers(root: Path) -> None:
    put(
        root / "a.parquet",
        {
            "u8": pa.array([0, 200, 5], pa.uint8()),
            "u16": pa.array([0, 60000, 5], pa.uint16()),
            "u32": pa.array([0, 4_000_000_000, 5], pa.uint32()),
            "u64": pa.array([0, 2**64 - 1, 5], pa.uint64()),
        },
    )


@folder(rows=6)
def decimals_of_every_width(root: Path) -> None:
    def numbers(*texts: str) -> list[decimal.Decimal]:
        return [decimal.Decimal(text) for text in texts]

    columns = {
        "d9": pa.array(numbers("-1.50", "0.00", "9999999.99"), pa.decimal128(9, 2)),
        "d18": pa.array(numbers("-1.50", "0.00", "12345678901.25"), pa.decimal128(18, 2)),
        "d38": pa.array(
            numbers("-1.0000000001", "0.0000000000", "1234567890123456789012345678.0123456789"),
            pa.decimal128(38, 10),
        ),
        "whole": pa.array(numbers("-1", "0", "12345678901234567890"), pa.decimal128(20, 0)),
    }
    put(root / "a.parquet", columns)
    put(root / "b.parquet", columns, store_decimal_as_integer=True)


@folder(rows=4)
def dates_and_times(root: Path) -> None:
    moments = [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        None,
        dt.datetime(2024, 5, 1, 12, 0, 0, 123456),
        dt.datetime(1850, 1, 1),
    ]
    put(
        root / "a.parquet",
        {
            "day": pa.array([dt.date(1500, 1, 1), None, dt.date(2024, 1, 1), dt.date(1970, 1, 1)]),
            "us": pa.array(moments, pa.timestamp("us", "UTC")),
            "ms": pa.array(moments, pa.timestamp("us", "UTC")).cast(
                pa.timestamp("ms", "UTC"), safe=False
            ),
            "ntz": pa.array(moments, pa.timestamp("us")),
        },
        coerce_timestamps=None,
    )


@folder(rows=3)
def int96_timestamps(root: Path) -> None:
    moments = [dt.datetime(2024, 1, n + 1) for n in range(3)]
    put(
        root / "a.parquet",
        {"id": ids(), "t": pa.array(moments, pa.timestamp("ns"))},
        use_deprecated_int96_timestamps=True,
    )


@folder(rows=3)
def text_and_bytes(root: Path) -> None:
    put(
        root / "a.parquet",
        {
            "s": ["", "b", "a" * 100],
            "b": pa.array([b"", b"\xff", None]),
            "flag": [True, None, False],
            "fixed": pa.array([b"abcd"] * 3, pa.binary(4)),
        },
    )


@folder(rows=6)
def long_strings_with_high_characters(root: Path) -> None:
    high = "\U0010ffff"
    put(
        root / "a.parquet",
        {"s": ["a" * 40, "a" * 32 + "é" * 9, high * 40, "z" * 32 + high * 9, "é" * 33, "b"]},
    )


@folder(rows=2)
def strings_too_long_for_a_footer(root: Path) -> None:
    put(root / "a.parquet", {"s": ["x" * 5000, "y" * 5000], "id": ids(0, 2)})


@folder(rows=5)
def floats_with_nan_and_infinity(root: Path) -> None:
    nan, inf = float("nan"), float("inf")
    put(
        root / "a.parquet",
        {"d": [1.0, nan, inf, -inf, None], "f": pa.array([nan] * 5, pa.float32())},
    )


@folder(rows=3)
def all_null_columns(root: Path) -> None:
    put(
        root / "a.parquet",
        {"id": ids(), "s": pa.nulls(3, pa.string()), "n": pa.nulls(3, pa.int32())},
    )


@folder(rows=3)
def structs_lists_and_maps(root: Path) -> None:
    put(
        root / "a.parquet",
        {
            "st": [{"x": 1, "in": {"y": "a"}}, None, {"x": None, "in": {"y": "c"}}],
            "li": [[1, 2], [], None],
            "full": [[1], [2], [3]],
            "ma": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "ls": [[{"z": 1}], None, []],
        },
    )


@folder(rows=2)
def no_statistics_in_the_footer(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(0, 2), "s": ["a", "b"]}, write_statistics=False)


@folder(rows=6)
def one_file_with_statistics_and_one_without(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "b.parquet", {"id": ids(3)}, write_statistics=False)


@folder(rows=2)
def forty_columns_of_which_32_are_indexed(root: Path) -> None:
    put(root / "a.parquet", {f"c{n}": [n, n + 1] for n in range(40)})


@folder(rows=2)
def structs_count_by_their_leaves(root: Path) -> None:
    put(root / "a.parquet", {"s": [{f"x{n}": n for n in range(40)}] * 2, "later": ids(0, 2)})


# -- drift ------------------------------------------------------------------------------------


@folder(rows=6)
def column_added_later(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "b.parquet", {"id": ids(3), "more": ["x", None, "z"]})


@folder(rows=6)
def struct_field_added_later(root: Path) -> None:
    put(root / "a.parquet", {"s": [{"x": 1}] * 3})
    put(root / "b.parquet", {"s": [{"x": 1, "y": "b"}] * 3})


@folder(rows=6)
def short_becomes_int(root: Path) -> None:
    put(root / "a.parquet", {"n": pa.array([1, 2, 3], pa.int16())})
    put(root / "b.parquet", {"n": pa.array([70000, 2, 3], pa.int32())})


@folder(rows=6)
def required_and_optional(root: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    put(root / "a.parquet", pa.table({"id": ids()}, schema=schema))
    put(root / "b.parquet", {"id": ids(3)})


@folder(rows=6)
def names_that_differ_by_case_across_files(root: Path) -> None:
    put(root / "a.parquet", {"Id": ids(), "v": [1, 2, 3]})
    put(root / "b.parquet", {"id": ids(3), "v": [1, 2, 3]})


@folder(rows=6)
def columns_in_another_order(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(), "name": ["a", "b", "c"]})
    put(root / "b.parquet", {"name": ["d", "e", "f"], "id": ids(3)})


@folder(native="error", error="DELTA_DUPLICATE_COLUMNS_FOUND")
def names_that_differ_by_case_in_one_file(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(), "ID": ids()})


@folder(native="error", error="DELTA_FAILED_TO_MERGE_FIELDS")
def int_and_text(root: Path) -> None:
    put(root / "a.parquet", {"v": [1]})
    put(root / "b.parquet", {"v": ["x"]})


@folder(native="error", error="DELTA_FAILED_TO_MERGE_FIELDS")
def int_and_long(root: Path) -> None:
    put(root / "a.parquet", {"v": pa.array([1], pa.int32())})
    put(root / "b.parquet", {"v": pa.array([1], pa.int64())})


@folder(native="error", error="DELTA_FAILED_TO_MERGE_FIELDS")
def float_and_double(root: Path) -> None:
    put(root / "a.parquet", {"v": pa.array([1], pa.float32())})
    put(root / "b.parquet", {"v": pa.array([1], pa.float64())})


@folder(native="error", error="DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE")
def decimals_of_different_scale(root: Path) -> None:
    put(root / "a.parquet", {"v": pa.array([decimal.Decimal("1.5")], pa.decimal128(9, 1))})
    put(root / "b.parquet", {"v": pa.array([decimal.Decimal("1.55")], pa.decimal128(9, 2))})


@folder(native="error", error="DELTA_FAILED_TO_MERGE_FIELDS")
def date_and_timestamp(root: Path) -> None:
    put(root / "a.parquet", {"v": [dt.date(2024, 1, 1)]})
    put(root / "b.parquet", {"v": [dt.datetime(2024, 1, 1)]})


@folder(native="error", error="DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES")
def column_name_with_a_space(root: Path) -> None:
    put(root / "a.parquet", {"first name": ["x"]})


# -- broken -----------------------------------------------------------------------------------


@folder(native="error", error="DELTA_EMPTY_DIRECTORY")
def nothing_in_it(root: Path) -> None:
    root.mkdir(parents=True)


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def one_file_cut_off(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "b.parquet", {"id": ids()})
    whole = (root / "b.parquet").read_bytes()
    (root / "b.parquet").write_bytes(whole[: len(whole) // 2])


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def one_file_of_no_bytes(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    (root / "b.parquet").write_bytes(b"")


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def text_named_parquet(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    (root / "b.parquet").write_text(json.dumps({"id": 1}) * 20)


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def stray_readme(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    (root / "README").write_text("How this folder came to be.\n")


@folder(native="error", error="DELTA_FAILED_READ_FILE_FOOTER")
def time_of_day_that_spark_cannot_read(root: Path) -> None:
    put(root / "a.parquet", {"t": pa.array([1], pa.float16())})


# -- zero rows --------------------------------------------------------------------------------


@folder(native="wrong", note="drops the file", rows=3)
def file_of_no_rows_beside_others(root: Path) -> None:
    put(root / "a.parquet", {"id": ids()})
    put(root / "b.parquet", {"id": ids(0, 0)})


@folder(native="wrong", note="drops the only file", rows=0)
def only_a_file_of_no_rows(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(0, 0)})


# -- other writers ----------------------------------------------------------------------------


@folder(rows=4)
def written_by_duckdb(root: Path) -> None:
    import duckdb

    root.mkdir(parents=True)
    duckdb.sql(
        f"copy (select i as id, i * 1.5::double as d, ('v' || i) as s, (i::decimal(9,2)) as m, "
        f"date '2024-01-01' + i::int as day, timestamp '2024-01-01' + interval (i) hour as t, "
        f"timestamptz '2024-01-01 00:00:00+00' + interval (i) hour as tz "
        f"from range(4) r(i)) to '{root}/a.parquet' (format parquet)"
    )


@folder(rows=4)
def written_by_rust(root: Path) -> None:
    from deltalake import write_deltalake

    data = pa.table(
        {
            "id": ids(0, 4),
            "s": ["x" * 100, "y", "é" * 70, None],
            "d": [1.0, 2.0, float("nan"), None],
            "t": pa.array([dt.datetime(2024, 1, 1)] * 4, pa.timestamp("us", "UTC")),
        }
    )
    write_deltalake(str(root), data)
    for path in (root / "_delta_log").iterdir():
        path.unlink()
    (root / "_delta_log").rmdir()


@folder(rows=3)
def compressed_by_zstd_with_old_pages(root: Path) -> None:
    put(root / "a.parquet", {"id": ids(), "s": ["a", "b", "c"]}, compression="zstd", version="1.0")


@folder(rows=3)
def stale_spark_schema_in_the_footer(root: Path) -> None:
    spark_schema = {
        "type": "struct",
        "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
    }
    key = "org.apache.spark.sql.parquet.row.metadata"
    table = pa.table({"id": ids()}).replace_schema_metadata({key: json.dumps(spark_schema)})
    put(root / "a.parquet", table)
