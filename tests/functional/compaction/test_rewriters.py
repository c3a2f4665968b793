"""One contract for every rewriter: the same rows, the same history, statistics that hold.

What Arrow does not take is left to OPTIMIZE with its reason, and nothing is left behind.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.rewriters.arrow_facts import _files_by_delta, read_files
from deltalake import DeltaTable

from tests.functional.compaction.small_table import SmallTable

EVERY_TYPE = {
    "id": ("bigint not null", "id"),
    "flag": ("boolean", "id % 2 = 0"),
    "b": ("tinyint", "cast(id % 100 as tinyint)"),
    "sh": ("smallint", "cast(if(id % 4 = 0, null, -id) as smallint)"),
    "i": ("int", "cast(id as int)"),
    "f": ("float", "cast(id / 3 as float)"),
    "nan": ("double", "if(id % 7 = 3, cast('NaN' as double), -id / 7.0d)"),
    "d9": ("decimal(9,2)", "cast(id / 3 as decimal(9,2))"),
    "d18": ("decimal(18,4)", "cast(-id as decimal(18,4))"),
    "d38": ("decimal(38,10)", "cast('12345678901234567890123456.0123456789' as decimal(38,10)) + id"),
    "s": ("string", "concat('straße 🙂 ', id)"),
    "long_text": ("string", "repeat(cast(id as string), 60)"),
    "bin": ("binary", "unhex(lpad(hex(id), 8, '0'))"),
    "day": ("date", "if(id = 3, date'0001-01-01', date'2026-01-01' + cast(id as int))"),
    "ts": ("timestamp", "if(id = 2, timestamp'0001-01-03 00:00:00', timestamp'9999-12-30 23:59:59.999999') "),
    "empty": ("string", "cast(null as string)"),
    "nothing": ("void", "null"),
    "arr": ("array<struct<x: int, y: array<string>>>", "if(id % 3 = 0, null, array(struct(1, array('y', null)), null))"),
    "m": ("map<string, struct<v: timestamp>>", "map(concat('k', id), struct(timestamp'1900-01-01 00:00:00.000001'))"),
    "st": ("struct<q: int, `a.b`: struct<r: timestamp, d: decimal(20, 1)>>",
           "if(id % 5 = 0, null, struct(1, struct(timestamp'1500-06-01 00:00:00', 2.5)))"),
    "odd `name` é": ("string", "'x'"),
}  # fmt: skip


def create(spark: Any, engine: str, **asked: Any) -> SmallTable:
    """A table in which file names and folders are ours to look at."""
    return SmallTable.create(spark, engine=engine, **asked)


def root_of(table: SmallTable) -> Path:
    return Path(table.snapshot().location.removeprefix("file:"))


def last_commit(table: SmallTable) -> list[dict[str, Any]]:
    newest = max((root_of(table) / "_delta_log").glob("*.json"))
    return [json.loads(line) for line in newest.read_text().splitlines()]


def added(table: SmallTable) -> list[dict[str, Any]]:
    return [action["add"] for action in last_commit(table) if "add" in action]


def shape_of_history(table: SmallTable) -> dict[str, Any]:
    """What a commit says, without what differs from one second to the next."""
    actions = last_commit(table)
    info = next(a["commitInfo"] for a in actions if "commitInfo" in a)
    kept = ("operation", "operationParameters", "isolationLevel", "isBlindAppend", "readVersion")
    return {
        **{key: info[key] for key in kept},
        "metrics": sorted(info["operationMetrics"]),
        "counts": {k: info["operationMetrics"][k] for k in ("numAddedFiles", "numRemovedFiles")},
        "marked": "dbt-delta-maint" in info["userMetadata"],
        "adds": sorted(sorted(a["add"]) for a in actions if "add" in a),
        "removes": sorted(sorted(a["remove"]) for a in actions if "remove" in a),
        "changes": {
            body["dataChange"] for a in actions for k, body in a.items() if k in ("add", "remove")
        },
    }


def schema_text(table: SmallTable) -> list[str]:
    path = root_of(table) / unquote(added(table)[0]["path"])
    file = pq.ParquetFile(path)
    names = file.metadata.metadata
    assert names[b"org.apache.spark.version"]
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
    return [*str(file.schema).split("\n")[2:], names[b"org.apache.spark.sql.parquet.row.metadata"]]


def pair(spark: Any, **asked: Any) -> list[SmallTable]:
    return [create(spark, engine, **asked) for engine in ("delta", "arrow")]


def test_every_type_comes_out_as_from_optimize(spark: Any) -> None:
    columns = ", ".join(f"{identifier(name)} {kind}" for name, (kind, _) in EVERY_TYPE.items())
    values = ", ".join(f"{value} as {identifier(name)}" for name, (_, value) in EVERY_TYPE.items())
    optimized, rewritten = pair(
        spark,
        columns=f"{columns}, p string",
        layout="partitioned by (p)",
        properties="'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name', "
        "'delta.dataSkippingNumIndexedCols' = '-1'",
    )
    for table in (optimized, rewritten):
        for part in ("it''s a/b=50% 🙂", "plain"):
            select = f"select {values}, '{part}' as p from range(0, 20, 1, 3)"
            table.spark.sql(f"insert into {table.name} {select}")
        before = str(table.rows())
        result = table.compact(verifies_rows=True)
        assert (result.errors, result.notes) == ([], ())
        assert str(table.rows()) == before
        assert set(table.files().values()) == {1}
    assert shape_of_history(rewritten) == shape_of_history(optimized)
    native = {a["partitionValues"].popitem()[1]: json.loads(a["stats"]) for a in added(optimized)}
    ours = {a["partitionValues"].popitem()[1]: json.loads(a["stats"]) for a in added(rewritten)}
    for part, stats in native.items():
        assert_sound(logical(rewritten, ours[part]), logical(optimized, stats))
    # Readers that are not Spark.
    for action in added(rewritten):
        assert pq.read_table(root_of(rewritten) / unquote(action["path"])).num_rows == 20


def logical(table: SmallTable, stats: dict[str, Any]) -> str:
    """Statistics with the names of the table instead of physical ones, which differ per table."""
    text = json.dumps(stats)

    def rename(fields: list[dict[str, Any]]) -> None:
        nonlocal text
        for field in fields:
            physical = field["metadata"].get("delta.columnMapping.physicalName")
            text = text.replace(json.dumps(physical), json.dumps(field["name"]))
            if isinstance(field["type"], dict):
                rename(field["type"].get("fields", []))

    rename(json.loads(table.snapshot().schema_json)["fields"])
    return text


def assert_sound(ours: str, native: str) -> None:
    """Equal to native statistics but for NaN and for what a footer cannot tell of lists and maps."""
    found, wanted = json.loads(ours), json.loads(native)
    assert found["numRecords"] == wanted["numRecords"]
    for kind in ("minValues", "maxValues"):
        expected = {k: v for k, v in wanted[kind].items() if k != "nan"}
        assert found[kind] == expected
    for name, count in found["nullCount"].items():
        assert count == wanted["nullCount"][name]
    assert set(wanted["nullCount"]) - set(found["nullCount"]) <= {"arr", "m", "nothing"}


def test_a_plain_table_gets_files_like_sparks_and_other_readers_agree(spark: Any) -> None:
    columns = "id bigint not null, d decimal(12,2), s string, a array<int>, day date"
    tables = pair(spark, columns=columns)
    for table in tables:
        table.run(
            "insert into {t} select id, id / 3, concat('s', id), array(1, null), "
            "date'2026-01-01' from range(0, 300, 1, 3)"
        )
        before = table.rows()
        assert table.compact().errors == []
        read = DeltaTable(str(root_of(table))).to_pyarrow_table().sort_by("id")
        assert [row["s"] for row in read.to_pylist()] == [f"s{n}" for n in range(300)]
        assert table.rows() == before
    assert schema_text(tables[1]) == schema_text(tables[0])
    assert shape_of_history(tables[1]) == shape_of_history(tables[0])
    assert json.loads(added(tables[1])[0]["stats"])["maxValues"]["day"] == "2026-01-01"


@pytest.mark.parametrize("engine", ["delta", "arrow"])
def test_missing_reordered_widened_renamed_and_dropped_columns_come_out_as_the_table_says(
    spark: Any, engine: str
) -> None:
    table = create(
        spark,
        engine,
        columns="a tinyint, gone string, st struct<x: int>, f float, d decimal(6,2), old string",
        properties="'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'",
    )
    table.run(
        "insert into {t} values (1, 'g', struct(1), 1.5, 2.25, 'o'), (null, null, null, null, null, null)"
    )
    table.run("alter table {t} add column (st.y string first)")
    table.run("alter table {t} alter column a type int")
    table.run("alter table {t} alter column f type double")
    table.run("alter table {t} alter column d type decimal(12,4)")
    table.run("alter table {t} drop column gone")
    table.run("alter table {t} rename column old to new")
    table.run("alter table {t} add column (late array<map<string, int>> first)")
    table.run(
        "insert into {t} values (array(map('k', 1)), 70000, struct('y', 2), 0.1, 3.0625, 'n')"
    )
    before = table.rows()
    result = table.compact(verifies_rows=True)
    assert (result.errors, result.notes) == ([], ())
    assert table.rows() == before
    assert table.files() == {(): 1}
    assert table.run("select count(*) from {t} where a = 70000")[0][0] == 1


def test_int96_inputs_are_written_as_the_session_says_in_the_order_they_had(spark: Any) -> None:
    table = create(spark, "arrow", columns="n bigint, ts timestamp")
    for start in range(0, 40, 10):
        table.run(
            f"insert into {{t}} select id, timestamp'1500-01-01 00:00:00' + make_interval(id * 17) "
            f"from range({start}, {start + 10}, 1, 1)"
        )
    before = table.rows()
    table.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    table.spark.conf.set("spark.sql.parquet.compression.codec", "zstd")
    assert table.compact(verifies_rows=True).errors == []
    assert table.rows() == before
    file = pq.ParquetFile(root_of(table) / added(table)[0]["path"])
    assert file.schema.column(1).physical_type == "INT64"
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert added(table)[0]["path"].endswith(".c000.zstd.parquet")
    assert file.read()["n"].to_pylist() == list(range(40))


def test_a_partition_with_a_deletion_vector_is_left_to_optimize_and_the_others_are_not(
    spark: Any,
) -> None:
    table = create(
        spark,
        "arrow",
        layout="partitioned by (p)",
        properties="'delta.enableDeletionVectors' = 'true'",
    )
    for p in ("1", "2"):
        table.append(3, p=p)
    table.run("delete from {t} where p = 2 and id = 3")
    before = table.rows()
    result = table.compact()
    assert result.errors == []
    assert result.notes == ("left to OPTIMIZE: a file with a deletion vector",)
    assert (result.total("files_removed"), result.total("files_added")) == (6, 2)
    assert table.operations()[-2:] == ["OPTIMIZE", "OPTIMIZE"]
    assert table.rows() == before
    assert table.files() == {("1",): 1, ("2",): 1}


def test_a_file_of_the_old_calendar_falls_back_to_optimize_and_leaves_nothing(spark: Any) -> None:
    table = create(spark, "arrow", columns="id bigint, day date")
    table.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    table.run("insert into {t} values (1, date'1400-01-01')")
    table.spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")
    table.run("insert into {t} values (2, date'2026-01-01')")
    before = table.rows()
    result = table.compact()
    assert (result.errors, result.total("files_added")) == ([], 1)
    assert "left to OPTIMIZE: a file of the old calendar" in result.sentence()
    assert table.rows() == before
    assert len(list(root_of(table).glob("*.parquet"))) == 3


def test_a_table_with_row_ids_is_left_to_optimize(spark: Any) -> None:
    table = create(spark, "arrow", properties="'delta.enableRowTracking' = 'true'")
    table.append(3)
    result = table.compact()
    assert result.errors == []
    assert result.notes == ("left to OPTIMIZE: the table has the feature rowTracking",)
    assert table.files() == {(): 1}


def test_rows_that_differ_are_found_before_the_commit(spark: Any, monkeypatch: Any) -> None:
    """The new file of one partition is swapped for another with as many rows."""
    from dbt.adapters.delta_maint.lake.rewriters import arrow

    table = create(spark, "arrow", layout="partitioned by (p)")
    for p in ("1", "2"):
        table.append(3, p=p, start=int(p) * 1000)
    before, compare = table.rows(), arrow.differing_bins

    def spoilt(session: Any, job: Any, new_files: dict[int, Any]) -> dict[int, str]:
        first, second = (Path(new_files[number].local_path) for number in (0, 1))
        first.write_bytes(second.read_bytes())
        return compare(session, job, new_files)

    monkeypatch.setattr(arrow, "differing_bins", spoilt)
    result = table.compact(verifies_rows=True)
    assert "30 rows with hash" in result.sentence()
    assert table.rows() == before
    assert set(table.files().values()) == {1}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.parametrize("engine", ["delta", "arrow"])
def test_a_full_disk_leaves_the_table_as_it_was(spark: Any, small_disk: Path, engine: str) -> None:
    path = small_disk / "t"
    table = SmallTable(spark.newSession(), f"delta.{identifier(str(path))}", engine)
    table.run("create table {t} (id bigint, x string) using delta")
    table.run(
        "insert into {t} select id, sha2(cast(rand() as string), 512) from range(0, 30000, 1, 3)"
    )
    before, version = table.rows(), table.snapshot().version
    result = table.compact()
    assert "No space left on device" in result.sentence()
    assert table.snapshot().version == version
    assert table.rows() == before
    if engine == "arrow":
        assert len(list(path.glob("*.parquet"))) <= 4, "OPTIMIZE's own remains, none of Arrow's"


def test_timestamps_keep_their_bounds(spark: Any) -> None:
    table = create(spark, "arrow", columns="ts timestamp")
    for year in (1500, 2026, 9999):
        table.run(f"insert into {{t}} values (timestamp'{year}-03-01 12:00:00.123456'), (null)")
    assert table.compact().errors == []
    stats = json.loads(added(table)[0]["stats"])
    assert stats["minValues"]["ts"].startswith("1500-03-")
    assert datetime.fromisoformat(stats["maxValues"]["ts"]).year == 9999
    assert stats["nullCount"]["ts"] == 3
    assert (
        table.run("select count(*) from {t} where ts > timestamp'9000-01-01 00:00:00'")[0][0] == 1
    )


def test_a_compaction_by_arrow_is_one_job(spark: Any) -> None:
    """Nothing is counted, listed or read twice: neither to plan, nor to choose, nor to commit."""
    table = create(spark, "arrow", layout="partitioned by (p)")
    for part in "123":
        table.append(4, p=part)
    table.compact()  # whatever a first run prepares
    table.append(4, start=100, p="2")
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    result = table.compact()
    assert result.total("files_removed") == 5
    assert scheduler.numTotalJobs() == before + 1


@pytest.mark.parametrize("checksum", ["missing", "of another table"])
def test_files_that_deltas_checksum_does_not_confirm_are_read_by_delta(
    spark: Any, checksum: str
) -> None:
    table = create(spark, "arrow", layout="partitioned by (p)")
    table.append(4)
    table.append(4, start=100, p="2")
    newest = max((root_of(table) / "_delta_log").glob("*.crc"))
    told = json.loads(newest.read_text())
    (newest.parent / f".{newest.name}.crc").unlink(missing_ok=True)
    newest.unlink()
    if checksum != "missing":
        newest.write_text(json.dumps({**told, "numFiles": told["numFiles"] + 1}) + "\n")
    logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    logs.clearCache()
    session = spark.newSession()
    delta = JvmDelta(session)
    location = f"file:{root_of(table)}"
    rewrite = delta.open_rewrite(location)
    columns = table.snapshot().partition_columns
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    assert len(read_files(delta, rewrite, location, columns)) == 8
    assert scheduler.numTotalJobs() > before
    before_rows = table.rows()
    assert table.compact().total("files_removed") == 8
    assert table.rows() == before_rows


def test_both_ways_of_reading_name_the_same_files(spark: Any) -> None:
    table = create(spark, "arrow", columns="id bigint, p string", layout="partitioned by (p)")
    for value in ("'a b%20/é'", "null", "''", "'x'"):
        table.append(3, p=value)
    table.run("delete from {t} where id % 10 = 3 and p = 'x'")
    delta = JvmDelta(spark.newSession())
    location = f"file:{root_of(table)}"
    rewrite = delta.open_rewrite(location)
    columns = table.snapshot().partition_columns
    live = table.snapshot().files
    assert delta.counted_files(rewrite) == (len(live), sum(file.size_bytes for file in live))
    here = read_files(delta, rewrite, location, columns)
    there = _files_by_delta(delta, rewrite, columns)
    assert sorted(here, key=str) == sorted(there, key=str)
