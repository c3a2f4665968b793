"""What a worker does with a bin, without Spark around: real parquet files in, one file out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dbt.adapters.delta_maint.lake.rewriters.arrow_columns import arrow_type, reads_as
from dbt.adapters.delta_maint.lake.rewriters.arrow_task import rewrite_bins

ROOT = Path(__file__).parents[3]


def spec_of(*columns: tuple[str, Any], **changes: Any) -> dict[str, Any]:
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns]
    return {
        "schema": {"type": "struct", "fields": fields},
        "partition_names": [],
        "indexed": [(name,) for name, _ in columns],
        "string_prefix": 32,
        "codec": "snappy",
        "codec_level": None,
        "suffix": ".snappy.parquet",
        "row_group_bytes": 1 << 20,
        "int96": True,
        "has_times": True,
        "spark_version": "4.2.0",
        **changes,
    }


def rewrite(folder: Path, files: list[pa.Table], spec: dict[str, Any], **written: Any) -> Any:
    inputs = []
    for number, table in enumerate(files):
        path = folder / f"in-{number}.parquet"
        pq.write_table(table, path, **written)
        inputs.append({"path": str(path), "rows": table.num_rows})
    (answer,) = rewrite_bins(
        [{"number": 0, "inputs": inputs, "output": str(folder / "out-")}], spec
    )
    return answer


LONG = {"type": "struct", "fields": [
    {"name": "new", "type": "string", "nullable": True, "metadata": {}},
    {"name": "x", "type": "long", "nullable": True, "metadata": {}},
]}  # fmt: skip


def test_columns_come_out_as_the_table_says_at_every_depth(tmp_path: Path) -> None:
    inner = pa.struct([("dropped", pa.int8()), ("x", pa.int16())])
    old = pa.table(
        {
            "m": pa.array([[("k", [{"dropped": 1, "x": 5}, None])], None, []], pa.map_(pa.string(), pa.list_(inner))),
            "S": pa.array([{"dropped": 1, "x": 7}, None, {"dropped": None, "x": None}], inner),
            "extra": [1, 2, 3],
            "d": pa.array(["1.5", None, "2.5"]).cast(pa.decimal128(4, 1)),
            "day": pa.array([0, None, -700_000], pa.date32()),
        }
    )  # fmt: skip
    spec = spec_of(
        ("day", "timestamp_ntz"),
        ("s", LONG),
        ("late", {"type": "array", "elementType": "long", "containsNull": True}),
        ("m", {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": LONG}}),
        ("d", "decimal(10,3)"),
        int96=False,
    )  # fmt: skip
    answer = rewrite(tmp_path, [old, old.slice(1, 2)], spec, row_group_size=2)
    assert answer["error"] is None
    found = pq.read_table(answer["path"])
    rows = found.to_pylist()
    assert found.column_names == ["day", "s", "late", "m", "d"]
    assert [row["s"] for row in rows] == [
        {"new": None, "x": 7}, None, {"new": None, "x": None}, None, {"new": None, "x": None},
    ]  # fmt: skip
    assert rows[0]["m"] == [("k", [{"new": None, "x": 5}, None])]
    assert [row["m"] for row in rows[1:]] == [None, [], None, []]
    assert [str(row["d"]) for row in rows[:3]] == ["1.500", "None", "2.500"]
    assert str(rows[0]["day"]).startswith("1970-01-01 00:00")
    assert {row["late"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("kind", "wanted", "ok"),
    [
        ("byte", "long", True),
        ("long", "integer", False),
        ("integer", "double", True),
        ("long", "double", False),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(10,1)", False),
        ("long", "decimal(20,0)", True),
        ("decimal(10,2)", "decimal(12,3)", True),
        ("decimal(10,2)", "decimal(10,3)", False),
        ("float", "double", True),
        ("double", "float", False),
        ("int96", "timestamp", True),
        ("int96", "timestamp_ntz", False),
        ("timestamp:milliseconds", "timestamp", True),
        ("timestamp_ntz:microseconds", "timestamp", False),
        ("unsigned:32", "long", True),
        ("unsigned:64", "long", False),
        ("binary?", "string", False),
        ("binary?", "binary", True),
        ("?", "binary", False),
        ("string", "long", False),
    ],
)
def test_a_type_in_a_file_is_the_tables_or_grows_to_it(kind: str, wanted: str, ok: bool) -> None:
    assert reads_as(kind, wanted) is ok


def test_a_type_that_does_not_grow_is_an_answer_and_leaves_no_file(tmp_path: Path) -> None:
    good, bad = pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": ["x"]})
    answer = rewrite(tmp_path, [good, bad], spec_of(("a", "integer")))
    assert answer["error"] == "column a is string in a file and integer in the table"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in-0.parquet", "in-1.parquet"]


def test_a_file_with_other_rows_than_the_log_says_is_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    pq.write_table(table, tmp_path / "in.parquet")
    inputs = [{"path": str(tmp_path / "in.parquet"), "rows": 3}]
    task = [{"number": 4, "inputs": inputs, "output": str(tmp_path / "out-")}]
    (answer,) = rewrite_bins(task, spec_of(("a", "long")))
    assert answer["number"] == 4
    assert "holds 2 rows and the log says 3" in answer["error"]
    assert not list(tmp_path.glob("out-*"))


def test_names_that_differ_by_case_only_are_not_guessed(tmp_path: Path) -> None:
    table = pa.table({"A": [1], "a": [2]})
    assert rewrite(tmp_path, [table], spec_of(("a", "long")))["error"] is None
    rewrite(tmp_path, [table], spec_of(("b", "long")))
    twins = pa.table([[1], [2]], names=["AB", "Ab"])
    assert "several columns" in rewrite(tmp_path, [twins], spec_of(("ab", "long")))["error"]


def test_float_bounds_are_written_only_where_no_row_is_nan(tmp_path: Path) -> None:
    table = pa.table({"clean": [1.5, None, -2.0], "nan": [1.5, float("nan"), -2.0]})
    answer = rewrite(tmp_path, [table, table], spec_of(("clean", "double"), ("nan", "double")))
    assert answer["leaves"] == [("double", 2, "-2.0", "1.5"), ("double", 0, None, None)]


def test_int96_keeps_microseconds_of_every_year_and_has_bounds(tmp_path: Path) -> None:
    micros = [-62135596800000000, -1, 0, 253402300799999999, None]
    table = pa.table({"t": pa.array(micros, pa.timestamp("us", "UTC"))})
    spec = spec_of(("t", "timestamp"))
    answer = rewrite(
        tmp_path, [table], spec, use_deprecated_int96_timestamps=True, store_schema=False
    )
    file = pq.ParquetFile(answer["path"], coerce_int96_timestamp_unit="us")
    assert file.schema.column(0).physical_type == "INT96"
    assert file.read()["t"].cast(pa.int64()).to_pylist() == micros
    assert answer["times"][("t",)] == (
        '"0001-01-01T00:00:00.000Z"',
        '"9999-12-31T23:59:59.999Z"',
        1,
    )


def test_files_of_an_old_calendar_are_left_to_spark(tmp_path: Path) -> None:
    table = pa.table({"t": pa.array([0], pa.date32())})
    for key, value in (
        ("org.apache.spark.legacyDateTime", ""),
        ("org.apache.spark.version", "2.4.8"),
    ):
        marked = table.replace_schema_metadata({key: value})
        assert "old calendar" in rewrite(tmp_path, [marked], spec_of(("t", "date")))["error"]
        free = spec_of(("t", "date"), has_times=False)
        assert rewrite(tmp_path, [marked], free)["error"] is None


def test_rows_keep_their_order_and_row_groups_their_size(tmp_path: Path) -> None:
    tables = [pa.table({"a": list(range(n, n + 50_000))}) for n in (0, 50_000)]
    answer = rewrite(tmp_path, tables, spec_of(("a", "long"), row_group_bytes=200_000))
    assert (answer["rows"], answer["leaves"]) == (100_000, [("long", 0, "0", "99999")])
    file = pq.ParquetFile(answer["path"])
    assert file.read()["a"].to_pylist() == list(range(100_000))
    assert 3 <= file.metadata.num_row_groups <= 5
    assert file.metadata.metadata[b"org.apache.spark.version"] == b"4.2.0"


@pytest.mark.parametrize("is_inside", [True, False])
def test_partition_columns_are_in_the_new_file_only_if_they_were_in_the_old_ones(
    tmp_path: Path, is_inside: bool
) -> None:
    columns = {"p": [7, 7], "a": [1, 2]} if is_inside else {"a": [1, 2]}
    spec = spec_of(("p", "long"), ("a", "long"), partition_names=["p"], indexed=[("a",)])
    answer = rewrite(tmp_path, [pa.table(columns)] * 2, spec)
    file = pq.ParquetFile(answer["path"])
    assert file.schema_arrow.names == (["a", "p"] if is_inside else ["a"])
    told = json.loads(file.metadata.metadata[b"org.apache.spark.sql.parquet.row.metadata"])
    assert [column["name"] for column in told["fields"]] == file.schema_arrow.names
    assert len(answer["leaves"]) == 1


def test_arrow_types_carry_field_ids() -> None:
    child = {"name": "c1", "type": "long", "nullable": True, "metadata": {"parquet.field.id": 4}}
    found = arrow_type({"type": "struct", "fields": [child]})
    assert found.field(0).metadata == {b"PARQUET:field_id": b"4"}


MEMORY = """
import resource, sys
import pyarrow as pa, pyarrow.parquet as pq
from tests.unit.compaction.test_arrow_task import spec_of
from dbt.adapters.delta_maint.lake.rewriters.arrow_task import rewrite_bins
path = sys.argv[1] + "/in.parquet"
words = ["%05d" % n + "x" * 4000 for n in range(400)]
table = pa.table({"s": words * 20})
with pq.ParquetWriter(path, table.schema) as writer:
    for _ in range(16):
        writer.write_table(table)
del table
pa.default_memory_pool().release_unused()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
spec = spec_of(("s", "string"), row_group_bytes=128 * 1024 * 1024)
bins = [{"number": 0, "inputs": [{"path": path, "rows": None}] * 2, "output": sys.argv[1] + "/out-"}]
(answer,) = rewrite_bins(bins, spec)
assert answer["error"] is None, answer
print(answer["rows"], before // 1024, answer["peak_kib"] // 1024)
"""


def test_a_gibibyte_of_wide_strings_stays_within_its_budget(tmp_path: Path) -> None:
    """1 GiB of text as Arrow holds it, dictionary-encoded in the inputs: 512 MiB are enough."""
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rows, _, peak_mib = map(int, ran.stdout.split())
    assert rows == 400 * 20 * 16 * 2
    assert peak_mib < 512
