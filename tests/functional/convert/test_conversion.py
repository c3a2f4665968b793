"""What a conversion promises beyond a plain folder: tables, snapshots, bad files, the way back."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest
from dbt.adapters.delta_maint.core.errors import (
    ConversionChangedError,
    ConversionError,
    ConversionRaceError,
    UndoError,
)
from dbt.adapters.delta_maint.lake import footers
from dbt.adapters.delta_maint.lake.conversion_undo import Undoer
from dbt.adapters.delta_maint.lake.converter import Converter
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

from tests.functional.convert.source_folders import by_value, ids, put
from tests.functional.convert.test_same_as_native import actions, everything

PHASES = ["resolved", "listed", "read", "schema", "planned", "before_commit"]


@pytest.fixture(scope="module")
def delta(spark: Any) -> JvmDelta:
    found = JvmDelta.probe(spark)
    assert isinstance(found, JvmDelta)
    return found


@pytest.fixture
def convert(spark: Any, delta: JvmDelta) -> Any:
    def run(
        *, observer: Any = lambda phase: None, allowed_roots: Any = (), **request: Any
    ) -> ConversionPlan:
        converter = Converter(
            spark, delta, tool_version="test", observer=observer, allowed_roots=allowed_roots
        )
        if "path" in request:
            request["path"] = str(request["path"])
        return converter.convert(ConvertRequest(**request))

    return run


@pytest.fixture
def table(spark: Any) -> Any:
    """A schema of its own, gone after the test with everything declared in it."""
    spark.sql("create schema if not exists convert_test")
    yield "convert_test"
    spark.sql("drop schema convert_test cascade")


def rows(spark: Any, source: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(f"select * from {source}").collect()), key=repr)


def stats(root: Path) -> list[dict[str, Any]]:
    return [json.loads(add["stats"]) for add in actions(root)["add"]]


# -- tables of the catalog --------------------------------------------------------------------


def test_a_partitioned_table_keeps_nulls_nested_files_and_moved_partitions(
    spark: Any, convert: Any, table: str, tmp_path: Path
) -> None:
    root, elsewhere = tmp_path / "t", tmp_path / "elsewhere"
    by_value(root, "k", ["a", "__HIVE_DEFAULT_PARTITION__", "orphan"])
    put(root / "k=a" / "nested" / "g.parquet", {"id": ids(20)})
    put(root / "moved" / "g.parquet", {"id": ids(30)})
    put(elsewhere / "g.parquet", {"id": ids(40)})
    name = f"{table}.t"
    spark.sql(
        f"create table {name} (id bigint, k string) using parquet partitioned by (k) "
        f"tblproperties ('made_by' = 'team') location '{root}'"
    )
    spark.sql(f"alter table {name} add partition (k='a') partition (k=null)")
    spark.sql(f"alter table {name} add partition (k='b') location '{root}/moved'")
    spark.sql(f"alter table {name} add partition (k='c') location '{elsewhere}'")
    plan = convert(table=(None, table, "t"), properties=(("delta.appendOnly", "true"),))
    assert plan.outcome == "converted"
    assert plan.unlisted == ("k=orphan/",)
    found = rows(spark, name)
    values = {value: sorted(i for i, k in found if k == value) for _, value in found}
    assert values == {
        "a": [0, 1, 2, 20, 21, 22],
        None: [3, 4, 5],
        "b": [30, 31, 32],
        "c": [40, 41, 42],
    }
    detail = spark.sql(f"describe detail {name}").collect()[0]
    assert detail["format"] == "delta"
    assert detail["properties"] == {"made_by": "team", "delta.appendOnly": "true"}
    assert spark.sql(f"describe history {name}").count() == 1
    assert any("outside" in warning for warning in plan.warnings)


def test_a_table_converts_again_as_a_repair_of_its_entry(
    spark: Any, convert: Any, table: str, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    spark.sql(f"create table {table}.t (id bigint) using parquet location '{tmp_path}'")
    assert convert(path=tmp_path).outcome == "converted"
    assert convert(table=(None, table, "t")).outcome == "catalog_repaired"
    assert convert(table=(None, table, "t")).outcome == "already_delta"
    assert rows(spark, f"{table}.t") == [(0,), (1,), (2,)]
    assert len(list((tmp_path / "_delta_log").glob("*.json"))) == 1


def test_the_catalogs_columns_are_the_tables_unless_files_are_asked_for(
    spark: Any, convert: Any, table: str, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids(), "more": ["a", "b", "c"]})
    spark.sql(f"create table {table}.t (id bigint) using parquet location '{tmp_path}'")
    by_catalog = convert(table=(None, table, "t"), dry_run=True)
    by_files = convert(table=(None, table, "t"), dry_run=True, schema_mode="files")
    assert [field["name"] for field in by_catalog.schema["fields"]] == ["id"]
    assert [field["name"] for field in by_files.schema["fields"]] == ["id", "more"]
    assert any("more" in warning for warning in by_catalog.warnings)


@pytest.mark.parametrize(
    ("declare", "name", "words"),
    [
        (
            "create table {schema}.t (id bigint) using csv location '{root}'",
            "t",
            "[DELTA_CONVERT_NON_PARQUET_TABLE] CONVERT TO DELTA only supports parquet tables, but "
            "you are trying to convert a csv source: convert_test.t",
        ),
        ("create view {schema}.v as select 1 as id", "v", "DELTA_OPERATION_NOT_ALLOWED_DETAIL"),
        ("select 1", "nothing", "TABLE_OR_VIEW_NOT_FOUND"),
        (
            "create table {schema}.p (id bigint, k int) using parquet partitioned by (k) "
            "location '{root}'",
            "p",
            "DELTA_CONVERSION_NO_PARTITION_FOUND",
        ),
    ],
)
def test_what_is_not_a_parquet_table_is_refused(
    spark: Any, convert: Any, table: str, tmp_path: Path, declare: str, name: str, words: str
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    spark.sql(declare.format(schema=table, root=tmp_path))
    before = everything(tmp_path)
    with pytest.raises(ConversionError) as caught:
        convert(table=(None, table, name))
    assert words in str(caught.value)
    assert everything(tmp_path) == before


def test_another_partition_schema_than_the_catalogs_is_refused(
    spark: Any, convert: Any, table: str, tmp_path: Path
) -> None:
    by_value(tmp_path, "k", ["1"])
    spark.sql(
        f"create table {table}.t (id bigint, k int) using parquet partitioned by (k) "
        f"location '{tmp_path}'"
    )
    spark.sql(f"msck repair table {table}.t")
    with pytest.raises(ConversionError, match="DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER"):
        convert(table=(None, table, "t"), partition_by=(("k", "string"),))


# -- what is refused, and changes nothing -----------------------------------------------------


@pytest.mark.parametrize(
    ("request_keys", "words"),
    [
        ({"partition_by": (("k", "integer"),)}, "Failed to cast partition value 'a'"),
        ({"partition_by": (("j", "string"),)}, "Expecting partition column j"),
        (
            {"partition_by": ()},
            "Expecting 0 partition column(s): [], but found 1 partition column(s): [k] from "
            "parsing the file name: k=a",
        ),
        ({"properties": (("delta.columnMapping.mode", "name"),)}, "UNSUPPORTED_COLUMN_MAPPING"),
        (
            {"properties": (("delta.enableRowTracking", "true"),), "statistics": "none"},
            "DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS",
        ),
        ({"properties": (("delta.nonsense", "1"),)}, "delta.nonsense"),
        ({"properties": (("delta.enableIcebergCompatV2", "true"),)}, "needs column mapping"),
        ({"allowed_roots": ("/nowhere",)}, "convert_roots"),
    ],
)
def test_a_request_that_does_not_fit_changes_nothing(
    convert: Any, tmp_path: Path, request_keys: dict[str, Any], words: str
) -> None:
    by_value(tmp_path, "k", ["a", "b"])
    before = everything(tmp_path)
    with pytest.raises(ConversionError) as caught:
        convert(path=tmp_path, **request_keys)
    assert words in str(caught.value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{root}/nothing", "doesn't exist"),
        ("{root}/a.parquet", "is a file"),
        ("/", "is the root of this machine's files"),
        ("csv.`{root}`", "you are trying to convert a csv source: csv.`{root}`"),
        ("iceberg.`{root}`", "you are trying to convert a iceberg source: iceberg.`{root}`"),
    ],
)
def test_a_path_that_cannot_be_converted_is_named(
    convert: Any, tmp_path: Path, path: str, words: str
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    with pytest.raises(ConversionError) as caught:
        convert(path=path.format(root=tmp_path))
    assert words.format(root=tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", ["a b%20+c", "k=1", "é🚲'{x}[y]*", "a:b#c?d", "back`tick"])
def test_a_folder_of_any_name_is_converted_and_taken_back(
    spark: Any, delta: JvmDelta, convert: Any, tmp_path: Path, name: str
) -> None:
    root = tmp_path / name
    by_value(root, "day", ["2024-01-01", "2024-01-02"])
    before = everything(tmp_path)
    plan = convert(path=f"{root}//", statistics="full")
    assert (plan.root, plan.rows, plan.partitions) == (str(root), 6, 2)
    quoted = str(root).replace("`", "``")
    day = "date'2024-01-02'"
    assert rows(spark, f"delta.`{quoted}` where day = {day}") == [
        (number, dt.date(2024, 1, 2)) for number in (3, 4, 5)
    ]
    assert Undoer(spark, delta).undo(path=str(root)).outcome == "undone"
    assert everything(tmp_path) == before
    with pytest.raises(UndoError, match="nothing to take back"):
        Undoer(spark, delta).undo(path=str(root))


@pytest.mark.parametrize("hidden", [(), ("_SUCCESS", ".a.crc", "_temporary/0/a.parquet")])
def test_a_folder_without_a_visible_file_is_refused(
    convert: Any, tmp_path: Path, hidden: tuple[str, ...]
) -> None:
    for name in hidden:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    before = everything(tmp_path)
    with pytest.raises(ConversionError, match="No file found in the directory"):
        convert(path=tmp_path)
    assert everything(tmp_path) == before


def test_links_out_of_the_folder_and_in_circles_are_refused(convert: Any, tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    put(outside / "a.parquet", {"id": ids()})
    put(root / "a.parquet", {"id": ids()})
    (root / "b.parquet").symlink_to(outside / "a.parquet")
    with pytest.raises(ConversionError, match="leads out of"):
        convert(path=root)
    (root / "b.parquet").unlink()
    (root / "loop").symlink_to(root)
    with pytest.raises(ConversionError, match="in a circle"):
        convert(path=root)
    (root / "loop").unlink()
    (tmp_path / "name").symlink_to(root)
    assert convert(path=tmp_path / "name", allowed_roots=(str(root),)).outcome == "converted"


def test_all_bad_files_are_named_at_once_and_can_be_left_out(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "good.parquet", {"id": ids()})
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not parquet, but long enough to look at")
    (tmp_path / "late.parquet.inprogress").write_bytes(b"PAR1")
    before = everything(tmp_path)
    with pytest.raises(ConversionError) as caught:
        convert(path=tmp_path)
    for name in ("empty.parquet", "notes.txt", "late.parquet.inprogress", "3 file(s)"):
        assert name in str(caught.value)
    with pytest.raises(ConversionError, match="accept_vacuum_loss: true"):
        convert(path=tmp_path, on_bad_file="skip")
    assert everything(tmp_path) == before
    plan = convert(path=tmp_path, on_bad_file="skip", accept_vacuum_loss=True)
    assert sorted(file.path for file in plan.rejected) == [
        "empty.parquet",
        "late.parquet.inprogress",
        "notes.txt",
    ]
    assert rows(spark, f"delta.`{tmp_path}`") == [(0,), (1,), (2,)]


def test_a_dry_run_writes_nothing_and_says_everything(convert: Any, tmp_path: Path) -> None:
    by_value(tmp_path, "k", ["1", "2"])
    before = everything(tmp_path)
    plan = convert(path=tmp_path, dry_run=True, properties=(("delta.appendOnly", "true"),))
    assert everything(tmp_path) == before
    assert (plan.outcome, plan.files, plan.rows, plan.partitions) == ("planned", 2, 6, 2)
    assert [(c.name, c.type_name) for c in plan.partition_columns] == [("k", "integer")]
    assert [(c.name, c.files_with_bounds) for c in plan.coverage] == [("id", 2)]
    assert plan.properties == {"delta.appendOnly": "true"}
    assert (plan.min_reader_version, plan.min_writer_version) == (1, 2)
    assert json.loads(json.dumps(plan.as_dict(), default=str))["log_bytes"] > 100


def test_delta_tables_inside_and_around_are_warned_of(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    spark.range(3).write.format("delta").save(str(outer))
    spark.range(3).write.format("delta").save(str(outer / "landing" / "inner"))
    put(outer / "landing" / "a.parquet", {"id": ids()})
    warnings = " ".join(convert(path=outer / "landing", dry_run=True).warnings)
    assert "are Delta tables of their own (inner)" in warnings
    assert f"inside the Delta table {outer}" in warnings


def test_a_name_that_is_not_text_is_refused(convert: Any, tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    os.rename(tmp_path / "a.parquet", os.fsencode(tmp_path) + b"/\xff.parquet")
    with pytest.raises(ConversionError, match="not UTF-8"):
        convert(path=tmp_path)


# -- others at work ---------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["added", "removed", "rewritten"])
def test_a_writer_at_work_stops_the_conversion(convert: Any, tmp_path: Path, change: str) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    put(tmp_path / "b.parquet", {"id": ids()})

    def write(phase: str) -> None:
        if phase != "before_commit":
            return
        if change == "added":
            put(tmp_path / "c.parquet", {"id": ids()})
        elif change == "removed":
            (tmp_path / "b.parquet").unlink()
        else:
            put(tmp_path / "b.parquet", {"id": ids(0, 9)})

    with pytest.raises(ConversionChangedError, match=r"changed while it was being converted"):
        convert(path=tmp_path, observer=write)
    assert not (tmp_path / "_delta_log").exists()


def test_of_several_that_convert_at_once_one_wins_and_the_others_say_so(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    barrier = threading.Barrier(3)
    outcomes: list[Any] = []

    def meet(phase: str) -> None:
        if phase == "before_commit":
            barrier.wait(60)

    def run() -> None:
        try:
            outcomes.append(convert(path=tmp_path, observer=meet).outcome)
        except ConversionRaceError as exc:
            outcomes.append(exc)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert outcomes.count("converted") == 1
    assert sum(isinstance(outcome, ConversionRaceError) for outcome in outcomes) == 2
    assert rows(spark, f"delta.`{tmp_path}`") == [(0,), (1,), (2,)]
    assert spark.sql(f"describe history delta.`{tmp_path}`").count() == 1


def test_a_native_writer_that_was_first_keeps_its_table(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})

    def native(phase: str) -> None:
        if phase == "before_commit":
            spark.sql(f"CONVERT TO DELTA parquet.`{tmp_path}`")

    with pytest.raises(ConversionRaceError, match="DELTA_CONCURRENT_WRITE"):
        convert(path=tmp_path, observer=native)
    assert rows(spark, f"delta.`{tmp_path}`") == [(0,), (1,), (2,)]
    assert convert(path=tmp_path).outcome == "already_delta"


@pytest.mark.parametrize("phase", PHASES)
def test_a_conversion_that_stops_anywhere_leaves_plain_parquet(
    convert: Any, tmp_path: Path, phase: str
) -> None:
    by_value(tmp_path, "k", ["1", "2"])
    before = everything(tmp_path)

    def stop(reached: str) -> None:
        if reached == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(path=tmp_path, observer=stop)
    assert everything(tmp_path) == before


def test_a_commit_that_fails_half_way_leaves_nothing(
    convert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    before = everything(tmp_path)
    good = JvmDelta.commit

    def broken(self: JvmDelta, draft: Any, actions_file: str, **keys: Any) -> int:
        with open(actions_file, "a", encoding="utf-8") as out:
            out.write("{broken\n")
        return good(self, draft, actions_file, **keys)

    monkeypatch.setattr(JvmDelta, "commit", broken)
    with pytest.raises(ConversionError, match="was not converted and is as it was"):
        convert(path=tmp_path)
    assert everything(tmp_path) == before


def test_a_commit_that_landed_but_was_reported_failed_counts(
    spark: Any, convert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    good = JvmDelta.commit

    def landed(self: JvmDelta, draft: Any, actions_file: str, **keys: Any) -> int:
        good(self, draft, actions_file, **keys)
        raise OSError("the checkpoint could not be written")

    monkeypatch.setattr(JvmDelta, "commit", landed)
    assert convert(path=tmp_path).outcome == "converted"
    assert rows(spark, f"delta.`{tmp_path}`") == [(0,), (1,), (2,)]


@pytest.mark.parametrize("lacks", ["a file", "rows"])
def test_a_table_that_does_not_verify_is_taken_back(
    convert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    put(tmp_path / "b.parquet", {"id": ids()})
    before = everything(tmp_path)
    good = JvmDelta.commit

    def wrong(self: JvmDelta, draft: Any, actions_file: str, **keys: Any) -> int:
        lines = Path(actions_file).read_text().splitlines(keepends=True)
        lines = lines[:1] if lacks == "a file" else [lines[0].replace('s\\":3', 's\\":2'), lines[1]]
        Path(actions_file).write_text("".join(lines))
        return good(self, draft, actions_file, **keys)

    monkeypatch.setattr(JvmDelta, "commit", wrong)
    with pytest.raises(ConversionError, match="the conversion was taken back") as caught:
        convert(path=tmp_path)
    assert ("1 files" if lacks == "a file" else "5 rows where its files have 6") in str(
        caught.value
    )
    assert everything(tmp_path) == before


# -- statistics -------------------------------------------------------------------------------


def test_full_statistics_read_only_what_the_footers_lack(
    spark: Any, delta: JvmDelta, convert: Any, tmp_path: Path
) -> None:
    moments = [dt.datetime(2024, 1, n + 1, 12) for n in range(3)]
    put(
        tmp_path / "a.parquet",
        {
            "id": ids(),
            "t": pa.array(moments, pa.timestamp("ns")),
            "d": [0.1, None, 2.5],
            "f": pa.array([0.1, 3.5, 2.5], pa.float32()),
            "n": [1.0, float("nan"), 2.0],
        },
        use_deprecated_int96_timestamps=True,
    )
    plan = convert(path=tmp_path, statistics="full")
    (found,) = stats(tmp_path)
    assert found["minValues"]["t"] == "2024-01-01T12:00:00.000Z"
    assert found["maxValues"]["d"] == 2.5
    assert found["minValues"]["f"] == 0.1
    assert found["nullCount"] == {"id": 0, "t": 0, "d": 1, "f": 0, "n": 0}
    assert "n" not in found["maxValues"]
    assert {c.name: c.files_with_bounds for c in plan.coverage}["t"] == 1
    # Spark's own reader believes the footer and skips the row group; Delta must not skip the file.
    session = Converter(spark, delta, tool_version="test")._spark
    session.conf.set("spark.sql.parquet.filterPushdown", "false")
    found = session.sql(f"select count(*) from delta.`{tmp_path}` where n > 100").collect()
    assert found[0][0] == 1


def test_without_statistics_there_are_none(convert: Any, tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    convert(path=tmp_path, statistics="none")
    assert all("stats" not in add for add in actions(tmp_path)["add"])


def test_footers_are_read_on_executors_that_do_not_have_this_package(
    convert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        put(tmp_path / f"{number}.parquet", {"id": ids(number * 3), "s": ["a", "b", None]})
    monkeypatch.setattr(footers, "FILES_READ_ON_THE_DRIVER", 0)
    monkeypatch.setattr(footers, "FILES_PER_TASK", 2)
    monkeypatch.setitem(os.environ, "PYTHONPATH", "")
    plan = convert(path=tmp_path, stats_batch_size=2)
    assert (plan.files, plan.rows) == (3, 9)
    assert [found["maxValues"]["id"] for found in stats(tmp_path)] == [2, 5, 8]


@pytest.fixture
def store(spark: Any, delta: JvmDelta, tmp_path: Path) -> Any:
    """A folder under the URI of a store: Hadoop's own view of other file systems answers for it."""

    def mount(scheme: str) -> tuple[Any, str]:
        session = Converter(spark, delta, tool_version="test")._spark
        if scheme != "viewfs":
            overload = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
            session.conf.set(f"fs.{scheme}.impl", overload)
        session.conf.set(f"fs.{scheme}.impl.disable.cache", "true")
        session.conf.set("fs.viewfs.mounttable.lake.link./data", f"file://{tmp_path}")
        return session, f"{scheme}://lake/data"

    return mount


