"""A Spark Thrift server's own promises: values come as they are, a lost answer is not a second write."""

from __future__ import annotations

import datetime as dt
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dbt.adapters.delta_maint.core.errors import (
    ConnectionLostError,
    DeltaMaintError,
    ProfileError,
    SparkStartError,
)
from dbt.adapters.delta_maint.core.literal_rows import BATCH_BYTES
from dbt.adapters.delta_maint.core.write_choice import Mode, Way, WritePolicy
from dbt.adapters.delta_maint.environments.thrift import ThriftEnvironment, ThriftHandle
from dbt.adapters.delta_maint.environments.thrift_settings import ThriftSettings
from dbt.adapters.delta_maint.lake.commit_mark import WRITE, CommitMark
from dbt.adapters.delta_maint.lake.sql_write_target import SqlWriteTarget
from dbt.adapters.delta_maint.lake.sql_writer import SqlPreparation
from dbt.adapters.delta_maint.seeds import literal_seed_select
from deltalake import DeltaTable

from tests.servers.process import free_port
from tests.servers.tcp_proxy import Wire, wire_to

pytestmark = pytest.mark.portable(only_on=["thrift"])

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
LONG = (
    "select count(*) from range(100000) a cross join range(10000000) b where sqrt(a.id) + b.id < 0"
)


@pytest.fixture
def settings(session_target: dict[str, Any]) -> ThriftSettings:
    return ThriftSettings(session_target["host"], session_target["port"], user="tester")


@pytest.fixture
def wire(settings: ThriftSettings) -> Iterator[Wire]:
    with wire_to(settings.port) as wire:
        yield wire


@pytest.fixture
def handle(settings: ThriftSettings, wire: Wire) -> Iterator[ThriftHandle]:
    """A connection through a wire that can be cut."""
    handle = ThriftEnvironment(replace(settings, port=wire.port)).open()
    yield handle
    wire.cut()
    handle.close()


@pytest.fixture
def table(sql: Any) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex}"
    sql.run(f"create table {name} using delta as select id from range(3)")
    yield name
    sql.run(f"drop table if exists {name}")


def versions(sql: Any, table: str) -> list[int]:
    return [row[0] for row in sql.answer(f"describe history {table}")]


def newest_mark(sql: Any, table: str) -> str:
    return str(sql.answer(f"describe history {table} limit 1")[0][13])


def rows(handle: ThriftHandle, text: str) -> list[tuple[Any, ...]]:
    cursor = handle.cursor()
    cursor.execute(text)
    return cursor.fetchall()


