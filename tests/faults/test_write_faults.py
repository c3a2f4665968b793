"""Killed, out of space, tasks that fail: the table is the old one or the new one, never another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.dbt_process import DbtFolder

MODEL = """
{{ config(materialized='delta_optimized', partition_by='p', optimized_write='exact',
          incremental_strategy='insert_overwrite', location_root=var('root', none)) }}
select id, cast(id % 4 as int) as p, sha2(cast(id as string), 512) as token
from range({{ var('rows', 100) }})
"""


def versions(table: Path) -> list[str]:
    return sorted(path.name for path in (table / "_delta_log").glob("*.json"))


def count(shop: DbtFolder, rows: str) -> int:
    shown = shop.run("show", "--inline", f"select count(*) as n from {rows}", "--output", "json")
    return int(json.loads(shown[shown.index("{") :])["show"][0]["n"])


def test_a_killed_write_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    shop = DbtFolder.create(tmp_path / "shop", {"placed.sql": MODEL})
    shop.run("run")
    table = shop.root / ".delta_maint/warehouse/analytics.db/placed"
    before = versions(table)
    files = len(list(table.rglob("*.parquet")))
    process = shop.start("run", "--vars", "{rows: 4000000}")
    try:
        while process.poll() is None and len(list(table.rglob("*.parquet"))) == files:
            time.sleep(0.05)
        assert process.poll() is None, process.communicate()[0]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    finally:
        process.kill()
    assert versions(table) == before
    assert count(shop, "{{ ref('placed') }}") == 100
    shop.run("run", "--vars", "{rows: 300}")
    assert count(shop, "{{ ref('placed') }}") == 300


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield mount
    # Lazily: the Java process may still be on its way out.
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path, small_disk: Path) -> None:
    shop = DbtFolder.create(tmp_path / "shop", {"placed.sql": MODEL})
    root = f"root: {small_disk}"
    shop.run("run", "--vars", f"{{{root}}}")
    before = versions(small_disk / "placed")
    output = shop.run("run", "--vars", f"{{{root}, rows: 1000000}}", expect=1)
    assert "No space left on device" in output
    assert versions(small_disk / "placed") == before
    assert count(shop, "{{ ref('placed') }}") == 100


RETRIED = """
import os, sys
from pathlib import Path
from pyspark.sql import functions as F
from dbt.adapters.delta_maint.core.write_choice import Mode, WritePolicy
from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import resolve_settings
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
from dbt.adapters.delta_maint.lake.write_target import WriteTarget
from dbt.adapters.delta_maint.lake.writer import Preparation

folder = sys.argv[1]
environment = SessionEnvironment(resolve_settings(
    project_root=Path(folder), warehouse=None, catalog="in_memory", catalog_path=None,
    master="local[2,4]", driver_memory="1g", startup="auto", delta_jars=None, confs={}))
spark = environment.open().spark

def fails_once(place):
    def run(number):
        mark = os.path.join(folder, place)
        if number % 5000 == 4999 and not os.path.exists(mark):
            open(mark, "w").close()
            raise RuntimeError("injected")
        return number
    return F.udf(run, "long")

rows = spark.range(0, 20000, 1, 4).select(
    fails_once("map")("id").alias("id"), F.expr("cast(id % 3 as int) as p"))
prepared = Preparation(
    spark, WritePolicy(Mode.EXACT, target_bytes=64 * 1024), WriteTarget(("p",)),
    CommitMark("write", "test")).rows(rows)
prepared.show_as("placed")
spark.udf.register("fails_once", fails_once("write"))
with prepared.running(spark):
    spark.sql("create table t using delta partitioned by (p) as select fails_once(id) as id, p from placed")
found = spark.sql("select count(*), count(distinct id), min(id), max(id) from t").first()
print("FOUND", *found, sorted(os.listdir(folder)))
environment.close()
"""


def test_tasks_that_fail_and_run_again_write_every_row_once(tmp_path: Path) -> None:
    """One failure while the rows are shuffled, one while they are written."""
    ran = subprocess.run(
        [sys.executable, "-c", RETRIED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "FOUND 20000 20000 0 19999" in ran.stdout, ran.stderr
    assert "'map'" in ran.stdout
    assert "'write'" in ran.stdout
