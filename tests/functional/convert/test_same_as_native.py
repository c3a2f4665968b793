"""The native command and ours over the same folders, in one session.

The native command scans the data for its statistics, so it is the measure of ours: every bound we take
from a footer is equal to its bound or absent. Where it fails, ours fails with the same error class and
leaves the folder as it was; where it is wrong, the case says how, and ours is right.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.lake.converter import Converter, private_session
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

from tests.functional.convert.source_folders import FOLDERS, SourceFolder

RUNS_ALL = bool(os.environ.get("DELTA_MAINT_TEST_ALL"))


@pytest.fixture(scope="module")
def converter(spark: Any) -> Converter:
    delta = JvmDelta.probe(spark)
    assert isinstance(delta, JvmDelta)
    return Converter(spark, delta, tool_version="test")


def everything(root: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(root)): path.stat().st_mtime_ns if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def actions(root: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (root / "_delta_log" / f"{0:020}.json").read_text().splitlines():
        ((kind, action),) = json.loads(line).items()
        found.setdefault(kind, []).append(action)
    return found


def flat(stats: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(stats, dict):
        return {at: stats}
    return {key: v for name, inner in stats.items() for key, v in flat(inner, (*at, name)).items()}


def unordered(fields: list[dict[str, Any]]) -> list[str]:
    """Columns whatever their order and case: files that differ there arrive in any order."""
    return sorted(str({**field, "name": field["name"].lower()}) for field in fields)


def same_bound(ours: Any, native: Any) -> bool:
    if isinstance(ours, str) and isinstance(native, str) and ours[:32] != native[:32]:
        # A writer that cut the value and rounded it up: a bound further out, but a bound.
        return ours > native[:32]
    if isinstance(ours, int | float) and isinstance(native, int | float):
        return (
            math.isclose(ours, native, rel_tol=1e-7) if isinstance(ours, float) else ours == native
        )
    return bool(ours == native)


def rows_of(spark: Any, path: Path) -> list[str]:
    frame = spark.read.format("delta").load(str(path))
    names = sorted(frame.columns, key=str.lower)
    found = frame.select(*(f"`{name}`" for name in names)).collect()
    return sorted(repr(tuple(row)) for row in found)


@pytest.mark.parametrize("case", FOLDERS, ids=lambda case: case.name)
def test_a_folder_becomes_the_same_table(
    case: SourceFolder, spark: Any, converter: Converter, tmp_path: Path
) -> None:
    ours, native = tmp_path / "ours", tmp_path / "native"
    case.build(ours)
    shutil.copytree(ours, native, copy_function=shutil.copy2)
    before = everything(ours)
    native_error = convert_natively(spark, native, case)
    assert (native_error is not None) == (case.native == "error"), native_error
    if case.rows is None:
        with pytest.raises(ConversionError) as caught:
            converter.convert(ConvertRequest(path=str(ours)))
        assert case.error in str(caught.value)
        assert everything(ours) == before
        return
    plan = converter.convert(ConvertRequest(path=str(ours)))
    assert plan.outcome == "converted"
    assert plan.rows == case.rows
    found = rows_of(spark, ours)
    assert len(found) == case.rows
    if native_error is None:
        check_equal(case, ours, native)
        # The same files, values and schema read the same; that they do is shown where time allows.
        if RUNS_ALL and case.native == "ok":
            assert found == rows_of(spark, native)


BY_SPARK = {
    "numbers_with_nan_and_infinity": (
        "select id, cast(id as float) / 3 as f, if(id = 2, double('NaN'), id * 1.5) as d, "
        "if(id = 1, float('-infinity'), cast(id as float)) as i, cast(id as byte) as b, "
        "cast(null as double) as n, -0.0d as z from range(5)",
        {},
    ),
    "times_as_int96": (
        "select id, timestamp_seconds(id * 1000000) as t, date_from_unix_date(id) as y from range(5)",
        {"spark.sql.parquet.outputTimestampType": "INT96"},
    ),
    "times_as_microseconds": (
        "select id, timestamp_micros(-id * 1234567) as t, "
        "cast(timestamp_seconds(id) as timestamp_ntz) as z from range(5)",
        {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"},
    ),
    "decimals_in_the_old_form": (
        "select id, cast(id as decimal(5,2)) as a, cast(-id as decimal(18,4)) as b, "
        "cast(id as decimal(38,6)) as c from range(5)",
        {"spark.sql.parquet.writeLegacyFormat": "true"},
    ),
    "variants": ("select id, parse_json('{\"a\": 1}') as v from range(3)", {}),
    "nested": (
        "select id, named_struct('x', id, 'y', named_struct('z', string(id))) as s, "
        "array(id) as a, map(string(id), id) as m from range(5)",
        {},
    ),
}


@pytest.mark.parametrize("name", sorted(BY_SPARK))
def test_a_folder_that_spark_wrote_becomes_the_same_table(
    name: str, spark: Any, converter: Converter, tmp_path: Path
) -> None:
    query, confs = BY_SPARK[name]
    writer = private_session(spark)
    for key, value in confs.items():
        writer.conf.set(key, value)

    def build(root: Path) -> None:
        writer.sql(query).write.parquet(str(root))

    rows = int(spark.sql(f"select count(*) from ({query})").collect()[0][0])
    test_a_folder_becomes_the_same_table(
        SourceFolder(name, build, rows=rows), spark, converter, tmp_path
    )


def convert_natively(spark: Any, path: Path, case: SourceFolder) -> str | None:
    by = f" PARTITIONED BY ({case.partitioned_by})" if case.partitioned_by else ""
    try:
        spark.sql(f"CONVERT TO DELTA parquet.`{path}`{by}")
    except Exception as exc:
        return str(exc)
    return None


def check_equal(case: SourceFolder, ours: Path, native: Path) -> None:
    mine, theirs = actions(ours), actions(native)
    assert mine["protocol"] == theirs["protocol"]
    (my_table,), (their_table,) = mine["metaData"], theirs["metaData"]
    assert my_table["partitionColumns"] == their_table["partitionColumns"]
    my_schema = json.loads(my_table["schemaString"])["fields"]
    their_schema = json.loads(their_table["schemaString"])["fields"]
    # Native folds files in the order they arrive, so the order of its columns is not a promise.
    assert unordered(my_schema) == unordered(their_schema)
    my_files = {add["path"]: add for add in mine["add"]}
    their_files = {add["path"]: add for add in theirs.get("add", [])}
    if case.native == "wrong":
        assert set(their_files) < set(my_files), case.note
        return
    assert set(my_files) == set(their_files)
    for path, add in my_files.items():
        other = their_files[path]
        assert (add["size"], add["partitionValues"]) == (other["size"], other["partitionValues"])
        check_statistics(json.loads(add["stats"]), json.loads(other["stats"]), path)


def check_statistics(mine: dict[str, Any], theirs: dict[str, Any], path: str) -> None:
    assert mine["numRecords"] == theirs["numRecords"]
    assert set(mine) <= set(theirs)
    their_flat = flat(theirs)
    their_flat = {tuple(map(str.lower, key)): value for key, value in their_flat.items()}
    for key, value in flat(mine).items():
        key = tuple(map(str.lower, key))
        assert key in their_flat, f"{path}: {key} is {value!r}, native has none"
        assert same_bound(value, their_flat[key]), f"{path}: {key} {value!r} {their_flat[key]!r}"
