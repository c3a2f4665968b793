"""How long a whole `dbt run` of one Delta model takes: ours against plain dbt-spark.

Both sides run as separate processes, as users start them, interleaved round by round; both keep their
catalog on disk. Plain dbt-spark gets Delta the documented way, `spark.jars.packages`, from a warm Ivy
cache. Ours runs with its class archive already made (the run that makes it is shown apart).

    python benchmarks/bench_startup.py [rounds]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

DBT = Path(sys.executable).parent / "dbt"
MODEL = "{{ config(materialized='table', file_format='delta') }} select 1 as id, 'x' as name"
PROJECT = """name: bench
profile: bench
version: '1.0'
config-version: 2
flags: {send_anonymous_usage_stats: false}
"""


def plain_profile() -> str:
    binary = ".".join(metadata.version("pyspark").split(".")[:2])
    package = f"io.delta:delta-spark_{binary}_2.13:{metadata.version('delta-spark')}"
    return f"""bench:
  target: dev
  outputs:
    dev:
      type: spark
      method: session
      host: localhost
      schema: analytics
      threads: 1
      server_side_parameters:
        spark.jars.packages: {package}
        spark.sql.extensions: io.delta.sql.DeltaSparkSessionExtension
        spark.sql.catalog.spark_catalog: org.apache.spark.sql.delta.catalog.DeltaCatalog
"""


OUR_PROFILE = """bench:
  target: dev
  outputs:
    dev: {type: delta_maint, schema: analytics, threads: 1}
"""


def make_project(root: Path, profile: str) -> Path:
    (root / "models").mkdir(parents=True)
    (root / "models" / "one.sql").write_text(MODEL)
    (root / "dbt_project.yml").write_text(PROJECT)
    (root / "profiles.yml").write_text(profile)
    return root


def dbt_run(root: Path) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [str(DBT), "run"], cwd=root, capture_output=True, text=True, check=False, env=os.environ
    )
    took = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return took


def main(rounds: int) -> None:
    work = Path(tempfile.mkdtemp(prefix="bench-startup-"))
    os.environ["DELTA_MAINT_CACHE"] = str(work / "cache")
    profiles = {"plain": plain_profile(), "ours": OUR_PROFILE}
    times: dict[tuple[str, str], list[float]] = {}
    try:
        dbt_run(make_project(work / "warm_plain", profiles["plain"]))
        making = dbt_run(make_project(work / "warm_ours", profiles["ours"]))
        print(f"ours, the very first run (fetches jars, makes the archive at exit): {making:.1f} s")
        archives = work / "cache" / "class_archives"
        deadline = time.monotonic() + 60
        while not list(archives.glob("*.jsa")):
            if time.monotonic() > deadline:
                sys.exit("the first run has made no archive")
            time.sleep(0.5)
        time.sleep(5)
        for number in range(rounds):
            for side, profile in profiles.items():
                root = make_project(work / f"{side}_{number}", profile)
                for what in ("new project", "second run"):
                    times.setdefault((side, what), []).append(dbt_run(root))
                    # The JVM of the run before must not share the cores with the next.
                    time.sleep(3)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for what in ("new project", "second run"):
        plain, ours = (statistics.median(times[(side, what)]) for side in ("plain", "ours"))
        print(
            f"{what}: plain dbt-spark {plain:.1f} s, ours {ours:.1f} s, "
            f"ratio {ours / plain:.2f} (median of {rounds})"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
