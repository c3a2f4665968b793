"""How long a parquet folder takes to become Delta: ours against the native command and deltalake.

All sides run in one process on the same files, interleaved round by round; between runs only the log is
removed. Wall time and CPU time of the whole process tree are printed with their ratios, then how many
columns got their bounds in every file and how many files one and the same query has to open.

The files are written once and hard-linked under further names: every file has a footer and pages of its
own size to read, and making gigabytes takes seconds.

    python benchmarks/bench_convert.py                     quick: 300 files of about 450 KB
    python benchmarks/bench_convert.py medium wide         2,000 x 450 KB with 17 and with 200 columns
    python benchmarks/bench_convert.py large tiny          200 x 20 MB and 20,000 x 20 KB
    python benchmarks/bench_convert.py many --sides ours --rounds 1
                                                           200,000 small files, and the memory they take
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as pq

PARTITIONS = 20
SIDES = ["ours", "native with statistics", "native without", "deltalake"]
WARM_UP_FILES = 300
WARM_UP_ROUNDS = 2


@dataclass(frozen=True)
class Dataset:
    files: int
    rows: int
    columns: int = 17
    written: int = 100


DATASETS = {
    "quick": Dataset(300, 4_050),
    "large": Dataset(200, 200_000, written=20),
    "medium": Dataset(2_000, 4_050),
    "wide": Dataset(2_000, 272, columns=200),
    "tiny": Dataset(20_000, 135),
    "many": Dataset(200_000, 20, columns=10),
}


def write_files(root: Path, dataset: Dataset) -> None:
    """Columns of every kind, then numbers; files under further names are links to the first ones."""
    noise = numpy.random.default_rng(1)
    for number in range(dataset.files):
        folder = root / f"part={number % PARTITIONS}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}.parquet"
        if number >= dataset.written:
            os.link(
                root
                / f"part={number % dataset.written % PARTITIONS}"
                / f"{number % dataset.written}.parquet",
                path,
            )
        else:
            pq.write_table(pa.table(random_columns(noise, number, dataset)), path)


def random_columns(noise: Any, number: int, dataset: Dataset) -> dict[str, Any]:
    rows = dataset.rows
    draws = noise.random(rows)
    whole = (draws * 1e9).astype("int64")
    first = number * rows
    seconds = pa.array(1_704_067_200 + whole % 1_000_000, pa.timestamp("s", "UTC"))
    columns: dict[str, Any] = {
        "id": pa.array(range(first, first + rows), pa.int64()),
        "amount": pa.array(whole % 10**7).cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, 2)),
        "ratio": pa.array(draws),
        "code": pa.array((whole % 10_000).astype("int32")),
        "kind": pa.array([f"kind-{n}" for n in whole % 40]),
        "text": pa.array([f"{n:017d}" for n in whole]),
        "at": seconds.cast(pa.timestamp("us", "UTC")),
        "day": pa.array((19_723 + whole % 300).astype("int32")).cast(pa.date32()),
        "flag": pa.array(draws > 0.5),
        "share": pa.array(noise.random(rows).astype("float32")),
    }
    while len(columns) < dataset.columns:
        columns[f"n{len(columns)}"] = pa.array(noise.integers(0, 10**9, rows))
    return columns


def cpu_seconds() -> float:
    """CPU time of this process and everything it started."""
    ticks = 0
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            parents[int(entry)] = int(fields[1])
            times[int(entry)] = sum(int(field) for field in fields[11:15])
    for pid, spent in times.items():
        above: int | None = pid
        while above and above != os.getpid():
            above = parents.get(above)
        ticks += spent if above == os.getpid() else 0
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def spark_session(work: Path) -> Iterator[Any]:
    from dbt.adapters.delta_maint.environments.session import SessionEnvironment
    from dbt.adapters.delta_maint.environments.session_settings import resolve_settings

    environment = SessionEnvironment(
        resolve_settings(
            project_root=work,
            warehouse=None,
            catalog="in_memory",
            catalog_path=None,
            master="local[*]",
            driver_memory=None,
            startup="standard",
            delta_jars=None,
            confs={},
        )
    )
    try:
        yield environment.open().spark
    finally:
        environment.close()


def engines(
    spark: Any, root: Path, phases: list[dict[str, float]]
) -> dict[str, Callable[[], None]]:
    from dbt.adapters.delta_maint.core.conversion import ConvertRequest
    from dbt.adapters.delta_maint.lake.converter import Converter
    from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
    from deltalake import Field, Schema, convert_to_deltalake
    from deltalake.schema import PrimitiveType

    delta = JvmDelta.probe(spark)
    assert isinstance(delta, JvmDelta), delta
    by = "PARTITIONED BY (part int)"

    def ours() -> None:
        converter = Converter(spark, delta, tool_version="bench")
        phases.append(converter.convert(ConvertRequest(path=str(root))).seconds)

    return {
        "ours": ours,
        "native with statistics": lambda: spark.sql(f"CONVERT TO DELTA parquet.`{root}` {by}"),
        "native without": lambda: spark.sql(
            f"CONVERT TO DELTA parquet.`{root}` NO STATISTICS {by}"
        ),
        "deltalake": lambda: convert_to_deltalake(
            str(root),
            partition_by=Schema([Field("part", PrimitiveType("integer"), nullable=True)]),
            partition_strategy="hive",
        ),
    }


def peak_memory() -> str:
    """The most that this process and each one below it has held."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, KeyError):
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            if str(os.getpid()) in (lines["Pid"].strip(), lines["PPid"].strip()):
                found.append((int(lines["VmHWM"].split()[0]) / 1024, lines["Name"].strip()))
    return ", ".join(f"{name} {size:,.0f} MB" for size, name in sorted(found, reverse=True)[:2])


