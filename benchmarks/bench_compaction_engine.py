"""Compaction by Arrow against OPTIMIZE and deltalake: the whole operation, from plan to commit.

    python benchmarks/bench_compaction_engine.py [--tables flat,partitioned] [--rounds 3] [--files 1000]

One process; every round runs every engine once on a fresh copy (hard links) of the same files, in turn.
The first round is warm-up and is not counted. Ratios are medians: arrow to OPTIMIZE at the same target
(aim: at most 0.35) and to deltalake (aim: at most 1.6). Peak memory is that of one Python worker.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

TARGET_BYTES = 128 * 1024**2
TABLES = {
    # name: (rows per file, files as a share of --files, columns, partitions)
    "flat": (3000, 1.0, "narrow", 1),
    "partitioned": (1000, 1.0, "narrow", 100),
    "wide_strings": (400, 0.2, "strings", 1),
    "200_columns": (1500, 0.2, "many", 1),
}
COLUMNS = {
    "narrow": "id, cast(id % 1000 as int) as k, timestamp'2026-01-01 00:00:00' + make_interval(0,0,0,0,0,0,id) as at, "
    "rand() as amount, cast(rand() * 1000 as decimal(10,2)) as price, concat('code-', id % 50) as code, "
    "sha2(cast(rand() as string), 256) as token",
    "strings": "id, " + ", ".join(
        f"repeat(sha2(cast(rand() as string), 512), 8) as s{n}" for n in range(4)
    ),
    "many": "id, " + ", ".join(
        f"{'rand()' if n % 4 else 'cast(rand() * 100 as int)'} as c{n}" for n in range(200)
    ),
}  # fmt: skip


def build(spark: Any, path: Path, name: str, files: int) -> None:
    rows, share, columns, partitions = TABLES[name]
    count = max(partitions, int(files * share))
    spark.conf.set("spark.databricks.delta.autoCompact.enabled", "false")
    spark.conf.set("spark.databricks.delta.optimizeWrite.enabled", "false")
    layout = "partitioned by (p)" if partitions > 1 else ""
    spark.sql(f"create table delta.`{path}` using delta {layout} as {select(columns, 0, 0, 1, 0)}")
    per_partition = count // partitions
    frames = spark.range(0, count * rows, 1, count)
    frames.createOrReplaceTempView("numbers")
    number = f"cast((id div {rows}) div {per_partition} as int)"
    spark.sql(f"insert into delta.`{path}` select {COLUMNS[columns]}, {number} as p from numbers")


def select(columns: str, start: int, end: int, files: int, p: int) -> str:
    return (
        f"select {COLUMNS[columns]}, cast({p} as int) as p from range({start}, {end}, 1, {files})"
    )


def engines(spark: Any) -> dict[str, Any]:
    from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
    from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy, PolicyKind
    from dbt.adapters.delta_maint.core.compaction_ranking import unite_chunks
    from dbt.adapters.delta_maint.core.reservation import Reservations
    from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
    from dbt.adapters.delta_maint.lake.compactor import Compactor
    from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
    from dbt.adapters.delta_maint.lake.rewriters.arrow import ArrowRewriter
    from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
    from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

    policy = CompactionPolicy(
        kind=PolicyKind.EAGER, target_bytes=TARGET_BYTES, reserve_partitions=False
    )
    cores = spark.sparkContext.defaultParallelism

    def planned(rewriter: Any) -> Any:
        def run(path: Path) -> None:
            sql = SessionSql(spark.newSession())
            table = DeltaTable.find(sql, f"delta.`{path}`")
            plan = prepare_auto_compact_request(
                table.snapshot(sql),
                policy,
                table=table.name,
                partitions_added_to=None,
                reservations=Reservations(),
            )
            if rewriter.name == "arrow":
                plan = replace(plan, chunks=unite_chunks(plan.chunks))
            compactor = Compactor(sql, table, rewriter, policy, CommitMark("compact", "bench"))
            result = compactor.run(plan)
            assert not result.errors, result.sentence()
            assert not result.notes, result.sentence()

        return run

    def defaults(path: Path) -> None:
        spark.newSession().sql(f"optimize delta.`{path}`").collect()

    def deltalake(path: Path) -> None:
        import deltalake as library

        library.DeltaTable(str(path)).optimize.compact(target_size=TARGET_BYTES)

    return {
        "arrow": planned(ArrowRewriter(spark, cores=cores)),
        "optimize": planned(DeltaSqlRewriter(SessionSql(spark), threads=cores)),
        "deltalake": deltalake,
        "defaults": defaults,
    }


def facts(path: Path) -> tuple[int, int]:
    import deltalake as library

    actions = library.DeltaTable(str(path)).get_add_actions()
    columns = {name: actions.column(name) for name in ("size_bytes", "num_records")}
    return len(columns["size_bytes"]), sum(v.as_py() for v in columns["num_records"])


def workers() -> Iterator[tuple[Path, dict[str, str]]]:
    """The Python processes below this one: Spark's workers."""
    parents: dict[int, int] = {}
    statuses: dict[int, dict[str, str]] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        pairs = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        number = int(status.parent.name)
        parents[number], statuses[number] = int(pairs["PPid"]), pairs
    for number, pairs in statuses.items():
        above = parents[number]
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and "python" in pairs["Name"]:
            yield Path("/proc") / str(number), pairs


def forget_worker_peaks() -> None:
    for folder, _ in workers():
        (folder / "clear_refs").write_text("5")


def worker_peak_mib() -> float:
    """The highest peak of a worker since `forget_worker_peaks`."""
    return max((int(p.get("VmHWM", "0 kB").split()[0]) for _, p in workers()), default=0) / 1024


def main() -> None:
    from dbt.adapters.delta_maint.connections import session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--engines", default="arrow,optimize,deltalake,defaults")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=1000)
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="delta_maint_bench_"))
    credentials = DeltaMaintCredentials(
        schema="s", warehouse=str(root / "w"), catalog="in_memory", driver_memory="3g"
    )
    spark = session_environment(credentials.session_settings(root)).open().spark
    chosen = {k: v for k, v in engines(spark).items() if k in arguments.engines.split(",")}
    for name in arguments.tables.split(","):
        source = root / name
        build(spark, source, name, arguments.files)
        size_mb = sum(f.stat().st_size for f in source.rglob("*.parquet")) / 1e6
        files, rows = facts(source)
        print(f"{name}: {files} files, {size_mb:.0f} MB, {rows} rows", flush=True)
        times: dict[str, list[float]] = {engine: [] for engine in chosen}
        forget_worker_peaks()
        for number in range(arguments.rounds + 1):
            for engine, run in chosen.items():
                copy = root / f"{name}_{engine}_{number}"
                shutil.copytree(source, copy, copy_function=os.link)
                started = time.monotonic()
                run(copy)
                seconds = time.monotonic() - started
                after, kept = facts(copy)
                assert kept == rows, f"{engine} kept {kept} of {rows} rows"
                print(f"  round {number} {engine:<10}{seconds:7.2f} s  {after} files", flush=True)
                if number:
                    times[engine].append(seconds)
                shutil.rmtree(copy)
        medians = {engine: statistics.median(found) for engine, found in times.items() if found}
        told = [f"{engine} {seconds:.2f} s" for engine, seconds in medians.items()]
        ratios = [
            f"arrow/{engine} {medians['arrow'] / seconds:.2f}"
            for engine, seconds in medians.items()
            if engine != "arrow"
        ]
        print(
            f"{name}: {', '.join(told)}; {', '.join(ratios)}; peak of a worker {worker_peak_mib():.0f} MiB"
        )
        shutil.rmtree(source)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
