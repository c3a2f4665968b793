"""A worker of a cluster that dies in the middle: the run ends right, with every row once."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.functional.dbt_process import DbtFolder
from tests.functional.test_cluster import profile
from tests.servers.event_log import events, lost_tasks
from tests.servers.spark_daemon import SparkDaemon
from tests.servers.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.servers.worker_python import worker_python

pytestmark = pytest.mark.portable(only_on=["session"], in_all=True)

# Every row takes its time on an executor, so that there is a middle.
SLOW = """
{{ config(materialized='delta_optimized', partition_by='kind', optimized_write='exact',
          target_file_size='64 KiB', auto_compact=false) }}
select id, id % 4 as kind,
       reflect('java.lang.Thread', 'sleep', cast(20 + id % 2 as bigint)) as slept
from range(0, 800, 1, 8)
"""
CRUMBS = """
{{ config(materialized='table', partition_by='kind', auto_compact={'policy': 'eager', 'rewrite': 'arrow'}) }}
select id, id % 16 as kind, repeat(sha2(cast(id as string), 256), 20) as text
from range(0, 64000, 1, 12)
"""
_TASK = re.compile(r"(Running|Finished) task \S+ in stage (\d+)\.\d+ \(TID (\d+)\)")
LONG_SECONDS = 1.0

# (stage, task) that a worker's executor has begun and not ended.
Running = set[tuple[int, int]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worker_python(tmp_path_factory.mktemp("python") / "workers")


def running_on(cluster: StandaloneCluster, worker: SparkDaemon) -> Running:
    found: Running = set()
    for log in (cluster.folder / worker.name).glob("app-*/*/stderr"):
        for kind, stage, task in _TASK.findall(log.read_text(errors="replace")):
            one = (int(stage), int(task))
            found = found | {one} if kind == "Running" else found - {one}
    return found


def stages_of(folder: Path, text: str) -> set[int]:
    with contextlib.suppress(ValueError, OSError):  # the log is being written
        return {
            stage
            for event in events(folder, "JobStart")
            if text in str(event["Stage Infos"])
            for stage in event["Stage IDs"]
        }
    return set()


def worker_at_a_long_task(cluster: StandaloneCluster, root: Path) -> SparkDaemon | None:
    before = {worker.name: running_on(cluster, worker) for worker in cluster.workers}
    time.sleep(LONG_SECONDS)
    still = (w for w in cluster.workers if running_on(cluster, w) & before[w.name])
    return next(still, None)


def worker_that_rewrites(cluster: StandaloneCluster, root: Path) -> SparkDaemon | None:
    stages = stages_of(root / "events", "arrow_job.py")
    busy = (w for w in cluster.workers if stages & {stage for stage, _ in running_on(cluster, w)})
    return next(busy, None)


@pytest.mark.parametrize(
    ("model", "in_the_middle", "rows", "files"),
    [("slow", worker_at_a_long_task, 800, 4), ("crumbs", worker_that_rewrites, 64_000, 16)],
)
def test_a_worker_that_dies_in_the_middle_costs_time_and_no_row(
    cluster: StandaloneCluster,
    python: Path,
    tmp_path: Path,
    model: str,
    in_the_middle: Callable[[StandaloneCluster, Path], SparkDaemon | None],
    rows: int,
    files: int,
) -> None:
    root = tmp_path / "shop"
    models = {"slow.sql": SLOW, "crumbs.sql": CRUMBS}
    folder = DbtFolder.create(root, models, threads=1, **profile(root, cluster.url, python))
    process = folder.start("run", "--select", model)
    end = time.monotonic() + 180
    while (victim := in_the_middle(cluster, root)) is None:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the middle never came"
        time.sleep(0.02)
    cluster.lose(victim)
    cluster.add_workers(1)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "PASS=1" in output
    table = DeltaTable(str(root / "lake" / "analytics.db" / model))
    found = table.to_pyarrow_table(columns=["id"]).column("id").to_pylist()
    assert sorted(found) == list(range(rows))
    assert len(table.file_uris()) == files, output
    assert any("Lost" in reason for reason in lost_tasks(root / "events"))