def insert(handle: ThriftHandle, table: str, outcome: list[Any]) -> threading.Thread:
    """In a thread of its own: a statement that anyone on the wire can tell from others."""

    def run() -> None:
        cursor = handle.cursor()
        try:
            cursor.execute(f"insert into {table} select 41 + 1 as id")
            outcome.append(cursor.committed_version)
        except BaseException as exc:
            outcome.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def wait_for(question: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def committed(warehouse: Path, table: str) -> bool:
    return (warehouse / "warehouse" / table / "_delta_log" / f"{1:020d}.json").exists()


def needle(table: str) -> bytes:
    return f"insert into {table}".encode()


# -- losses ---------------------------------------------------------------------------------------


def test_a_commit_whose_answer_was_lost_is_found_and_not_repeated(
    handle: ThriftHandle, wire: Wire, table: str, sql: Any, warehouse: Path
) -> None:
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    assert not outcome
    wire.cut()
    thread.join(60)
    assert isinstance(outcome[0], ConnectionLostError), outcome
    assert f"its commit stands as version 1 of {table}, and was not repeated" in str(outcome[0])
    assert versions(sql, table) == [1, 0]
    handle.describe_work("the next model")
    assert rows(handle, f"select count(*) from {table}") == [(4,)]


def test_what_never_arrived_is_looked_for_and_told(
    handle: ThriftHandle, wire: Wire, table: str, sql: Any
) -> None:
    outcome: list[Any] = []
    wire.cut_at = needle(table)
    insert(handle, table, outcome).join(60)
    assert f"no commit of {table} carries its number" in str(outcome[0])
    assert "Run dbt again" in str(outcome[0])
    assert versions(sql, table) == [0]
    handle.describe_work("the next model")
    insert(handle, table, outcome).join(60)
    assert outcome[1] == 1


def test_a_server_that_is_gone_is_told_of_with_what_to_look_for(
    handle: ThriftHandle, wire: Wire, table: str, sql: Any, warehouse: Path
) -> None:
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    wire.cut(stays_down=True)
    thread.join(60)
    sentence = str(outcome[0])
    assert "does not answer: whether it committed is not known" in sentence
    assert sentence.split("a commit with ")[1].split(" ")[0] in newest_mark(sql, table)
    assert versions(sql, table) == [1, 0]


def test_a_users_own_metadata_is_kept_and_the_doubt_is_told(
    handle: ThriftHandle, wire: Wire, table: str, sql: Any, warehouse: Path
) -> None:
    rows(handle, f"set {USER_METADATA} = mine")
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    wire.cut()
    thread.join(60)
    assert "something of your own" in str(outcome[0])
    assert newest_mark(sql, table) == "mine"


# -- sessions -------------------------------------------------------------------------------------


def test_a_cancelled_connection_stops_at_once_and_the_other_goes_on(
    settings: ThriftSettings,
) -> None:
    environment = ThriftEnvironment(settings)
    left, right = environment.open(), environment.open()
    faults: list[BaseException] = []

    def long_query() -> None:
        try:
            rows(left, LONG)
        except BaseException as exc:
            faults.append(exc)

    thread = threading.Thread(target=long_query)
    thread.start()
    wait_for(lambda: left.is_busy)
    left.cancel()
    thread.join(10)
    assert not thread.is_alive()
    assert faults
    with pytest.raises(DeltaMaintError, match="cancelled"):
        rows(left, "select 1")
    assert rows(right, "select 1") == [(1,)]
    environment.close()


def test_a_connection_beside_is_cancelled_with_the_one_it_works_for(
    settings: ThriftSettings,
) -> None:
    handle = ThriftEnvironment(settings).open()
    faults: list[BaseException] = []

    def long_query() -> None:
        try:
            with handle.sql.fresh() as beside:
                beside.run(LONG)
        except BaseException as exc:
            faults.append(exc)

    thread = threading.Thread(target=long_query)
    thread.start()
    wait_for(lambda: handle.is_busy)
    handle.cancel()
    thread.join(10)
    assert not thread.is_alive()
    assert "cancelled" in str(faults[0])
    handle.close()


def test_confs_are_of_one_connection_and_of_one_statement(
    settings: ThriftSettings, table: str
) -> None:
    environment = ThriftEnvironment(settings.with_confs({"spark.sql.shuffle.partitions": "5"}))
    left, right = environment.open(), environment.open()
    rows(left, "set spark.sql.shuffle.partitions = 7")
    assert left.sql.conf("spark.sql.shuffle.partitions") == "7"
    assert right.sql.conf("spark.sql.shuffle.partitions") == "5"
    with left.sql.fresh() as beside:
        assert beside.conf("spark.sql.shuffle.partitions") == "5"
    rows(left, f"insert into {table} values (5)")
    # The number of the statement is in its commit, and in no later one.
    assert '"statement":"' in newest_mark(right.sql, table)
    for handle in (left, right):
        handle.sql.run("set spark.sql.shuffle.partitions")  # what was known is asked again
        assert handle.sql.conf(USER_METADATA) is None
    environment.close()


def test_closing_lets_go_of_the_session(settings: ThriftSettings) -> None:
    handle = ThriftEnvironment(settings).open()
    session = handle.session
    handle.close()
    with (
        session.beside() as calls,
        pytest.raises(Exception, match=r"Invalid SessionHandle|Session does not exist"),
    ):
        calls.call("CloseSession", sessionHandle=session.server_handle)


def test_a_conf_that_only_a_server_can_have_is_refused(settings: ThriftSettings) -> None:
    with pytest.raises(ProfileError, match="set it where the server is started"):
        ThriftEnvironment(settings.with_confs({"spark.driver.memory": "4g"})).open()


def test_nobody_there_and_another_greeting_are_one_sentence(settings: ThriftSettings) -> None:
    absent = replace(settings, port=free_port())
    for wrong in (absent, replace(settings, auth="NOSASL")):
        with pytest.raises(SparkStartError) as told:
            ThriftEnvironment(wrong).open()
        assert f"No Spark Thrift server answers at {wrong.shown}" in str(told.value)
        assert f"with auth {wrong.auth}" in str(told.value)


# -- files of the right size ----------------------------------------------------------------------


@pytest.mark.parametrize(("partition_by", "way"), [(("p",), Way.EXACT), ((), Way.CHUNKS)])
def test_rows_go_to_the_files_of_the_plan(
    sql: Any, warehouse: Path, partition_by: tuple[str, ...], way: Way
) -> None:
    name = f"placed_{way.value}"
    query = (
        "select id, cast(sqrt(id % 400) as int) as p, sha2(cast(id as string), 256) as text "
        "from range(0, 40000, 1, 4) -- skewed"
    )
    policy = WritePolicy(Mode.EXACT, target_bytes=64 * 1024)
    clause = f"partitioned by ({', '.join(partition_by)})" if partition_by else ""
    for _ in range(2):
        # The second time the files of the first say how large a row is.
        target = SqlWriteTarget(partition_by)
        if (warehouse / "warehouse" / name).exists():
            found = SqlWriteTarget.asked(sql, name, partition_columns=partition_by)
            target = found or target
        mark = CommitMark(WRITE, "test")
        prepared = SqlPreparation(sql, policy, target, mark).rows(query, model="m")
        assert prepared.choice.way is way
        prepared.show_as(f"{name}_rows")
        with prepared.running(None):
            sql.run(
                f"create or replace table {name} using delta {clause} as select * from {name}_rows"
            )
        for key in prepared.settings:
            assert sql.conf(key) != prepared.settings[key], f"{key} leaked"
        actions = pa.table(
            DeltaTable(str(warehouse / "warehouse" / name)).get_add_actions(flatten=True)
        )
        rows_of_files = actions.column("num_records").to_pylist()
        assert sum(rows_of_files) == 40_000
        assert len(rows_of_files) == prepared.planned_files
    sizes = actions.column("size_bytes").to_pylist()
    assert len(sizes) > 30
    assert max(sizes) < 1.6 * 64 * 1024
    assert sorted(sql.rows(f"select count(distinct id), sum(id) from {name}")) == [
        (40_000, sum(range(40_000)))
    ]
    sql.run(f"drop table {name}")


# -- values ---------------------------------------------------------------------------------------


def test_values_come_as_they_are(sql: Any) -> None:
    sql.set_conf("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        (found,) = sql.rows(
            "select 9007199254740993, cast('12345678901234567890.12' as decimal(38,2)), "
            "date'2024-02-29', timestamp'2024-02-29 09:00:00.123456', true, 1.5D, X'00ff', "
            "'Łódź \U0001f6b2\\n\\'', '', cast(null as string), cast(null as date), array('a', null), "
            "map('k', 1), named_struct('x', 1, 'y', 'z')"
        )
    finally:
        sql.set_conf("spark.sql.session.timeZone", None)
    # As a session of Spark's own gives it: the local time of this process.
    stamp = dt.datetime(2024, 2, 29, 0, 0, 0, 123456, tzinfo=dt.timezone.utc)
    assert found == (
        9007199254740993,
        Decimal("12345678901234567890.12"),
        dt.date(2024, 2, 29),
        stamp.astimezone().replace(tzinfo=None),
        True,
        1.5,
        b"\x00\xff",
        "Łódź \U0001f6b2\n'",
        "",
        None,
        None,
        ["a", None],
        {"k": 1},
        {"x": 1, "y": "z"},
    )


def test_many_rows_come_in_batches_and_none_is_lost(settings: ThriftSettings) -> None:
    handle = ThriftEnvironment(settings).open()
    cursor = handle.cursor()
    query = "select id, if(id % 3 = 0, null, cast(id as string)) from range(25000)"
    cursor.execute(query)
    first = cursor.fetchmany(7)
    assert len(first) == 7
    found = sorted([*first, *cursor.fetchall()])
    assert [row[0] for row in found] == list(range(25_000))
    assert all((text is None) == (number % 3 == 0) for number, text in found)
    handle.close()


def test_hostile_text_becomes_rows_in_several_batches(sql: Any) -> None:
    hostile = [
        "${env:HOME}",
        "$1 \\$2",
        'O\'Hara "x"',
        "two\nlines\r\t",
        "null",
        "",
        "\\u0041",
        "%s",
    ]
    long = "x" * (BATCH_BYTES // 2)
    given = [(str(number), text) for number, text in enumerate([*hostile, long, long, long])]
    given.append((str(len(given)), None))
    query = literal_seed_select(
        sql, ["id", "text"], given, {"id": "int", "text": "string"}, view_name="hostile"
    )
    found = sorted(sql.rows(query))
    assert found == [(int(number), text) for number, text in given]


def test_an_error_is_spark_s_sentence_without_plan_and_stack(settings: ThriftSettings) -> None:
    from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

    handle = ThriftEnvironment(settings).open()
    for text, sentence in {
        "select * from no_such_table": "[TABLE_OR_VIEW_NOT_FOUND] The table or view",
        "selec 1": "[PARSE_SYNTAX_ERROR] Syntax error at or near",
        "select raise_error('told so')": "[USER_RAISED_EXCEPTION] told so",
    }.items():
        with pytest.raises(Exception, match="\\[") as told:
            rows(handle, text)
        found = telling_sentence(told.value)
        assert found.startswith(sentence), found
        assert "\tat " not in found
        assert "'Project" not in found
    handle.close()
