"""dbt as users start it, against a Spark Connect server that comes and goes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.functional.dbt_process import DbtFolder
from tests.functional.test_process_faults import wait_for_text
from tests.long_query import IN_LONG_QUERY, LONG_QUERY
from tests.servers.connect_server import connect_server
from tests.servers.process import ServerProcess, free_port

pytestmark = pytest.mark.portable(only_on=["connect"])

ORDERS = "{{ config(materialized='table') }} select id, id % 3 as shop from range(100)"
ENDLESS = "{{ config(materialized='table') }} " + LONG_QUERY
FAULT = "{{ config(materialized='table') }} select raise_error('no luck') as luck"
SECRET = "canary-4711"
HIDDEN = {"spark.hadoop.fs.s3a.secret.key": SECRET}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("connect")
        yield [stack.enter_context(connect_server(folder))]


@pytest.fixture(scope="module")
def shop(servers: list[ServerProcess], tmp_path_factory: pytest.TempPathFactory) -> DbtFolder:
    remote = f"sc://127.0.0.1:{servers[0].port}"
    models = {"orders.sql": ORDERS, "endless.sql": ENDLESS, "fault.sql": FAULT}
    root = tmp_path_factory.mktemp("shop") / "shop"
    return DbtFolder.create(
        root, models, method="connect", remote=remote, server_side_parameters=HIDDEN
    )


def test_a_new_project_is_checked_and_runs(shop: DbtFolder) -> None:
    output = shop.run("debug")
    assert "Spark 4.2" in output
    assert "the server has Delta's extension and catalog [OK]" in output
    assert "100 rows" in shop.run("run", "--select", "orders")


def test_a_secret_of_the_profile_is_in_no_log_error_or_artifact(shop: DbtFolder) -> None:
    for command in (
        ["debug"],
        ["--debug", "run", "--select", "fault orders"],
        ["docs", "generate"],
    ):
        output = shop.run(*command, expect=1 if "run" in command else 0)
        assert SECRET not in output
    assert shop.files_with(SECRET) == []


def test_ctrl_c_ends_the_run_and_frees_the_server(shop: DbtFolder) -> None:
    log = shop.root / "logs" / "dbt.log"
    log.unlink(missing_ok=True)
    process = shop.start("run", "--select", "endless")
    wait_for_text(log, IN_LONG_QUERY, seconds=60)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 20, output
    assert process.returncode != 0
    # Two tasks at once: a query that went on would leave this one waiting far longer.
    began = time.monotonic()
    shop.run("run", "--select", "orders")
    assert time.monotonic() - began < 60


def test_a_server_that_dies_ends_the_run_in_seconds_and_says_so(
    shop: DbtFolder, servers: list[ServerProcess]
) -> None:
    log = shop.root / "logs" / "dbt.log"
    log.unlink(missing_ok=True)
    process = shop.start("run", "--select", "endless")
    wait_for_text(log, IN_LONG_QUERY, seconds=60)
    time.sleep(1)
    servers[0].kill()
    began = time.monotonic()
    output, _ = process.communicate(timeout=120)
    assert time.monotonic() - began < 45, output
    assert process.returncode == 1
    assert f"The Spark Connect server at sc://127.0.0.1:{servers[0].port} was lost" in output
    assert "Nothing was sent twice" in output
    assert "Traceback" not in output


def test_nobody_there_is_told_without_the_token(tmp_path: Path) -> None:
    remote = f"sc://localhost:{free_port()}/;token={SECRET}"
    shop = DbtFolder.create(
        tmp_path / "shop", {"orders.sql": ORDERS}, method="connect", remote=remote
    )
    for command in ("debug", "run"):
        output = shop.run(command, expect=1 if command == "debug" else 2)
        assert "No Spark Connect server answers at sc://localhost:" in output
        assert SECRET not in output
    assert shop.files_with(SECRET) == []
