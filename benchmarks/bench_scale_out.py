"""One worker against two, one core each: what a second one is worth, and where the rest of the time goes.

A standalone cluster of pyspark's own jars runs on this machine, once with one worker and once with two, each
time with a driver of its own. Three pieces of work: an optimized write, a compaction by OPTIMIZE and by Arrow,
a conversion of more files than the driver reads by itself. Printed are wall seconds, the part of them in
which executors ran tasks (of all cores together), and the rest: planning, listings, commits, waiting. With
two cores in the machine the driver shares them with both workers: a report, not a bar.

    python benchmarks/bench_scale_out.py [--rows 2000000] [--files 400] [--converted 6100] [--rounds 2]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

TARGET_BYTES = 8 * 1024**2
WORKS = ("write", "optimize", "arrow", "convert")


def timed(spark: Any, work: Callable[[], None], events: Path) -> tuple[float, float]:
    """Wall seconds, and seconds in which tasks ran, of all executors together."""
    before = task_seconds(events)
    started = time.monotonic()
    work()
    seconds = time.monotonic() - started
    # A job's end flushes the log of events.
    spark.range(1).count()
    return seconds, task_seconds(events) - before


def task_seconds(events: Path) -> float:
    total = 0
    for path in events.iterdir():
        for line in path.read_text().splitlines():
            if '"Event":"SparkListenerTaskEnd"' in line and line.endswith("}"):
                total += json.loads(line)["Task Metrics"]["Executor Run Time"]
    return total / 1000


def works(spark: Any, root: Path, arguments: argparse.Namespace) -> dict[str, Callable[[], None]]:
    from dbt.adapters.delta_maint.core.conversion import ConvertRequest
    from dbt.adapters.delta_maint.lake.converter import Converter
    from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

    from benchmarks import bench_compaction_engine as compaction
    from benchmarks import bench_convert as conversion
    from benchmarks.bench_optimized_write import SCHEMA, Bench

    spark.sql(f"create schema if not exists {SCHEMA}")
    bench = Bench(spark, TARGET_BYTES, 1)
    query = (
        "select id, cast(40 * pow(rand(7), 3) as int) as p, rand(1) as amount, "
        f"sha2(cast(id as string), 256) as text from range(0, {arguments.rows}, 1, 16)"
    )
    spark.sql(f"create or replace table {SCHEMA}.source using delta as {query}")
    source = root / "crumbs"
    compaction.build(spark, source, "flat", arguments.files)
    engines = compaction.engines(spark)
    landing = root / "landing"
    conversion.write_files(
        landing, replace(conversion.DATASETS["tiny"], files=arguments.converted, rows=135)
    )
    converter = Converter(spark, JvmDelta(spark), tool_version="bench")

    def compact(name: str) -> None:
        copy = root / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy, copy_function=os.link)
        engines[name](copy)

    def convert() -> None:
        shutil.rmtree(landing / "_delta_log", ignore_errors=True)
        plan = converter.convert(ConvertRequest(path=str(landing)))
        assert plan.files == arguments.converted

    return {
        "write": lambda: bench.ours(
            "placed", f"select * from {SCHEMA}.source", "partitioned by (p)", ("p",)
        ),
        "optimize": lambda: compact("optimize"),
        "arrow": lambda: compact("arrow"),
        "convert": convert,
    }


def measure(arguments: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    from dbt.adapters.delta_maint.connections import end_session_environment, session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    from tests.servers.event_log import event_log_confs
    from tests.servers.standalone_cluster import standalone_cluster

    root = Path(tempfile.mkdtemp(prefix="bench-scale-out-"))
    try:
        with standalone_cluster(root / "cluster", workers=arguments.workers) as cluster:
            credentials = DeltaMaintCredentials(
                schema="bench",
                master=cluster.url,
                warehouse=str(root / "lake"),
                catalog="in_memory",
                driver_memory="1g",
                server_side_parameters={
                    "spark.pyspark.python": sys.executable,
                    "spark.driver.host": "127.0.0.1",
                    "spark.sql.shuffle.partitions": "4",
                    "spark.databricks.delta.snapshotPartitions": "2",
                    **event_log_confs(root / "events"),
                },
            )
            spark = session_environment(credentials.session_settings(root)).open().spark
            found: dict[str, list[tuple[float, float]]] = {}
            for name, work in works(spark, root, arguments).items():
                work()
                found[name] = [timed(spark, work, root / "events") for _ in range(arguments.rounds)]
            end_session_environment()
            return found
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--converted", type=int, default=6_100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--workers", type=int, default=0, help="measure with so many, and print JSON"
    )
    arguments = parser.parse_args()
    if arguments.workers:
        print(json.dumps(measure(arguments)))
        return
    found = {}
    for workers in (1, 2):
        command = [sys.executable, __file__, *sys.argv[1:], "--workers", str(workers)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[workers] = json.loads(done.stdout.splitlines()[-1])
    for name in WORKS:
        wall, tasks = (
            {n: statistics.median(pair[part] for pair in found[n][name]) for n in found}
            for part in (0, 1)
        )
        rest = {n: wall[n] - tasks[n] / n for n in found}
        print(
            f"{name}: 1 worker {wall[1]:.2f} s, 2 workers {wall[2]:.2f} s, speed-up "
            f"{wall[1] / wall[2]:.2f}; tasks {tasks[1]:.2f} s and {tasks[2]:.2f} s, without a task "
            f"about {rest[1]:.2f} s and {rest[2]:.2f} s"
        )


if __name__ == "__main__":
    main()