def forget(spark: Any, root: Path) -> None:
    shutil.rmtree(root / "_delta_log", ignore_errors=True)
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def judge(spark: Any, root: Path, dataset: Dataset) -> str:
    """Columns with bounds in every file, and the files that one query opens."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    complete: set[str] | None = None
    for line in (root / "_delta_log" / f"{0:020}.json").read_text().splitlines():
        add = json.loads(line).get("add")
        if add is None:
            continue
        stats = json.loads(add.get("stats") or "{}")
        names = set(stats.get("minValues", {})) & set(stats.get("maxValues", {}))
        complete = names if complete is None else complete & names
    middle = min(dataset.files, dataset.written) * dataset.rows // 2
    query = f"select * from delta.`{root}` where id between {middle} and {middle + 10}"
    opened = len(spark.sql(query).inputFiles())
    return (
        f"bounds for {len(complete or ())} columns, query opens {opened} of {dataset.files} files"
    )


def run(name: str, dataset: Dataset, rounds: int, work: Path, chosen: list[str]) -> None:
    root = work / name
    write_files(root, dataset)
    size = sum(path.stat().st_size for path in root.rglob("*.parquet"))
    print(
        f"{name}: {dataset.files:,} files, {size / 1e6:,.0f} MB, {dataset.columns} columns",
        flush=True,
    )
    wall: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    verdicts: dict[str, str] = {}
    phases: list[dict[str, float]] = []
    with spark_session(work) as spark:
        warm_up(spark, dataset, work / "warm_up", chosen)
        sides = {
            name: side for name, side in engines(spark, root, phases).items() if name in chosen
        }
        for _ in range(rounds):
            for side, convert in sides.items():
                forget(spark, root)
                began, spent = time.perf_counter(), cpu_seconds()
                convert()
                wall.setdefault(side, []).append(time.perf_counter() - began)
                cpu.setdefault(side, []).append(cpu_seconds() - spent)
                verdicts[side] = verdicts.get(side) or judge(spark, root, dataset)
        memory = peak_memory()
    own_wall, own_cpu = statistics.median(wall["ours"]), statistics.median(cpu["ours"])
    for side in sides:
        took, spent = statistics.median(wall[side]), statistics.median(cpu[side])
        print(
            f"  {side:<24} {took:6.2f} s wall, {spent:6.2f} s CPU; to ours {took / own_wall:5.2f} x "
            f"wall, {spent / own_cpu:5.2f} x CPU; {verdicts[side]}"
        )
    shares = {name: statistics.median(p[name] for p in phases) for name in phases[0]}
    print("  ours by phase: " + ", ".join(f"{name} {took:.2f} s" for name, took in shares.items()))
    print(f"  most memory held: {memory}", flush=True)


def warm_up(spark: Any, dataset: Dataset, root: Path, chosen: list[str]) -> None:
    """Spark compiles and caches on first use, whoever comes first: each side goes over a few files."""
    files = min(dataset.files, WARM_UP_FILES)
    write_files(root, replace(dataset, files=files, rows=min(dataset.rows, 4_050)))
    for name, convert in engines(spark, root, []).items():
        for _ in range(WARM_UP_ROUNDS if name in chosen else 0):
            forget(spark, root)
            convert()
    shutil.rmtree(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", metavar="|".join(DATASETS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.datasets if name not in DATASETS]
    if unknown:
        parser.error(f"no dataset {unknown[0]!r}")
    for name in arguments.datasets or ["quick"]:
        work = Path(tempfile.mkdtemp(prefix="bench-convert-"))
        try:
            run(name, DATASETS[name], arguments.rounds, work, ["ours", *arguments.sides])
        finally:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
