"""Where a connection knows only SQL: Delta's own command, with what we add around it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.lake.native_conversion import NativeConverter

from tests.functional.convert.source_folders import by_value, ids, put
from tests.functional.convert.test_same_as_native import everything

SERVER = "this connection goes to a Spark server"

pytestmark = pytest.mark.portable


@pytest.fixture
def convert(sql: Any) -> Any:
    def run(*, allowed_roots: tuple[str, ...] = (), **request: Any) -> ConversionPlan:
        converter = NativeConverter(
            sql.answer,
            reason=SERVER,
            delta=SERVER,
            allowed_roots=allowed_roots,
        )
        if "path" in request:
            request["path"] = str(request["path"])
        return converter.convert(ConvertRequest(**request))

    return run


def rows(sql: Any, source: str) -> list[tuple[Any, ...]]:
    return sorted(sql.answer(f"select * from {source}"), key=repr)


def test_a_dry_run_shows_files_columns_and_inferred_partitions(
    convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "day=2024-01-01" / "a.parquet", {"id": ids(), "s": ["a", "b", "c"]})
    before = everything(tmp_path)
    plan = convert(path=tmp_path, dry_run=True)
    assert (plan.outcome, plan.files, plan.engine_reason) == ("planned", 1, SERVER)
    assert [(c.name, c.type_name) for c in plan.partition_columns] == [("day", "date")]
    fields = [(field["name"], field["type"]) for field in plan.schema["fields"]]
    assert fields == [("id", "bigint"), ("s", "string"), ("day", "date")]
    assert everything(tmp_path) == before


def test_partition_values_come_through_as_they_are(sql: Any, convert: Any, tmp_path: Path) -> None:
    texts, times = tmp_path / "te xt", tmp_path / "times"
    by_value(texts, "k", ["a b", "c%252Fd", "x%2Fy", "007"])
    by_value(times, "t", ["2024-01-01 00%3A00%3A00", "2024-06-01 12%3A30%3A00.5"])
    plan = convert(path=texts)
    assert (plan.outcome, plan.files, plan.rows, plan.version) == ("converted", 4, 12, 0)
    assert {k for _, k in rows(sql, f"delta.`{texts}`")} == {"a b", "c%2Fd", "x/y", "007"}
    assert convert(path=texts).outcome == "already_delta"
    convert(path=times)
    found = {t for _, t in rows(sql, f"delta.`{times}`")}
    assert dt.datetime(2024, 6, 1, 12, 30, 0, 500_000) in found


def test_a_table_and_its_entry_become_delta(sql: Any, convert: Any, tmp_path: Path) -> None:
    sql.run("create schema if not exists plain_sql")
    try:
        root = tmp_path / "a%20b"
        put(root / "k=1" / "a.parquet", {"id": ids()})
        for name in ("one", "two"):
            sql.run(
                f"create table plain_sql.{name} (id bigint, k int) using parquet partitioned by (k) "
                f"location '{root}'"
            )
            sql.run(f"msck repair table plain_sql.{name}")
        assert convert(table=(None, "plain_sql", "one")).rows == 3
        assert convert(table=(None, "plain_sql", "two")).outcome == "catalog_repaired"
        assert convert(table=(None, "plain_sql", "two")).outcome == "already_delta"
        assert rows(sql, "plain_sql.two") == [(0, 1), (1, 1), (2, 1)]
    finally:
        sql.run("drop schema plain_sql cascade")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda root: (root / "b").write_text("no parquet" * 9), "DELTA_FAILED_READ_FILE_FOOTER"),
        (lambda root: (root / "b").write_bytes(b""), "DELTA_FAILED_READ_FILE_FOOTER"),
        (lambda root: put(root / "k=1" / "b", {"id": ids()}), "Expecting 0 partition column(s)"),
    ],
)
def test_what_cannot_be_converted_is_found_before_anything_is_written(
    convert: Any, tmp_path: Path, build: Any, words: str
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    build(tmp_path)
    before = everything(tmp_path)
    with pytest.raises(ConversionError) as caught:
        convert(path=tmp_path)
    assert words in str(caught.value)
    assert everything(tmp_path) == before


def test_what_a_failure_leaves_behind_is_named(convert: Any, tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", {"v": ["x"]})
    put(tmp_path / "b.parquet", {"v": [1]})
    with pytest.raises(ConversionError) as caught:
        convert(path=tmp_path)
    assert "DELTA_FAILED_TO_MERGE_FIELDS" in str(caught.value)
    assert f"left an empty folder {tmp_path}/_delta_log" in str(caught.value)


def test_files_without_rows_are_told_of(convert: Any, tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    put(tmp_path / "b.parquet", {"id": ids(0, 0)})
    plan = convert(path=tmp_path)
    assert (plan.files, plan.rows) == (1, 3)
    assert "files without rows" in plan.warnings[0]


def test_types_that_only_delta_merges_are_left_to_it(
    sql: Any, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"v": pa.array([1], pa.int16())})
    put(tmp_path / "b.parquet", {"v": pa.array([70_000], pa.int32())})
    assert convert(path=tmp_path).outcome == "converted"
    assert rows(sql, f"delta.`{tmp_path}`") == [(1,), (70_000,)]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{root}/nothing", "doesn't exist"),
        ("{root}/empty", "DELTA_EMPTY_DIRECTORY"),
        ("{root}/allowed/../empty", "convert_roots"),
        ("orc.`{root}`", "you are trying to convert a orc source"),
    ],
)
def test_a_path_that_cannot_be_converted_is_named(
    convert: Any, tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    roots = (f"{tmp_path}/allowed",) if ".." in path else ()
    with pytest.raises(ConversionError) as caught:
        convert(path=path.format(root=tmp_path), allowed_roots=roots)
    assert words in str(caught.value)
