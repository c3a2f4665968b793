"""Optimized write against a plain write and Delta's own, interleaved in one process.

For every data set: files against the ideal number, share of the large values' files within 20 % and 30 % of
the target, the largest file, bytes, wall time as a ratio to both others, and the time of a filtered read.
Sizes do not depend on the machine's load; ratios do, so run it alone.

    python benchmarks/bench_optimized_write.py [--rows 3000000] [--target '8 MiB'] [--rounds 2] [--only zipf]
"""

from __future__ import annotations

import argparse
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
from dbt.adapters.delta_maint.lake.write_settings import OPTIMIZE_WRITE
from dbt.adapters.delta_maint.lake.write_target import WriteTarget
from dbt.adapters.delta_maint.lake.writer import Preparation

SCHEMA = "bench"
MAP_TASKS = 16


@dataclass
class Result:
    seconds: list[float] = field(default_factory=list)
    read_seconds: list[float] = field(default_factory=list)
    first: list[SizedFile] = field(default_factory=list)
    last: list[SizedFile] = field(default_factory=list)


class Bench:
    def __init__(self, spark: Any, target_bytes: int, rounds: int) -> None:
        self.spark = spark
        self.target_bytes = target_bytes
        self.rounds = rounds

    def files(self, name: str) -> list[SizedFile]:
        version = last_committed_version(self.spark)
        assert version is not None
        location = table_location(self.spark, schema=SCHEMA, name=name)
        return added_files(read_commit(self.spark, location, version))

    def create(self, name: str, query: str, clause: str) -> None:
        self.spark.sql(f"create or replace table {SCHEMA}.{name} using delta {clause} as {query}")

    def ours(self, name: str, query: str, clause: str, partition_by: tuple[str, ...]) -> None:
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

        sides: dict[str, Callable[[], None]] = {
            "plain": lambda: self.create("plain", query, clause),
            "native": native,
            "ours": lambda: self.ours("ours", query, clause, partition_by),
        }
        self._interleave(title, sides, read)

    def merge(self, title: str, base: str, changes: str, read: str) -> None:
        """The same MERGE into equal copies of one table."""
        for name in ("plain", "native", "ours"):
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
            schema = self.spark.table(f"{SCHEMA}.ours").schema
            columns = [(f.name, f.dataType.simpleString()) for f in schema.fields]
            policy = WritePolicy(target_bytes=self.target_bytes)
            preparation = Preparation(self.spark, policy, target, CommitMark(WRITE, "bench"))
            with preparation.merge(columns, "merge").running(self.spark):
                self.spark.sql(statement("ours"))

        sides = {
            "plain": lambda: self.spark.sql(statement("plain")) and None,
            "native": native,
            "ours": ours,
        }
        self._interleave(title, sides, read)

    def _interleave(self, title: str, sides: dict[str, Callable[[], None]], read: str) -> None:
        results = {name: Result() for name in sides}
        for round_number in range(self.rounds + 1):
            for name, write in sides.items():
                started = time.monotonic()
                write()
                results[name].seconds.append(time.monotonic() - started)
                results[name].last = self.files(name)
                if round_number == 0:
                    results[name].first = results[name].last
                started = time.monotonic()
                self.spark.sql(read.format(table=f"{SCHEMA}.{name}")).collect()
                results[name].read_seconds.append(time.monotonic() - started)
        self._print(title, results)

    def _print(self, title: str, results: dict[str, Result]) -> None:
        print(f"\n{title}, target {self.target_bytes / MIB:g} MiB")
        print(
            "  side    write   files ideal  <=20 %  <=30 %  largest  MiB     s  "
            "to plain  to native  read to plain"
        )
        for label, is_first in (("first", True), ("later", False)):
            seconds = {
                name: result.seconds[0] if is_first else statistics.median(result.seconds[1:])
                for name, result in results.items()
            }
            reads = {
                name: result.read_seconds[0]
                if is_first
                else statistics.median(result.read_seconds[1:])
                for name, result in results.items()
            }
            for name, result in results.items():
                shape = self._shape(result.first if is_first else result.last)
                print(
                    f"  {name:7} {label:6} {shape} {seconds[name]:6.1f}  "
                    f"{seconds[name] / seconds['plain']:7.2f}  {seconds[name] / seconds['native']:8.2f}  "
                    f"{reads[name] / reads['plain']:8.2f}",
                    flush=True,
                )

    def _shape(self, files: list[SizedFile]) -> str:
        per_value: dict[Any, list[int]] = {}
        for file in files:
            per_value.setdefault(file.partition, []).append(file.bytes)
        target = self.target_bytes
        ideal = sum(max(1, round(sum(sizes) / target)) for sizes in per_value.values())
        large = [s for sizes in per_value.values() if sum(sizes) > 1.25 * target for s in sizes]

        def share(limit: float) -> str:
            if not large:
                return "     -"
            return f"{100 * sum(abs(s / target - 1) <= limit for s in large) / len(large):4.0f} %"

        biggest = max((file.bytes for file in files), default=0) / MIB
        total = sum(file.bytes for file in files) / MIB
        return f"{len(files):6} {ideal:5}  {share(0.2)}  {share(0.3)}  {biggest:7.1f} {total:5.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=3_000_000)
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
    zipf = "cast(least(49, floor(pow(50, pmod(hash(id, 3), 100000) / 100000.0) - 1)) as int) as p"
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
        for name in ("plain", "native", "ours"):
            spark.sql(f"drop table if exists {SCHEMA}.{name}")
        bench.compare("Uniform, 12 values", uniform, partition_by=("p",), read=read)
    if "sorted" in given.only:
        for name in ("plain", "native", "ours"):
            spark.sql(f"drop table if exists {SCHEMA}.{name}")
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
