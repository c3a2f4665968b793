"""A worker of a cluster that dies in the middle: the run ends right, with every row once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.functional.dbt_process import DbtFolder
from tests.functional.test_cluster import profile
from tests.servers.event_log import events, executors_of_jobs, lost_tasks
from tests.servers.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.servers.worker_python import worker_python

# Every row takes its time on an executor, so that there is a middle.
SLOW = """
{{ config(materialized='delta_optimized', partition_by='kind', optimized_write='exact',
          target_file_size='64 KiB', auto_compact=false) }}
select id, id % 4 as kind,
       reflect('java.lang.Thread', 'sleep', cast(20 + id % 2 as bigint)) as slept
from range(0, 800, 1, 8)
"""
CRUMBS = """
{{ config(materialized='table', partition_by='kind', auto_compact={'policy': 'eager', 'rewrite': 'delta'}) }}
select id, id % 16 as kind, repeat(sha2(cast(id as string), 256), 20) as text
from range(0, 64000, 1, 12)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worker_python(tmp_path_factory.mktemp("python") / "workers")


def tasks_of_jobs_with(folder: Path, text: str) -> int:
    """How many tasks of such jobs have ended by now."""
    stages = {
        stage
        for event in events(folder, "JobStart")
        if text in str(event["Stage Infos"]) or text in str(event["Properties"])
        for stage in event["Stage IDs"]
    }
    return sum(event["Stage ID"] in stages for event in events(folder, "TaskEnd"))


@pytest.mark.parametrize(
    ("model", "middle", "rows"), [("slow", "repartitionById", 800), ("crumbs", "OPTIMIZE", 64_000)]
)
def test_a_worker_that_dies_in_the_middle_costs_time_and_no_row(
    cluster: StandaloneCluster, python: Path, tmp_path: Path, model: str, middle: str, rows: int
) -> None:
    root = tmp_path / "shop"
    models = {"slow.sql": SLOW, "crumbs.sql": CRUMBS}
    folder = DbtFolder.create(root, models, threads=1, **profile(root, cluster.url, python))
    process = folder.start("run", "--select", model)
    end = time.monotonic() + 180
    while tasks_of_jobs_with(root / "events", middle) < 2:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the middle never came"
        time.sleep(0.1)
    cluster.lose(cluster.workers[0])
    cluster.add_workers(1)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "PASS=1" in output
    table = DeltaTable(str(root / "lake" / "analytics.db" / model))
    found = table.to_pyarrow_table(columns=["id"]).column("id").to_pylist()
    assert sorted(found) == list(range(rows))
    if model == "crumbs":
        assert "compacted 192 -> 16 files" in output
    assert any("Lost" in reason or "Fetch" in reason for reason in lost_tasks(root / "events"))
    assert executors_of_jobs(root / "events", middle)