def test_a_store_behind_hadoop_is_listed_read_and_taken_back_through_it(
    delta: JvmDelta, store: Any, tmp_path: Path
) -> None:
    by_value(tmp_path / "rides", "k", ["a b", "c%3Ad"])
    before = everything(tmp_path)
    session, root = store("viewfs")
    converter = Converter(session, delta, tool_version="test")
    plan = converter.convert(ConvertRequest(path=f"{root}/rides"))
    assert (plan.files, plan.rows, plan.partitions) == (2, 6, 2)
    found = session.sql(f"select distinct k from delta.`{root}/rides`").collect()
    assert sorted(row[0] for row in found) == ["a b", "c:d"]
    assert stats(tmp_path / "rides")[0]["minValues"] == {"id": 0}
    assert Undoer(session, JvmDelta(session)).undo(path=f"{root}/rides").outcome == "undone"
    assert everything(tmp_path) == before


def test_an_object_store_keeps_its_scheme_and_refuses_an_undo(
    delta: JvmDelta, store: Any, tmp_path: Path
) -> None:
    by_value(tmp_path / "rides", "k", ["a b", "c%3Ad"])
    (tmp_path / "empty").mkdir()
    session, root = store("s3a")

    def convert(**request: Any) -> ConversionPlan:
        return Converter(
            session, delta, tool_version="test", allowed_roots=("s3a://lake/data",)
        ).convert(ConvertRequest(**request))

    for path, words in (("empty", "DELTA_EMPTY_DIRECTORY"), ("nothing", "doesn't exist")):
        with pytest.raises(ConversionError) as caught:
            convert(path=f"{root}/{path}")
        assert words in str(caught.value)
        assert f"s3a://lake/data/{path}" in str(caught.value)
    with pytest.raises(ConversionError, match="convert_roots"):
        convert(path="s3a://other/data")
    assert convert(path=f"{root}/rides", dry_run=True).root == "s3a://lake/data/rides"
    plan = convert(
        path=f"{root}/rides", mode="snapshot", snapshot_path=f"{root}/log", statistics="full"
    )
    assert plan.log_root == "s3a://lake/data/log"
    paths = sorted(add["path"] for add in actions(tmp_path / "log")["add"])
    assert paths == [
        "s3a://lake/data/rides/k=a%20b/f.parquet",
        "s3a://lake/data/rides/k=c%253Ad/f.parquet",
    ]
    assert session.sql(f"select sum(id) from delta.`{root}/log`").collect()[0][0] == 15
    assert convert(path=f"{root}/rides").outcome == "converted"
    assert convert(path=f"{root}/rides").outcome == "already_delta"
    assert session.sql(f"select sum(id) from delta.`{root}/rides`").collect()[0][0] == 15
    with pytest.raises(UndoError, match="is on s3a, where a folder is not renamed in one step"):
        Undoer(session, JvmDelta(session)).undo(path=f"{root}/rides")
    assert (tmp_path / "rides" / "_delta_log" / f"{0:020}.json").exists()


