"""A Spark cluster on this machine: a standalone master and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.spark_daemon import SparkDaemon, free_port

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
# The servers only keep books; executors get their memory from the session.
DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}


@dataclass
class StandaloneCluster:
    folder: Path
    master: SparkDaemon
    url: str
    page: str
    workers: list[SparkDaemon] = field(default_factory=list)
    _started: int = 0

    def add_workers(self, count: int) -> None:
        """Each with one core and 1 GiB; returns when the master knows them."""
        added = []
        for _ in range(count):
            self._started += 1
            name = f"worker{self._started}"
            arguments = ["spark-class", WORKER, "--host", "127.0.0.1", "--webui-port", "0"]
            arguments += ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name)]
            added.append(
                SparkDaemon.start(
                    name, [*arguments, self.url], folder=self.folder, environment=DAEMON
                )
            )
        self.workers += added
        for worker in added:
            worker.wait_until(lambda: self.alive_workers() >= len(self.workers))

    def alive_workers(self) -> int:
        with contextlib.suppress(OSError), urllib.request.urlopen(self.page, timeout=5) as page:
            return int(json.load(page)["aliveworkers"])
        return 0

    def executor_of(self, worker: SparkDaemon) -> int | None:
        """The process of the executor that a worker has started."""
        listed = subprocess.run(
            ["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        for line in listed.stdout.splitlines():
            pid, parent, command = line.split(None, 2)
            if int(parent) == worker.process.pid and "ExecutorBackend" in command:
                return int(pid)
        return None

    def lose(self, worker: SparkDaemon) -> None:
        """kill -9 of a worker and its executor at once."""
        worker.kill()
        self.workers.remove(worker)


@contextlib.contextmanager
def standalone_cluster(folder: Path, *, workers: int = 2) -> Iterator[StandaloneCluster]:
    port, page = free_port(), free_port()
    arguments = ["spark-class", MASTER, "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--webui-port", str(page)]
    master = SparkDaemon.start("master", arguments, folder=folder, environment=DAEMON)
    cluster = StandaloneCluster(
        folder, master, f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}/json/"
    )
    try:
        master.wait_for_port(port)
        master.wait_for_port(page)
        cluster.add_workers(workers)
        yield cluster
    finally:
        for server in [*cluster.workers, master]:
            server.stop()
