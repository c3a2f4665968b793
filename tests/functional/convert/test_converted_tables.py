"""A converted table is a Delta table like any other: queries, skipping, changes, features."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.lake.converter import Converter, private_session
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

from tests.functional.convert.source_folders import by_value, ids, put

SKIPPING = "spark.databricks.delta.stats.skipping"
RUNS_ALL = bool(os.environ.get("DELTA_MAINT_TEST_ALL"))
METADATA_QUERY = "spark.databricks.delta.optimizeMetadataQuery.enabled"


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    """Without the reader's own row group skipping, so that only Delta's is looked at."""
    found = private_session(spark)
    found.conf.set("spark.sql.parquet.filterPushdown", "false")
    return found


def convert(spark: Any, path: Path, **keys: Any) -> None:
    delta = JvmDelta.probe(spark)
    assert isinstance(delta, JvmDelta)
    Converter(spark, delta, tool_version="test").convert(ConvertRequest(path=str(path), **keys))


def random_folder(root: Path, seed: int) -> None:
    """Eight files of every skippable type, with nulls, NaN, equal and all-null columns."""
    draw = random.Random(seed)
    for number in range(8):
        rows = draw.randint(1, 12)
        base = draw.randint(-50, 50)

        def some(make: Any, count: int = rows, source: random.Random = draw) -> list[Any]:
            if source.random() < 0.1:
                return [None] * count
            return [None if source.random() < 0.2 else make() for _ in range(count)]

        def whole(low: int = base, source: random.Random = draw) -> int:
            return low + source.randint(0, 9)

        def text(source: random.Random = draw) -> str:
            return source.choice(["", "a", "é", "zz", "\U0010ffff", "b" * 40]) + str(
                source.randint(0, 9)
            )

        put(
            root / f"{number}.parquet",
            pa.table(
                {
                    "i": pa.array(some(whole), pa.int32()),
                    "l": pa.array(some(lambda: whole() * 10**12), pa.int64()),
                    "d": pa.array(
                        some(lambda: draw.choice([float("nan"), float("inf"), whole() / 4])),
                        pa.float64(),
                    ),
                    "m": pa.array(
                        some(lambda: decimal.Decimal(whole()) / 4), pa.decimal128(38, 10)
                    ),
                    "s": pa.array(some(text), pa.string()),
                    "t": pa.array(
                        some(lambda: dt.datetime(1969, 12, 31) + dt.timedelta(seconds=whole() / 3)),
                        pa.timestamp("us", "UTC"),
                    ),
                    "y": pa.array(
                        some(lambda: dt.date(1970, 1, 1) + dt.timedelta(days=whole())), pa.date32()
                    ),
                    "st": pa.array(some(lambda: {"x": whole()}), pa.struct([("x", pa.int64())])),
                }
            ),
            row_group_size=draw.randint(1, 12),
        )


def random_predicate(draw: random.Random) -> str:
    whole = draw.randint(-60, 70)
    literals = {
        "i": str(whole),
        "l": str(whole * 10**12),
        "d": draw.choice([str(whole / 4), "double('NaN')", "double('inf')"]),
        "m": f"{whole / 4}BD",
        "s": draw.choice(["''", "'a5'", "'é'", "'zz'", f"'{'b' * 40}'"]),
        "t": f"timestamp_micros({-86_400_000_000 + whole * 333_333})",
        "y": f"date_from_unix_date({whole})",
        "st.x": str(whole),
    }
    column = draw.choice(list(literals))
    operator = draw.choice(["=", "<", "<=", ">", ">=", "<>", "<=>", "is null", "is not null"])
    if operator.startswith("is"):
        return f"{column} {operator}"
    predicate = f"{column} {operator} {literals[column]}"
    return f"not ({predicate})" if draw.random() < 0.2 else predicate


def test_random_data_and_predicates_give_equal_rows_with_skipping_on_and_off(
    session: Any, tmp_path: Path
) -> None:
    skipped_something = False
    for seed in range(12 if RUNS_ALL else 1):
        root = tmp_path / str(seed)
        random_folder(root, seed)
        convert(session, root, statistics=("full", "footer")[seed % 2])
        draw = random.Random(seed + 100)
        predicates = [random_predicate(draw) for _ in range(40)]
        counts = ", ".join(
            f"(select count(*) from delta.`{root}` where {predicate})" for predicate in predicates
        )
        answers = {}
        for mode in ("true", "false"):
            session.conf.set(SKIPPING, mode)
            answers[mode] = tuple(session.sql(f"select {counts}").collect()[0])
        session.conf.set(SKIPPING, "true")
        wrong = [
            predicate
            for predicate, on, off in zip(
                predicates, answers["true"], answers["false"], strict=True
            )
            if on != off
        ]
        assert not wrong
        files = session.sql(f"select * from delta.`{root}` where i > 1000").inputFiles()
        skipped_something = skipped_something or len(files) < 8
    assert skipped_something


def test_min_max_and_count_from_the_log_equal_a_scan(session: Any, tmp_path: Path) -> None:
    put(
        tmp_path / "a.parquet",
        {
            "b": pa.array([-128, 127, None], pa.int8()),
            "h": pa.array([-3, None, 9], pa.int16()),
            "i": pa.array([1, 2, 3], pa.int32()),
            "l": pa.array([-(2**63), 0, 2**63 - 1], pa.int64()),
            "y": pa.array([dt.date(1969, 1, 1), None, dt.date(2024, 1, 1)]),
        },
    )
    session.read.parquet(str(tmp_path)).selectExpr(
        "*", "cast(l as float) as f", "-0.0d as z"
    ).write.parquet(str(tmp_path / "spark"))
    shutil.rmtree(tmp_path / "spark" / "_delta_log", ignore_errors=True)
    (tmp_path / "a.parquet").unlink()
    put(tmp_path / "empty.parquet", {"i": pa.array([], pa.int32())})
    convert(session, tmp_path)
    asked = ", ".join(f"min({c}), max({c})" for c in ("b", "h", "i", "l", "y", "f", "z"))
    query = f"select count(*), {asked} from delta.`{tmp_path}`"
    answers, plans = [], []
    for mode in ("true", "false"):
        session.conf.set(METADATA_QUERY, mode)
        frame = session.sql(query)
        plans.append(str(frame._jdf.queryExecution().optimizedPlan().toString()))
        answers.append(tuple(frame.collect()[0]))
    session.conf.set(METADATA_QUERY, "true")
    assert answers[0] == answers[1]
    assert plans[0].startswith("LocalRelation")
    assert not plans[1].startswith("LocalRelation")


def test_every_kind_of_change_works_on_a_converted_table(session: Any, tmp_path: Path) -> None:
    root = tmp_path / "odd names % é"
    by_value(root, "k", ["a b", "c%3Ad", "é", "__HIVE_DEFAULT_PARTITION__"])
    put(root / "k=a b" / "empty.parquet", {"id": ids(0, 0)})
    convert(session, root)
    name = f"delta.`{root}`"

    def count() -> int:
        return int(session.sql(f"select count(*) from {name}").collect()[0][0])

    assert count() == 12
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    assert session.sql(f"vacuum {name} retain 0 hours dry run").collect() == []
    session.sql(f"delete from {name} where k = 'c:d' and id = 3")
    session.sql(f"update {name} set id = 100 where k = 'a b' and id = 0")
    session.sql(
        f"merge into {name} t using (select 4 as id, 'c:d' as k) s on t.id = s.id and t.k = s.k "
        "when matched then delete when not matched then insert *"
    )
    session.sql(f"insert into {name} values (7, 'new')")
    assert count() == 11
    session.sql(f"optimize {name}")
    assert count() == 11
    session.sql(f"restore table {name} to version as of 0")
    assert count() == 12
    session.sql(
        f"alter table {name} set tblproperties ('delta.enableDeletionVectors' = 'true', "
        "'delta.enableRowTracking' = 'true')"
    )
    session.sql(f"delete from {name} where id = 1")
    assert count() == 11
    tracked = session.sql(f"select count(distinct _metadata.row_id) from {name}").collect()[0][0]
    assert tracked == 11


def test_a_vacuum_knows_every_file_by_the_name_it_has(session: Any, tmp_path: Path) -> None:
    by_value(tmp_path / "k=1", "t", ["10:30", "a b", "é+&=%25", "it's [1]"])
    convert(session, tmp_path)
    name = f"delta.`{tmp_path}`"
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    assert session.sql(f"vacuum {name} retain 0 hours dry run").collect() == []
    session.sql(f"delete from {name} where t = '10:30' and id = 1")
    assert session.sql(f"select count(*) from {name}").collect()[0][0] == 11


def test_features_asked_for_at_conversion_are_there(session: Any, tmp_path: Path) -> None:
    by_value(tmp_path, "k", ["1", "2"])
    convert(
        session,
        tmp_path,
        properties=(
            ("delta.enableDeletionVectors", "true"),
            ("delta.enableRowTracking", "true"),
            ("delta.enableChangeDataFeed", "true"),
        ),
    )
    name = f"delta.`{tmp_path}`"
    session.sql(f"delete from {name} where id = 1")
    found = session.sql(f"select id, _metadata.row_id from {name} order by row_id").collect()
    assert sorted(row[1] for row in found) == [0, 2, 3, 4, 5]
    changes = session.sql(f"select _change_type from table_changes_by_path('{tmp_path}', 1)")
    assert [row[0] for row in changes.collect()] == ["delete"]