# -- snapshot, names, the way back ------------------------------------------------------------


def test_a_snapshot_leaves_its_source_untouched(
    spark: Any, delta: JvmDelta, convert: Any, table: str, tmp_path: Path
) -> None:
    root, log = tmp_path / "source #1", tmp_path / "lake"
    by_value(root, "k", ["a b", "c"])
    before = everything(root)
    plan = convert(
        path=root, mode="snapshot", snapshot_path=str(log), register_as=(None, table, "snap")
    )
    assert plan.outcome == "converted"
    assert everything(root) == before
    assert spark.sql(f"select count(*) from {table}.snap where k = 'a b'").collect()[0][0] == 3
    spark.sql(f"delete from {table}.snap where k = 'c'")
    assert everything(root) == before
    with pytest.raises(UndoError, match="has been written to since its conversion"):
        Undoer(spark, delta).undo(path=str(log))


def test_undo_gives_back_folder_and_entry(
    spark: Any, delta: JvmDelta, convert: Any, table: str, tmp_path: Path
) -> None:
    by_value(tmp_path, "k", ["1", "2"])
    name = f"{table}.t"
    spark.sql(
        f"create table {name} (id bigint, k int) using parquet partitioned by (k) "
        f"tblproperties ('made_by' = 'team') location '{tmp_path}'"
    )
    spark.sql(f"msck repair table {name}")
    before, content = everything(tmp_path), rows(spark, name)
    for _ in range(2):
        convert(table=(None, table, "t"))
        assert Undoer(spark, delta).undo(table=(None, table, "t"), dry_run=True).files == 2
        assert (tmp_path / "_delta_log").exists()
        plan = Undoer(spark, delta).undo(table=(None, table, "t"))
        assert (plan.outcome, plan.restores_entry) == ("undone", name)
        assert everything(tmp_path) == before
        assert rows(spark, name) == content
        described = {r[0]: r[1] for r in spark.sql(f"describe extended {name}").collect()}
        assert described["Provider"] == "parquet"
        assert "made_by=team" in described["Table Properties"]
        assert spark.sql(f"show partitions {name}").count() == 2


