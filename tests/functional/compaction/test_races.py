"""What another writer does between our plan and our commit, told by phases: rows are never lost.

`planned` is the moment after our plan and before Delta reads; `before commit` lies inside Delta's own
transaction, after OPTIMIZE has read and rewritten its files.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.lake.rewriters.base import Phase

from tests.functional.compaction.delta_phases import before_commit
from tests.functional.compaction.in_thread import in_thread
from tests.functional.compaction.small_table import EAGER, SmallTable

DV = "'delta.enableDeletionVectors' = 'true'"
NO_DV = "'delta.enableDeletionVectors' = 'false'"
ROWS = {(n, 1) for n in range(40)}

# other writer, table properties, its statement, the rows afterwards, whether our commit stands at once
WRITERS: dict[str, tuple[str, str, set[tuple[int, int]], bool]] = {
    "append": (DV, "insert into {t} values (100, 1)", ROWS | {(100, 1)}, True),
    "delete with a vector": (DV, "delete from {t} where id = 3", ROWS - {(3, 1)}, False),
    "delete by copy": (NO_DV, "delete from {t} where id = 3", ROWS - {(3, 1)}, False),
    "update": (DV, "update {t} set id = 200 where id = 3", (ROWS - {(3, 1)}) | {(200, 1)}, False),
    "merge": (
        NO_DV,
        "merge into {t} using (select 3 as k union all select 300) on id = k "
        "when matched then delete when not matched then insert (id, p) values (k, 1)",
        (ROWS - {(3, 1)}) | {(300, 1)},
        False,
    ),
    "second compaction": (DV, "optimize {t}", ROWS, False),
    "add column": (DV, "alter table {t} add column (extra string)", ROWS, True),
    "merge into another partition": (
        DV,
        "merge into {t} using (select 500 as k) on id = k and p = 2 "
        "when not matched then insert (id, p) values (k, 2)",
        ROWS | {(500, 2)},
        True,
    ),
    "table property": (DV, "alter table {t} set tblproperties ('team' = 'shop')", ROWS, True),
    "update by copy": (
        NO_DV,
        "update {t} set id = 200 where id = 3",
        (ROWS - {(3, 1)}) | {(200, 1)},
        False,
    ),
    "partition overwrite": (
        DV,
        "insert into {t} replace where p = 1 values (7, 1)",
        {(7, 1)},
        False,
    ),
}


Race = tuple[SmallTable, Callable[[], None], set[Any], bool]
# Before Delta reads, every writer is alike to us: few stand for all, unless everything is tested.
BEFORE_READ = (
    list(WRITERS) if os.environ.get("DELTA_MAINT_TEST_ALL") else ["append", "second compaction"]
)


@pytest.fixture(params=["delta", "arrow"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def race(spark: Any, kind: str, engine: str) -> Race:
    properties, statement, rows, stands = WRITERS[kind]
    # OPTIMIZE commits once more after a change of the metadata; Arrow's files are made anew.
    stands = stands and not (engine == "arrow" and kind in ("add column", "table property"))
    table = SmallTable.create(
        spark, layout="partitioned by (p)", properties=properties, engine=engine
    )
    table.append(4)
    other = SmallTable(spark.newSession(), table.name)
    return table, lambda: in_thread(lambda: other.run(statement)), rows, stands


def rows_of(table: SmallTable) -> set[tuple[int, int]]:
    found = table.run("select id, p from {t}")
    assert len(found) == len({tuple(row) for row in found}), "a row is there twice"
    return {tuple(row) for row in found}


@pytest.mark.parametrize("kind", BEFORE_READ)
def test_between_our_plan_and_our_statement(spark: Any, kind: str, engine: str) -> None:
    table, other_writer, rows, _ = race(spark, kind, engine)

    def observer(phase: Phase, chunk: Any) -> None:
        if phase is Phase.PLANNED:
            other_writer()

    result = table.compact(observer=observer)
    assert result.errors == []
    assert rows_of(table) == rows
    assert table.compact().errors == []
    assert rows_of(table) == rows
    assert set(table.files().values()) == {1}


@pytest.mark.parametrize("kind", WRITERS)
def test_between_deltas_read_and_our_commit(spark: Any, kind: str, engine: str) -> None:
    table, other_writer, rows, stands = race(spark, kind, engine)
    with before_commit(table.spark, other_writer) as phases:
        result = table.compact()
    assert phases.fired == 1
    assert result.errors == []
    assert sum(chunk.replans for chunk in result.chunks) == (0 if stands else 1)
    assert rows_of(table) == rows
    # Nothing is pending: the next run ends what is left, and the one after has nothing to do.
    table.compact()
    assert rows_of(table) == rows
    assert not table.compact().did_something
    assert set(table.files().values()) == {1}
    if engine == "arrow":
        assert files_on_disk(table) == files_ever_named(table), (
            "a refused rewrite left files behind"
        )


def files_on_disk(table: SmallTable) -> set[str]:
    root = Path(table.snapshot().location.removeprefix("file:"))
    return {path.name for path in root.rglob("*.parquet") if "_delta_log" not in path.parts}


def files_ever_named(table: SmallTable) -> set[str]:
    log = Path(table.snapshot().location.removeprefix("file:")) / "_delta_log"
    lines = (line for path in log.glob("*.json") for line in path.read_text().splitlines())
    actions = (json.loads(line) for line in lines)
    return {action["add"]["path"].rpartition("/")[2] for action in actions if "add" in action}


def test_who_loses_every_time_gives_way(spark: Any) -> None:
    table = SmallTable.create(spark, properties=DV)
    table.append(4)
    other = SmallTable(spark.newSession(), table.name)
    doomed = iter(range(40))

    def other_writer() -> None:
        in_thread(lambda: other.run(f"delete from {{t}} where id = {next(doomed)}"))

    with before_commit(table.spark, other_writer, times=99) as phases:
        result = table.compact()
    assert phases.fired == 3
    assert "gave way to another writer after 3 attempts" in result.sentence()
    assert {row[0] for row in rows_of(table)} == set(range(3, 40))
    assert "OPTIMIZE" not in table.operations()


@pytest.mark.parametrize(
    "how", ["create or replace table {t} (id bigint, p int) using delta", "drop"]
)
def test_a_table_replaced_under_its_name_is_left_alone(spark: Any, how: str) -> None:
    table = SmallTable.create(spark)
    table.append(4)
    plan = table.plan()
    if how == "drop":
        table.run("drop table {t}")
        how = "create table {t} (id bigint, p int) using delta"
    table.run(how)
    table.append(3, start=500)
    result = table.compact(plan=plan)
    assert result.stopped == "the table was replaced meanwhile"
    assert "OPTIMIZE" not in table.operations()
    assert len(rows_of(table)) == 30


def test_a_table_replaced_between_deltas_read_and_our_commit_is_left_alone(spark: Any) -> None:
    table = SmallTable.create(spark)
    table.append(4)
    other = SmallTable(spark.newSession(), table.name)
    replacement = "create or replace table {t} using delta as select id, 2 as p from range(5)"
    with before_commit(table.spark, lambda: in_thread(lambda: other.run(replacement))) as phases:
        result = table.compact()
    assert phases.fired == 1
    assert result.errors == ["the table was replaced meanwhile"]
    assert table.operations()[-1].startswith("CREATE OR REPLACE")
    assert rows_of(table) == {(n, 2) for n in range(5)}


def test_a_commit_that_landed_although_its_statement_failed_is_not_repeated(
    spark: Any, engine: str
) -> None:
    table = SmallTable.create(spark, engine=engine)
    table.append(4)

    class Unlucky:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def rewrite(self, *arguments: Any) -> Any:
            self.inner.rewrite(*arguments)
            raise OSError("the connection was lost")

    result = table.compact(rewriter=Unlucky)
    assert result.errors == []
    assert (result.total("files_removed"), result.total("files_added")) == (4, 1)
    assert table.operations().count("OPTIMIZE") == 1


def two_chunks(spark: Any) -> tuple[SmallTable, CompactionPlan]:
    """A table of two partitions, and a plan with a statement for each."""
    table = SmallTable.create(spark, layout="partitioned by (p)")
    for p, rows in (("1", 10), ("2", 3000)):
        table.append(3, p=p, rows=rows)
    table.append(1, p="1", rows=2000, start=9000)
    small = min(f.size_bytes for f in table.snapshot().files if f.partition == ("2",))
    first = table.plan(replace(EAGER, min_file_bytes=small))
    second = table.plan(EAGER, touched=frozenset({("2",)}))
    plan = replace(first, chosen=first.chosen + second.chosen, chunks=first.chunks + second.chunks)
    assert len(plan.chunks) == 2
    return table, plan


def test_chunks_run_side_by_side_under_the_job_group_of_who_asked(spark: Any) -> None:
    table, plan = two_chunks(spark)
    rows = table.rows()
    both = threading.Barrier(2, timeout=60)
    groups = []

    def observer(phase: Phase, chunk: Any) -> None:
        if phase is Phase.BEFORE_REWRITE:
            groups.append(spark.sparkContext.getLocalProperty("spark.jobGroup.id"))
            both.wait()

    spark.sparkContext.setJobGroup("asked", "compaction")
    try:
        result = table.compact(plan=plan, observer=observer, at_once=2)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert groups == ["asked", "asked"]
    assert result.errors == []
    assert result.total("files_removed") == plan.input_files
    assert set(table.files().values()) == {1}
    assert table.operations().count("OPTIMIZE") == 2
    assert table.rows() == rows


def test_a_chunk_that_fails_loses_only_itself(spark: Any) -> None:
    table, plan = two_chunks(spark)

    class FailsOnce:
        def __init__(self, inner: Any) -> None:
            self.inner, self.calls = inner, 0

        def rewrite(self, *arguments: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise OSError("no space left on device")
            return self.inner.rewrite(*arguments)

    result = table.compact(plan=plan, rewriter=FailsOnce)
    assert result.errors == ["no space left on device"]
    assert table.files() == {("1",): 4, ("2",): 1}


def test_the_deadline_stops_between_chunks(spark: Any) -> None:
    table = SmallTable.create(spark)
    table.append(4)
    result = table.compact(max_seconds=0.0)
    assert (result.stopped or "").startswith("the budget of 0 seconds")
    assert result.not_started == 1
    assert table.files() == {(): 4}
