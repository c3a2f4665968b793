"""dbt as users start it, against a Spark Thrift server that comes and goes."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.functional.dbt_process import DbtFolder
from tests.functional.test_process_faults import ENDLESS, wait_for_text
from tests.servers.process import free_port
from tests.servers.thrift_server import thrift_server

pytestmark = pytest.mark.portable(only_on=["thrift"])

ORDERS = "{{ config(materialized='table') }} select id, id % 3 as shop from range(100)"
FAULT = "{{ config(materialized='table') }} select raise_error('no luck') as luck"
MODELS = {"orders.sql": ORDERS, "endless.sql": ENDLESS, "fault.sql": FAULT}
SECRET = "canary-4711"
HIDDEN = {"spark.hadoop.fs.s3a.secret.key": SECRET}


def profile(port: int) -> dict[str, Any]:
    return {"method": "thrift", "host": "127.0.0.1", "port": port, "schema": "shop_process"}


@pytest.fixture(scope="module")
def shop(session_target: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> DbtFolder:
    root = tmp_path_factory.mktemp("shop") / "shop"
    keys = profile(session_target["port"])
    return DbtFolder.create(root, MODELS, **keys, server_side_parameters=HIDDEN)


def start_endless(shop: DbtFolder) -> Any:
    log = shop.root / "logs" / "dbt.log"
    log.unlink(missing_ok=True)
    process = shop.start("run", "--select", "endless")
    wait_for_text(log, "cross join range", seconds=60)
    time.sleep(1)
    return process


def test_a_new_project_is_checked_and_runs(shop: DbtFolder) -> None:
    output = shop.run("debug")
    assert "server: Spark 4.2" in output
    assert "the server has Delta's extension and catalog [OK]" in output
    assert "100 rows" in shop.run("run", "--select", "orders")


def test_a_secret_of_the_profile_is_in_no_log_error_or_artifact(
    shop: DbtFolder, warehouse: Path
) -> None:
    for command in (
        ["debug"],
        ["--debug", "run", "--select", "fault orders"],
        ["docs", "generate"],
    ):
        output = shop.run(*command, expect=1 if "run" in command else 0)
        assert SECRET not in output
    assert shop.files_with(SECRET) == []
    assert SECRET not in (warehouse / "thrift.log").read_text()


def test_ctrl_c_ends_the_run_and_frees_the_server(shop: DbtFolder) -> None:
    process = start_endless(shop)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0, output
    # Two cores: an endless query that went on would leave this one waiting far longer.
    began = time.monotonic()
    shop.run("run", "--select", "orders")
    assert time.monotonic() - began < 60


def test_nobody_there_is_told_without_the_password(tmp_path: Path) -> None:
    keys = {**profile(free_port()), "auth": "LDAP", "user": "ada", "password": SECRET}
    shop = DbtFolder.create(tmp_path / "shop", {"orders.sql": ORDERS}, **keys)
    for command in ("debug", "run"):
        output = shop.run(command, expect=1 if command == "debug" else 2)
        assert "No Spark Thrift server answers at thrift://127.0.0.1:" in output
        assert SECRET not in output
    assert shop.files_with(SECRET) == []


@pytest.mark.portable(in_all=True, only_on=["thrift"])
def test_a_server_that_dies_ends_the_run_and_says_so(tmp_path: Path) -> None:
    with thrift_server(tmp_path / "server") as server:
        shop = DbtFolder.create(tmp_path / "shop", MODELS, **profile(server.port))
        process = start_endless(shop)
        server.kill()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"The Spark Thrift server at thrift://127.0.0.1:{server.port} was lost" in output
    assert "Nothing was sent twice" in output
    assert "Traceback" not in output
