"""What it costs to know which relations a schema holds: ours against dbt-spark's, on 200 tables.

Both adapters send their own statements to one Spark session, interleaved.

    python benchmarks/bench_listing.py [tables] [rounds]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import resolve_settings

SIDES = {
    "plain dbt-spark": ["show table extended in bench like '*'"],
    "ours": ["show tables in bench", "show views in bench", "show user functions in bench"],
}


def main(tables: int, rounds: int) -> None:
    root = Path(tempfile.mkdtemp(prefix="bench-listing-"))
    environment = SessionEnvironment(
        resolve_settings(
            project_root=root,
            warehouse=None,
            catalog="embedded",
            catalog_path=None,
            master="local[*]",
            driver_memory="2g",
            startup="auto",
            delta_jars=None,
            confs={},
        )
    )
    try:
        spark = environment.open().spark
        spark.sql("create schema bench")
        for number in range(tables):
            spark.sql(f"create table bench.t{number} (id int, name string) using delta")
        times: dict[str, list[float]] = {side: [] for side in SIDES}
        for _ in range(rounds + 1):
            for side, statements in SIDES.items():
                began = time.perf_counter()
                for statement in statements:
                    spark.sql(statement).collect()
                times[side].append(time.perf_counter() - began)
    finally:
        environment.close()
        shutil.rmtree(root, ignore_errors=True)
    # The first round warms both sides up.
    medians = {side: statistics.median(found[1:]) for side, found in times.items()}
    for side, seconds in medians.items():
        print(f"{side}: {tables} tables listed in {seconds * 1000:.0f} ms")
    print(f"ratio ours / plain: {medians['ours'] / medians['plain dbt-spark']:.2f}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200,
        int(sys.argv[2]) if len(sys.argv) > 2 else 5,
    )
