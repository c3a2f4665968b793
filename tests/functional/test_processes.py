"""dbt as its users start it: a process per command, in a folder whose path has a space."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from dbt.adapters.delta_maint.environments.jars import DeltaVersions, find_delta_jars

from tests.functional.dbt_process import DbtFolder

ONE = "{{ config(materialized='table') }} select 1 as id, 'x' as name"
TWO = "{{ config(materialized='table') }} select count(*) as n from {{ ref('one') }}"
ENDLESS = (
    "{{ config(materialized='table') }} "
    "select count(*) as n from range(10000000) a cross join range(10000000) b where a.id < b.id"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> DbtFolder:
    root = tmp_path_factory.mktemp("a folder") / "with space"
    return DbtFolder.create(root, {"one.sql": ONE, "two.sql": TWO, "endless.sql": ENDLESS})


@pytest.fixture(scope="module")
def first_run(shop: DbtFolder) -> str:
    return shop.run("run", "--select", "one")


def test_a_minimal_profile_builds_a_delta_table(shop: DbtFolder, first_run: str) -> None:
    assert "PASS=1" in first_run
    assert (shop.root / ".delta_maint/warehouse/analytics.db/one/_delta_log").is_dir()


def test_the_numbers_of_a_commit_are_read_from_a_path_with_a_space(
    shop: DbtFolder, first_run: str
) -> None:
    results = json.loads((shop.root / "target" / "run_results.json").read_text())["results"]
    assert results[0]["adapter_response"]["files_added"] == 1
    assert results[0]["adapter_response"]["rows_affected"] == 1


def test_the_console_is_dbts_alone(first_run: str) -> None:
    for line in first_run.splitlines():
        assert line[:8].count(":") == 2 or not line.strip(), line


def test_nothing_is_dropped_beside_the_project(shop: DbtFolder, first_run: str) -> None:
    expected = {".delta_maint", "dbt_project.yml", "profiles.yml", "models", "logs", "target"}
    assert {path.name for path in shop.root.iterdir()} - {".user.yml"} == expected
    assert (shop.root / ".delta_maint" / ".gitignore").read_text() == "*\n"
    assert not list((shop.root / ".delta_maint" / "tmp").iterdir())


def test_a_second_process_sees_the_tables_of_the_first(shop: DbtFolder, first_run: str) -> None:
    assert "PASS=1" in shop.run("run", "--select", "two")
    shown = shop.run("show", "--inline", "select * from {{ ref('two') }}", "--output", "json")
    assert json.loads(shown[shown.index("{") :])["show"] == [{"n": 1}]


def test_a_run_of_one_model_leaves_a_class_archive_for_the_next(
    shop: DbtFolder, first_run: str, tmp_path: Path
) -> None:
    jars = find_delta_jars(DeltaVersions.installed())
    assert jars is not None
    shop.write_profile(delta_jars=[str(jar) for jar in jars])
    try:
        shop.run("run", "--select", "one", DELTA_MAINT_CACHE=str(tmp_path))
    finally:
        shop.write_profile()
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("class_archives/*.jsa")):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_debug_gives_a_verdict_on_every_part(shop: DbtFolder) -> None:
    output = shop.run("debug")
    for subject in ("java", "spark", "delta", "jars", "warehouse", "catalog", "method", "log file"):
        line = next(
            line for line in output.splitlines() if f"  {subject}: " in line and "[" in line
        )
        assert line.endswith("[OK]"), line
    assert "All checks passed!" in output


def test_a_second_process_on_the_same_catalog_is_told_so_in_seconds(
    shop: DbtFolder, first_run: str
) -> None:
    holder = shop.start("run", "--select", "endless")
    owner = shop.root / ".delta_maint/warehouse/_catalog/in_use.json"
    try:
        deadline = time.monotonic() + 60
        while not owner.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        began = time.monotonic()
        output = shop.run("run", "--select", "one", expect=2)
        assert time.monotonic() - began < 25
        assert f"Another dbt process (process {holder.pid}, since" in output
        assert "catalog: thrift://host:9083" in output
        assert "\tat " not in output
    finally:
        holder.send_signal(signal.SIGINT)
        holder.communicate(timeout=60)
    assert "PASS=1" in shop.run("run", "--select", "one")


def test_ctrl_c_cancels_the_query_and_ends_within_seconds(shop: DbtFolder, first_run: str) -> None:
    process = shop.start("run", "--select", "endless")
    log = shop.root / "logs" / "dbt.log"
    size = log.stat().st_size if log.exists() else 0
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with log.open() as text:
            text.seek(size)
            if "cross join range" in text.read():
                break
        time.sleep(0.1)
    time.sleep(2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 5, output
    assert process.returncode != 0
    assert "CANCEL" in output
    table = shop.root / ".delta_maint/warehouse/analytics.db/endless"
    assert not list(table.glob("_delta_log/*.json"))
    model = shop.root / "models" / "endless.sql"
    model.write_text(ONE)
    try:
        assert "PASS=1" in shop.run("run", "--select", "endless")
    finally:
        model.write_text(ENDLESS)


@pytest.mark.parametrize("path", ["dry", "JAVA_HOME"])
def test_without_java_one_sentence_says_how_to_get_it(shop: DbtFolder, path: str) -> None:
    environment = {"JAVA_HOME": "/nowhere"} if path == "JAVA_HOME" else {"PATH": "/nowhere"}
    if path == "dry":
        environment["JAVA_HOME"] = ""
    output = shop.run("run", "--select", "one", expect=2, **environment)
    assert "install Java 17 or newer" in output
    assert "Traceback" not in output


def test_jars_that_do_not_fit_are_named(shop: DbtFolder, tmp_path: Path) -> None:
    for name in ("delta-spark_4.0_2.13-4.0.0.jar", "delta-storage-4.0.0.jar"):
        (tmp_path / name).write_bytes(b"old")
    shop.write_profile(delta_jars=str(tmp_path))
    try:
        output = shop.run("run", "--select", "one", expect=2)
    finally:
        shop.write_profile()
    assert "delta-spark_4.0_2.13-4.0.0.jar is Delta 4.0.0" in output


def test_an_unreachable_master_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = DbtFolder.create(
        tmp_path / "shop",
        {"one.sql": ONE},
        master=f"spark://127.0.0.1:{port}",
        catalog="in_memory",
        server_side_parameters={
            "spark.deploy.client.connectionTimeout": "2s",
            "spark.deploy.client.maxRetries": "1",
        },
    )
    output = folder.run("run", expect=2)
    assert f"master spark://127.0.0.1:{port}" in output
    assert "\tat " not in output


def test_a_warehouse_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    # Root can write everywhere, but not there.
    place = Path("/proc") if os.geteuid() == 0 else locked
    folder = DbtFolder.create(tmp_path / "shop", {"one.sql": ONE}, warehouse=str(place / "lake"))
    output = folder.run("run", expect=2)
    assert f"The folder {place / 'lake'} cannot be written (" in output
    assert "Traceback" not in output


def test_a_warehouse_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("not a folder")
    folder = DbtFolder.create(tmp_path / "shop", {"one.sql": ONE}, warehouse=str(tmp_path / "lake"))
    output = folder.run("run", expect=2)
    assert "cannot be written" in output
    assert "Traceback" not in output


def test_a_bad_profile_is_one_sentence(tmp_path: Path) -> None:
    folder = DbtFolder.create(tmp_path / "shop", {"one.sql": ONE}, warehous="lake")
    output = folder.run("run", expect=2)
    assert "unknown key `warehous`: did you mean `warehouse`?" in output


def test_the_java_process_ends_with_dbt(shop: DbtFolder, first_run: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = subprocess.run(
            ["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True
        )
        alive = [line for line in listed.stdout.splitlines() if str(shop.root) in line]
        if not alive:
            return
        time.sleep(0.5)
    pytest.fail(f"still running: {alive[0][:200]}")
