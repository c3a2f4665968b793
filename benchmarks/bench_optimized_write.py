"""Optimized write against a plain write and Delta's own, interleaved in one process.

For every data set: files against the ideal number, share of the large values' files within 20 % and 30 % of
the target, the largest file, bytes, wall time as a ratio to both others, processor time, which other work on
the machine disturbs less, and the time of a filtered read.
"first" is our write into a table that does not exist yet, "ours" one that replaces a table it has written
before. "capped", for data without partitions, is a plain write that a row limit cuts into as many files as
ours: what so many files cost anybody. Every side writes once before anything is timed. A value of 1.4
targets cannot be cut into files within 20 % of one: "best" is the share within 20 % that cutting every
value into its closest number of equal files would reach. Sizes do not depend on the machine's load;
ratios do, so run it alone, one data set at a time.

    python benchmarks/bench_optimized_write.py --only zipf [--rows 4000000] [--target '8 MiB'] [--rounds 2]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.core.calibration import SizedFile
from dbt.adapters.delta_maint.core.sizes import MIB, parse_bytes
from dbt.adapters.delta_maint.core.write_choice import WritePolicy
from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import resolve_settings
from dbt.adapters.delta_maint.lake.commit_mark import WRITE, CommitMark
from dbt.adapters.delta_maint.lake.last_commit import last_committed_version
from dbt.adapters.delta_maint.lake.recent_writes import added_files, read_commit
from dbt.adapters.delta_maint.lake.session_catalog import table_location
from dbt.adapters.delta_maint.lake.write_settings import OPTIMIZE_WRITE, ROW_CAP
from dbt.adapters.delta_maint.lake.write_target import WriteTarget
from dbt.adapters.delta_maint.lake.writer import Preparation

SCHEMA = "bench"
MAP_TASKS = 16


@dataclass
class Result:
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    read_seconds: list[float] = field(default_factory=list)
    plan_seconds: list[float] = field(default_factory=list)
    last: list[SizedFile] = field(default_factory=list)


class Bench:
    def __init__(self, spark: Any, target_bytes: int, rounds: int) -> None:
        self.spark = spark
        self.target_bytes = target_bytes
        self.rounds = rounds
        self.plan_seconds = 0.0
        self.row_cap: int | None = None

    def files(self, name: str) -> list[SizedFile]:
        version = last_committed_version(self.spark)
        assert version is not None
        location = table_location(self.spark, schema=SCHEMA, name=name)
        return added_files(read_commit(self.spark, location, version))

    def cpu_seconds(self) -> float:
        """Of this process and its Java process."""
        java = self.spark._jvm.java.lang.ProcessHandle.current().info().totalCpuDuration()
        return time.process_time() + java.get().toMillis() / 1_000

    def create(self, name: str, query: str, clause: str) -> None:
        self.spark.sql(f"create or replace table {SCHEMA}.{name} using delta {clause} as {query}")

    def ours(self, name: str, query: str, clause: str, partition_by: tuple[str, ...]) -> None:
        started = time.monotonic()
        known = self.spark.catalog.tableExists(f"{SCHEMA}.{name}")
        target = WriteTarget(partition_by)
        if known:
            table = f"{SCHEMA}.{name}"
            target = (
                WriteTarget.existing(self.spark, table, partition_columns=partition_by) or target
            )
        policy = WritePolicy(target_bytes=self.target_bytes)
        preparation = Preparation(self.spark, policy, target, CommitMark(WRITE, "bench"))
        prepared = preparation.rows(self.spark.sql(query))
        prepared.show_as("bench_placed")
        self.plan_seconds = time.monotonic() - started
        with prepared.running(self.spark):
            self.create(name, "select * from bench_placed", clause)

    def compare(self, title: str, query: str, *, partition_by: tuple[str, ...], read: str) -> None:
        clause = f"partitioned by ({', '.join(partition_by)})" if partition_by else ""

        def native() -> None:
            self.spark.conf.set(OPTIMIZE_WRITE, "true")
            try:
                self.create("native", query, clause)
            finally:
                self.spark.conf.unset(OPTIMIZE_WRITE)

        for name in ("plain", "native", "first", "ours", "capped"):
            self.spark.sql(f"drop table if exists {SCHEMA}.{name}")
        sides: dict[str, Callable[[], None]] = {
            "plain": lambda: self.create("plain", query, clause),
            "native": native,
            "first": lambda: self.ours("first", query, clause, partition_by),
            "ours": lambda: self.ours("ours", query, clause, partition_by),
        }
        if not partition_by:
            sides["capped"] = lambda: self.capped(query)
        self._interleave(title, sides, read)

    def capped(self, query: str) -> None:
        """Plainly, after so many rows that there are as many files as we write."""
        if self.row_cap is None:
            files = self.files("ours")
            self.row_cap = math.ceil(1.02 * sum(file.rows for file in files) / len(files))
        self.spark.conf.set(ROW_CAP, str(self.row_cap))
        try:
            self.create("capped", query, "")
        finally:
            self.spark.conf.unset(ROW_CAP)

    def merge(self, title: str, base: str, changes: str, read: str) -> None:
        """The same MERGE into equal copies of one table."""
        for name in ("plain", "native", "ours"):
            self.spark.sql(f"drop table if exists {SCHEMA}.{name}")
            self.create(name, base, "partitioned by (p)")

        def statement(name: str) -> str:
            return (
                f"merge into {SCHEMA}.{name} t using ({changes}) s on t.p = s.p and t.id = s.id "
                "when matched then update set * when not matched then insert *"
            )

        def native() -> None:
            self.spark.conf.set(OPTIMIZE_WRITE, "true")
            try:
                self.spark.sql(statement("native"))
            finally:
                self.spark.conf.unset(OPTIMIZE_WRITE)

        def ours() -> None:
            target = WriteTarget.existing(self.spark, f"{SCHEMA}.ours")
            assert target is not None
            table = self.spark.table(f"{SCHEMA}.ours")
            columns = [(f.name, f.dataType.simpleString()) for f in table.schema.fields]
            policy = WritePolicy(target_bytes=self.target_bytes)
            preparation = Preparation(self.spark, policy, target, CommitMark(WRITE, "bench"))
            with preparation.merge(columns, "merge", table=table).running(self.spark):
                self.spark.sql(statement("ours"))

        sides = {
            "plain": lambda: self.spark.sql(statement("plain")) and None,
            "native": native,
            "ours": ours,
        }
        self._interleave(title, sides, read)

    def _interleave(self, title: str, sides: dict[str, Callable[[], None]], read: str) -> None:
        results = {name: Result() for name in sides}
        order = list(sides)
        for round_number in range(self.rounds + 1):
            # Another side begins each round and goes before the others in turn; the disk is at rest.
            turn = round_number % len(order)
            for name in (order[turn:] + order[:turn])[:: -1 if round_number % 2 else 1]:
                write = sides[name]
                if name == "first":
                    self.spark.sql(f"drop table if exists {SCHEMA}.first")
                os.sync()
                self.plan_seconds = 0.0
                cpu, started = self.cpu_seconds(), time.monotonic()
                write()
                results[name].seconds.append(time.monotonic() - started)
                results[name].cpu_seconds.append(self.cpu_seconds() - cpu)
                results[name].plan_seconds.append(self.plan_seconds)
                results[name].last = self.files(name)
                started = time.monotonic()
                self.spark.sql(read.format(table=f"{SCHEMA}.{name}")).collect()
                results[name].read_seconds.append(time.monotonic() - started)
        self._print(title, results)

    def _print(self, title: str, results: dict[str, Result]) -> None:
        print(f"\n{title}, target {self.target_bytes / MIB:g} MiB")
        print(
            "  side     files ideal  <=20 %  best    <=30 %  largest  MiB  plan s      s  "
            "to plain  to native  cpu s  cpu to native  read to plain"
        )
        seconds = {name: statistics.median(r.seconds[1:]) for name, r in results.items()}
        reads = {name: statistics.median(r.read_seconds[1:]) for name, r in results.items()}
        cpu = {name: statistics.median(r.cpu_seconds[1:]) for name, r in results.items()}
        for name, result in results.items():
            planning = statistics.median(result.plan_seconds[1:])
            print(
                f"  {name:7} {self._shape(result.last)}  {planning:6.1f} {seconds[name]:6.1f}  "
                f"{seconds[name] / seconds['plain']:7.2f}  {seconds[name] / seconds['native']:8.2f}  "
                f"{cpu[name]:6.1f}  {cpu[name] / cpu['native']:12.2f}  "
                f"{reads[name] / reads['plain']:8.2f}",
                flush=True,
            )

    def _shape(self, files: list[SizedFile]) -> str:
        per_value: dict[Any, list[int]] = {}
        for file in files:
            per_value.setdefault(file.partition, []).append(file.bytes)
        target = self.target_bytes
        ideal = sum(max(1, round(sum(sizes) / target)) for sizes in per_value.values())
        cut = [
            part
            for sizes in per_value.values()
            if sum(sizes) > 1.25 * target
            for part in _closest_cut(sum(sizes), target)
        ]
        large = [s for sizes in per_value.values() if sum(sizes) > 1.25 * target for s in sizes]

        def share(limit: float, files: list[float] | list[int]) -> str:
            if not files:
                return "     -"
            return f"{100 * sum(abs(s / target - 1) <= limit for s in files) / len(files):4.0f} %"

        biggest = max((file.bytes for file in files), default=0) / MIB
        total = sum(file.bytes for file in files) / MIB
        return f"{len(files):6} {ideal:5}  {share(0.2, large)}  {share(0.2, cut)}  {share(0.3, large)}  {biggest:7.1f} {total:5.0f}"


def _closest_cut(size: int, target: int) -> list[float]:
    files = min(
        (max(1, size // target), size // target + 1), key=lambda n: abs(math.log(size / n / target))
    )
    return [size / files] * files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--target", default="8 MiB")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=["zipf", "uniform", "sorted", "merge"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = SessionEnvironment(
            resolve_settings(
                project_root=Path(folder),
                warehouse=None,
                catalog="in_memory",
                catalog_path=None,
                master="local[*]",
                driver_memory="4g",
                startup="standard",
                delta_jars=None,
                confs={"spark.sql.files.maxPartitionBytes": "24m"},
            )
        )
        spark = environment.open().spark
        try:
            run(Bench(spark, parse_bytes(given.target, name="--target"), given.rounds), given)
        finally:
            environment.close()


def run(bench: Bench, given: argparse.Namespace) -> None:
    spark, rows = bench.spark, given.rows
    spark.sql(f"create schema {SCHEMA}")
    columns = (
        "id",
        "sha1(cast(id as string)) as token",
        "cast(hash(id) as double) / 7 as amount",
        "concat('customer ', pmod(hash(id, 1), 50000)) as customer",
        "timestamp_seconds(1700000000 + id) as at",
    )
    weights = [1 / rank**1.1 for rank in range(1, 51)]
    below = [sum(weights[:rank]) / sum(weights) for rank in range(1, 50)]
    at = ", ".join(f"{share:.6f}D" for share in below)
    zipf = f"size(filter(array({at}), c -> c <= pmod(hash(id, 3), 1000000) / 1000000.0D)) as p"
    ids = spark.range(0, rows, 1, MAP_TASKS)
    ids.selectExpr(*columns, zipf).write.saveAsTable(f"{SCHEMA}.zipf")
    source = f"select * from {SCHEMA}.zipf"
    read = "select count(*), sum(amount) from {table} where p = 3 and customer like 'customer 1%'"
    if "zipf" in given.only:
        bench.compare("Zipf, 50 values", source, partition_by=("p",), read=read)
    if "uniform" in given.only:
        ids.selectExpr(*columns, "cast(pmod(hash(id, 3), 12) as int) as p").write.saveAsTable(
            f"{SCHEMA}.uniform"
        )
        uniform = f"select * from {SCHEMA}.uniform"
        bench.compare("Uniform, 12 values", uniform, partition_by=("p",), read=read)
    if "sorted" in given.only:
        spark.sql(f"select * except (p) from {SCHEMA}.zipf order by id").coalesce(
            4
        ).write.saveAsTable(f"{SCHEMA}.sorted")
        bench.compare(
            "Unpartitioned, sorted",
            f"select * from {SCHEMA}.sorted",
            partition_by=(),
            read="select count(*), sum(amount) from {table} where id between 1000 and 20000",
        )
    if "merge" in given.only:
        changes = f"select * from {SCHEMA}.zipf where pmod(hash(id, 9), 20) = 0"
        bench.merge("MERGE of 5 %", source, changes, read)


if __name__ == "__main__":
    main()
