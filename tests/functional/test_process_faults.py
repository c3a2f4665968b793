"""Ends that nobody planned: killed processes, failing neighbours; and what must not leak."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.functional.dbt_process import DbtFolder

ONE = "{{ config(materialized='table') }} select 1 as id, 'x' as name"
ENDLESS = (
    "{{ config(materialized='table') }} "
    "select count(*) as n from range(0, 10000000, 1, 1) a cross join range(0, 10000000, 1, 1) b "
    "where a.id < b.id"
)
SLOW_FAULT = (
    "{{ config(materialized='table', pre_hook='select count(*) from range(40000000)') }} "
    "select cast(raise_error('no luck') as int) as luck"
)
CANARY = "canary-4711-of-the-secret-store"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> DbtFolder:
    root = tmp_path_factory.mktemp("faults") / "shop"
    models = {"one.sql": ONE, "endless.sql": ENDLESS, "fault.sql": SLOW_FAULT}
    parameters = {"spark.hadoop.fs.s3a.secret.key": CANARY}
    return DbtFolder.create(root, models, server_side_parameters=parameters)


def wait_for_text(log: Path, text: str, *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if log.exists() and text in log.read_text():
            return
        time.sleep(0.1)
    pytest.fail(f"{text!r} did not appear in {log}")


def test_a_killed_process_is_no_obstacle_for_the_next(shop: DbtFolder) -> None:
    process = shop.start("run", "--select", "endless")
    wait_for_text(shop.root / "logs" / "dbt.log", "cross join range", seconds=120)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert "PASS=1" in shop.run("run", "--select", "one")


def test_fail_fast_cancels_what_still_runs(shop: DbtFolder) -> None:
    began = time.monotonic()
    output = shop.run("run", "--fail-fast", "--select", "endless", "fault", expect=1)
    assert "[USER_RAISED_EXCEPTION] no luck" in output
    assert "CANCEL query model.shop.endless" in output
    assert time.monotonic() - began < 120, output


def test_a_secret_of_the_profile_is_shown_nowhere(shop: DbtFolder) -> None:
    process = shop.start("--debug", "--log-level-file", "debug", "run", "--select", "one", "fault")
    listed = ""
    while process.poll() is None and "SparkSubmit" not in listed:
        everything = subprocess.run(
            ["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True
        )
        listed = "\n".join(
            line for line in everything.stdout.splitlines() if str(shop.root) in line
        )
        time.sleep(0.2)
    output, _ = process.communicate(timeout=300)
    assert "SparkSubmit" in listed
    assert CANARY not in listed
    assert CANARY not in output
    assert CANARY not in shop.run("debug")
    for path in shop.root.rglob("*"):
        if path.is_file() and path.name != "profiles.yml" and CANARY.encode() in path.read_bytes():
            pytest.fail(f"the secret is in {path}")
