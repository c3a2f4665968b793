"""Spark Connect's own promises: sessions are let go, a lost answer is not a second write."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from dbt.adapters.delta_maint.core.errors import (
    ConnectionLostError,
    DeltaMaintError,
    ProfileError,
    SparkStartError,
)
from dbt.adapters.delta_maint.environments.connect import ConnectEnvironment, ConnectHandle
from dbt.adapters.delta_maint.environments.connect_settings import ConnectSettings

from tests.long_query import LONG_QUERY
from tests.servers.process import free_port
from tests.servers.tcp_proxy import Wire, wire_to

pytestmark = pytest.mark.portable(only_on=["connect"])


@pytest.fixture
def port(session_target: dict[str, Any]) -> int:
    return int(urlparse("http" + session_target["remote"][2:]).port or 0)


@pytest.fixture
def wire(port: int) -> Iterator[Wire]:
    with wire_to(port) as wire:
        yield wire


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def handle(wire: Wire, told: list[str]) -> Iterator[ConnectHandle]:
    """A connection through a wire that can be cut."""
    settings = ConnectSettings(f"sc://127.0.0.1:{wire.port}", {"spark.sql.shuffle.partitions": "2"})
    handle = ConnectEnvironment(settings, tell=told.append).open()
    yield handle
    wire.cut()
    handle.close()


@pytest.fixture
def table(spark: Any) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex}"
    spark.sql(f"create table {name} using delta as select id from range(3)")
    yield name
    spark.sql(f"drop table if exists {name}")


def history(spark: Any, table: str) -> list[Any]:
    found: list[Any] = spark.sql(f"describe history {table}").collect()
    return found


def insert(handle: ConnectHandle, table: str, outcome: list[Any]) -> threading.Thread:
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


def test_an_answer_that_was_lost_on_the_way_is_fetched_and_nothing_is_written_twice(
    handle: ConnectHandle, wire: Wire, table: str, spark: Any, warehouse: Path
) -> None:
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    assert not outcome
    wire.cut()
    thread.join(60)
    assert outcome == [1]
    assert [row.version for row in history(spark, table)] == [1, 0]


def test_what_never_arrived_is_looked_for_and_then_sent_again(
    handle: ConnectHandle, wire: Wire, table: str, spark: Any, told: list[str]
) -> None:
    outcome: list[Any] = []
    wire.cut_at = needle(table)
    insert(handle, table, outcome).join(60)
    assert outcome == [1]
    assert [row.version for row in history(spark, table)] == [1, 0]
    assert "before the server had begun it" in told[0]


def test_a_session_that_the_server_forgot_tells_which_commit_stands(
    handle: ConnectHandle, wire: Wire, table: str, spark: Any, warehouse: Path, port: int
) -> None:
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    forget_session(port, handle.spark.session_id, handle.spark.client._user_id)
    wire.cut()
    thread.join(60)
    assert isinstance(outcome[0], ConnectionLostError), outcome
    assert f"its commit stands as version 1 of {table}, and was not repeated" in str(outcome[0])
    assert [row.version for row in history(spark, table)] == [1, 0]
    handle.describe_work("the next model")
    cursor = handle.cursor()
    cursor.execute(f"select count(*) from {table}")
    assert cursor.fetchall() == [(4,)]


def test_a_server_that_is_gone_is_told_of_in_seconds_with_what_to_look_for(
    handle: ConnectHandle, wire: Wire, table: str, spark: Any, warehouse: Path
) -> None:
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    wire.cut(stays_down=True)
    began = time.monotonic()
    thread.join(60)
    assert time.monotonic() - began < 40
    sentence = str(outcome[0])
    assert "does not answer: whether it committed is not known" in sentence
    newest = history(spark, table)[0]
    assert newest.version == 1
    number = sentence.split("a commit with ")[1].split(" ")[0]
    assert number in newest.userMetadata


def test_a_users_own_metadata_is_kept_and_the_doubt_is_told(
    handle: ConnectHandle, wire: Wire, table: str, spark: Any, warehouse: Path, port: int
) -> None:
    handle.spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", "mine")
    outcome: list[Any] = []
    wire.mute_at = needle(table)
    thread = insert(handle, table, outcome)
    wait_for(lambda: committed(warehouse, table))
    forget_session(port, handle.spark.session_id, handle.spark.client._user_id)
    wire.cut()
    thread.join(60)
    assert "something of your own" in str(outcome[0])
    assert history(spark, table)[0].userMetadata == "mine"


def test_a_cancelled_connection_stops_at_once_and_the_other_goes_on(
    session_target: dict[str, Any],
) -> None:
    environment = ConnectEnvironment(ConnectSettings(session_target["remote"]))
    left, right = environment.open(), environment.open()
    faults: list[BaseException] = []
    running = threading.Event()
    left.spark.registerProgressHandler(
        lambda stages, inflight_tasks, operation_id, done: running.set() if stages else None
    )

    def long_query() -> None:
        cursor = left.cursor()
        try:
            cursor.execute(LONG_QUERY)
            cursor.fetchall()
        except BaseException as exc:
            faults.append(exc)

    thread = threading.Thread(target=long_query)
    thread.start()
    assert running.wait(60)
    left.cancel()
    thread.join(10)
    assert not thread.is_alive()
    assert faults
    with pytest.raises(DeltaMaintError, match="cancelled"):
        left.cursor().execute("select 1")
    cursor = right.cursor()
    cursor.execute("select 1")
    assert cursor.fetchall() == [(1,)]
    environment.close()


def test_closing_lets_go_of_the_session_and_of_those_made_from_it(
    session_target: dict[str, Any], port: int
) -> None:
    handle = ConnectEnvironment(ConnectSettings(session_target["remote"])).open()
    child = handle.spark.newSession()
    ids = [handle.spark.session_id, child.session_id]
    handle.close()
    for session_id in ids:
        assert "SESSION_CLOSED" in answer_to(port, session_id)


def test_a_conf_that_only_a_server_can_have_is_refused_and_nothing_stays(
    session_target: dict[str, Any],
) -> None:
    settings = ConnectSettings(session_target["remote"], {"spark.driver.memory": "4g"})
    with pytest.raises(ProfileError, match="set it where the server is started"):
        ConnectEnvironment(settings).open()


def test_nobody_there_is_one_sentence_in_seconds() -> None:
    remote = f"sc://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(SparkStartError, match=f"No Spark Connect server answers at {remote}"):
        ConnectEnvironment(ConnectSettings(remote)).open()
    assert time.monotonic() - began < 30


def forget_session(port: int, session_id: str, user_id: str | None) -> None:
    from pyspark.sql.connect.session import SparkSession

    other = SparkSession(f"sc://127.0.0.1:{port}/;session_id={session_id}", userId=user_id)
    other.client.release_session()
    other.client.close()


def answer_to(port: int, session_id: str) -> str:
    """What the server says to somebody who comes with a session's number."""
    from pyspark.sql.connect.session import SparkSession

    other = SparkSession(f"sc://127.0.0.1:{port}/;session_id={session_id}")
    try:
        other.sql("select 1").collect()
    except Exception as exc:
        return str(exc)
    finally:
        other.client.close()
    return "it answered"
