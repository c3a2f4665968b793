"""dbt on a Spark cluster: a master and two workers whose Python knows neither dbt nor this package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.functional.dbt_process import DbtFolder
from tests.servers.event_log import event_log_confs, executors_of_jobs, lost_tasks
from tests.servers.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.servers.worker_python import can_import, worker_python

ORDERS = """
{{ config(materialized='incremental', unique_key='id') }}
select id, id % 3 as kind, cast(id as decimal(20, 2)) as amount from range(0, 20000, 1, 4)
"""
SEEN = """
import os
import sys
import time


def model(dbt, spark):
    dbt.config(materialized="table")

    def look(batches):
        import importlib.util

        time.sleep(1)
        has = [bool(importlib.util.find_spec(name)) for name in ("pyarrow", "dbt")]
        for batch in batches:
            yield (os.getppid(), sys.executable, *has, batch)

    parts = dbt.ref("orders").repartition(4).select("id").rdd.mapPartitions(
        lambda rows: look([sum(1 for _ in rows)]))
    return spark.createDataFrame(
        parts, "daemon bigint, python string, has_pyarrow boolean, has_dbt boolean, n bigint")
"""
PLACED = """
{{ config(materialized='delta_optimized', partition_by='kind', optimized_write='exact',
          target_file_size='64 KiB', auto_compact=false) }}
select id, id % 3 as kind, sha2(cast(id as string), 256) as text from range(0, 20000, 1, 4)
"""
CRUMBS = """
{{ config(materialized='table', partition_by='kind', auto_compact={'policy': 'eager', 'rewrite': '%s'}) }}
select id, id %% 4 as kind, cast(id as string) as text from range(0, 4000, 1, 12)
"""
# A conversion at the end of a run saves the start of another one.
PROJECT = """
name: shop
profile: shop
version: '1.0'
config-version: 2
flags: {send_anonymous_usage_stats: false, use_colors: false}
on-run-end:
  - "{% if var('landing', none) %}{% do convert_to_delta(path=var('landing')) %}{% endif %}"
"""
MANY_FILES = 6_100


@dataclass
class Shop:
    folder: DbtFolder
    output: str

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self.folder.root / "lake" / "analytics.db" / name))

    def rows(self, name: str, columns: list[str]) -> list[tuple[Any, ...]]:
        found = self.table(name).to_pyarrow_table(columns=columns)
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def jobs(self, text: str) -> list[set[str]]:
        return executors_of_jobs(self.folder.root / "events", text)


def landing(folder: Path) -> Path:
    """Enough files for their footers to be read on executors; all but one are further names of it."""
    folder.mkdir()
    first = folder / "part-0.parquet"
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", "b"]}), first)
    for number in range(1, MANY_FILES):
        os.link(first, folder / f"part-{number}.parquet")
    return folder


def profile(root: Path, master: str, python: Path) -> dict[str, Any]:
    return {
        "master": master,
        "warehouse": str(root / "lake"),
        "catalog": "in_memory",
        "driver_memory": "1g",
        "server_side_parameters": {
            "spark.pyspark.python": str(python),
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": 4,
            "spark.databricks.delta.snapshotPartitions": 2,
            **event_log_confs(root / "events"),
        },
    }


def create(root: Path, models: dict[str, str], master: str, python: Path) -> DbtFolder:
    folder = DbtFolder.create(root, models, threads=1, **profile(root, master, python))
    (root / "dbt_project.yml").write_text(PROJECT)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


class TestWholeProject:
    @pytest.fixture(scope="class")
    def python(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return worker_python(tmp_path_factory.mktemp("python") / "workers")

    @pytest.fixture(scope="class")
    def shop(
        self, cluster: StandaloneCluster, python: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> Shop:
        root = tmp_path_factory.mktemp("project") / "shop"
        models = {
            "orders.sql": ORDERS,
            "seen.py": SEEN,
            "placed.sql": PLACED,
            "by_delta.sql": CRUMBS % "delta",
            "by_arrow.sql": CRUMBS % "arrow",
        }
        folder = create(root, models, cluster.url, python)
        (root / "seeds").mkdir()
        (root / "seeds" / "kinds.csv").write_text("kind,name\n0,none\n1,one\n2,\n")
        parquet = landing(root / "landing")
        return Shop(folder, folder.run("build", "--vars", json.dumps({"landing": str(parquet)})))

    def test_the_workers_have_pyarrow_but_neither_dbt_nor_this_package(self, python: Path) -> None:
        assert can_import(python, "pyarrow")
        assert not can_import(python, "dbt")
        assert not can_import(python, "dbt.adapters.delta_maint")

    def test_every_model_and_seed_is_built(self, shop: Shop) -> None:
        assert "PASS=7 WARN=0 ERROR=0" in shop.output
        assert len(shop.rows("orders", ["id", "amount"])) == 20_000
        assert len(shop.rows("kinds", ["kind", "name"])) == 3

    def test_a_python_model_runs_on_both_workers_in_their_own_python(
        self, shop: Shop, python: Path
    ) -> None:
        seen = shop.rows("seen", ["daemon", "python", "has_pyarrow", "has_dbt", "n"])
        assert len({row[0] for row in seen}) == 2
        assert {row[1:4] for row in seen} == {(str(python), True, False)}
        assert sum(row[4] for row in seen) == 20_000

    def test_an_optimized_write_is_exact_and_runs_on_both_workers(self, shop: Shop) -> None:
        files = shop.table("placed").get_add_actions(flatten=True)
        assert sum(pa.table(files)["num_records"].to_pylist()) == 20_000
        assert "exact" in shop.output
        assert any(len(executors) == 2 for executors in shop.jobs("shop.placed"))

    @pytest.mark.parametrize("name", ["by_delta", "by_arrow"])
    def test_compaction_merges_and_keeps_every_row(self, shop: Shop, name: str) -> None:
        assert len(shop.table(name).file_uris()) == 4
        expected = [(number, number % 4, str(number)) for number in range(4_000)]
        assert shop.rows(name, ["id", "kind", "text"]) == expected

    def test_arrow_is_shipped_to_both_workers(self, shop: Shop) -> None:
        assert "48 -> 4 files" in shop.output
        assert "rewritten by Arrow" in shop.output
        rewrites = shop.jobs("arrow_job.py")
        assert {"0", "1"} in rewrites

    def test_footers_are_read_on_both_workers(self, shop: Shop) -> None:
        assert f"converted: {MANY_FILES:,} files" in shop.output
        found = DeltaTable(str(shop.folder.root / "landing"))
        assert len(found.file_uris()) == MANY_FILES
        assert {"0", "1"} in shop.jobs("footers.py")

    def test_nothing_had_to_be_run_twice(self, shop: Shop) -> None:
        assert lost_tasks(shop.folder.root / "events") == []


def test_without_pyarrow_on_the_workers_the_same_work_is_done_and_said(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    root = tmp_path / "shop"
    folder = create(
        root,
        {"crumbs.sql": CRUMBS % "auto"},
        cluster.url,
        worker_python(tmp_path / "bare", has_pyarrow=False),
    )
    parquet = landing(root / "landing")
    output = folder.run("run", "--vars", json.dumps({"landing": str(parquet)}))
    assert "rewritten by OPTIMIZE: the Python of Spark's workers has no pyarrow" in output
    assert "48 -> 4 files" in output
    assert f"converted: {MANY_FILES:,} files" in output
    assert (
        "the footers were read by dbt's own process: the Python of Spark's workers has no pyarrow"
        in output
    )