def test_undo_without_the_entry_of_that_time_gives_back_the_folder(
    spark: Any, delta: JvmDelta, convert: Any, table: str, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    spark.sql(f"create table {table}.t (id bigint) using parquet location '{tmp_path}'")
    convert(table=(None, table, "t"))
    spark.sql(f"drop table {table}.t")
    plan = Undoer(spark, delta).undo(path=str(tmp_path))
    assert (plan.outcome, plan.restores_entry) == ("undone", None)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_undo_takes_away_an_entry_that_the_conversion_made(
    spark: Any, delta: JvmDelta, convert: Any, table: str, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    convert(path=tmp_path, register_as=(None, table, "made"))
    assert convert(path=tmp_path, register_as=(None, table, "made")).outcome == "already_delta"
    plan = Undoer(spark, delta).undo(table=(None, table, "made"))
    assert plan.drops_entry == f"{table}.made"
    assert not spark.catalog.tableExists(f"{table}.made")
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


def test_undo_refuses_what_is_not_its_own(
    spark: Any, delta: JvmDelta, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "plain" / "a.parquet", {"id": ids()})
    put(tmp_path / "native" / "a.parquet", {"id": ids()})
    put(tmp_path / "ours" / "a.parquet", {"id": ids()})
    undoer = Undoer(spark, delta)
    with pytest.raises(UndoError, match="has no Delta log"):
        undoer.undo(path=str(tmp_path / "plain"))
    spark.sql(f"CONVERT TO DELTA parquet.`{tmp_path / 'native'}`")
    with pytest.raises(UndoError, match="was not made by convert_to_delta"):
        undoer.undo(path=str(tmp_path / "native"))
    convert(path=tmp_path / "ours")
    spark.sql(f"insert into delta.`{tmp_path / 'ours'}` values (7)")
    with pytest.raises(UndoError, match="version 1"):
        undoer.undo(path=str(tmp_path / "ours"))
    assert len(rows(spark, f"delta.`{tmp_path / 'ours'}`")) == 4


def test_an_undo_that_was_killed_is_finished_by_the_next(
    spark: Any, delta: JvmDelta, convert: Any, tmp_path: Path
) -> None:
    put(tmp_path / "a.parquet", {"id": ids()})
    convert(path=tmp_path)
    os.rename(tmp_path / "_delta_log", tmp_path / "_delta_log.undo-abc")
    assert Undoer(spark, delta).undo(path=str(tmp_path)).outcome == "undone"
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


# -- streaming sinks and types ----------------------------------------------------------------


def test_only_what_a_streaming_sink_committed_is_taken(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    sink, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"
    spark.range(4).write.format("parquet").save(str(tmp_path / "input"))
    stream = spark.readStream.schema("id bigint").parquet(str(tmp_path / "input"))
    stream.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).trigger(
        availableNow=True
    ).start(str(sink)).awaitTermination()
    put(sink / "stray.parquet", {"id": ids(100)})
    plan = convert(path=sink)
    assert plan.engine_reason.endswith("streaming sink log")
    assert rows(spark, f"delta.`{sink}`") == [(0,), (1,), (2,), (3,)]


def test_widening_reads_old_and_new_files_as_the_wider_type(
    spark: Any, convert: Any, tmp_path: Path
) -> None:
    put(
        tmp_path / "a.parquet", {"n": pa.array([1], pa.int32()), "x": pa.array([0.1], pa.float32())}
    )
    put(tmp_path / "b.parquet", {"n": pa.array([2**40], pa.int64()), "x": pa.array([0.2])})
    plan = convert(path=tmp_path, widen_types=True)
    assert "typeWidening" in plan.features
    found = rows(spark, f"delta.`{tmp_path}`")
    assert [row[0] for row in found] == [1, 2**40]
    highest = spark.sql(f"select max(n), min(n) from delta.`{tmp_path}`").collect()[0]
    assert tuple(highest) == (2**40, 1)


def test_a_timestamp_partition_keeps_its_moment_in_any_zone(
    spark: Any, delta: JvmDelta, tmp_path: Path
) -> None:
    by_value(tmp_path, "t", ["2024-07-01 00%3A30%3A00"])
    session = Converter(spark, delta, tool_version="test")._spark
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    Converter(session, delta, tool_version="test").convert(ConvertRequest(path=str(tmp_path)))
    assert actions(tmp_path)["add"][0]["partitionValues"] == {"t": "2024-06-30T22:30:00.000000Z"}
    for zone in ("UTC", "Asia/Tokyo"):
        session.conf.set("spark.sql.session.timeZone", zone)
        moment = session.sql(f"select distinct unix_seconds(t) from delta.`{tmp_path}`").collect()
        assert moment[0][0] == 1719786600
        found = session.sql(
            f"select count(*) from delta.`{tmp_path}` where t = timestamp'2024-06-30T22:30:00Z'"
        )
        assert found.collect()[0][0] == 3
