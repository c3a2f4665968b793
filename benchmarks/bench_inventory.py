"""Reading the live files of a large table from its log: seconds, and memory of Python and of the JVM.

    python benchmarks/bench_inventory.py [--files 50000] [--driver-memory 2g] [--rounds 2] [--alone]

The log is real, the data files it names do not exist: nothing here opens them. It is read as JSON commits
alone, then with a checkpoint that stands for most of them, beside Delta's own snapshot unless `--alone`
is given. Memory is the most that the process has ever held.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COMMITS = 20
FORMS = ("json", "checkpoint")
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "p", "type": "integer", "nullable": True, "metadata": {}},
        ],
    }
)
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
METADATA = {
    "id": "bench", "format": {"provider": "parquet", "options": {}}, "schemaString": SCHEMA,
    "partitionColumns": ["p"], "configuration": {},
}  # fmt: skip
STRINGS = pa.map_(pa.string(), pa.string())
CHECKPOINT_SCHEMA = pa.schema(
    {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": STRINGS}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": STRINGS,
            }
        ),
        "add": pa.struct(
            {
                "path": pa.string(), "partitionValues": STRINGS, "size": pa.int64(),
                "modificationTime": pa.int64(), "dataChange": pa.bool_(), "stats": pa.string(),
            }
        ),
    }
)  # fmt: skip


def write_log(table: Path, files: int) -> int:
    """`files` live files in 20 commits; a tenth of what each commit added the next one removes. Says how
    many are left, which rounding makes a few less."""
    (table / "_delta_log").mkdir(parents=True)
    per_commit = int(files / (COMMITS - (COMMITS - 1) * 0.1))
    for version in range(COMMITS):
        with (table / "_delta_log" / f"{version:020d}.json").open("w") as log:
            for action in _actions(version, per_commit):
                log.write(json.dumps(action, separators=(",", ":")) + "\n")
    return COMMITS * per_commit - (COMMITS - 1) * (per_commit // 10)


def write_checkpoint(table: Path, files: int, *, version: int = COMMITS - 2) -> None:
    """What the commits up to `version` leave, as a classic checkpoint; the commits stay where they are."""
    per_commit = int(files / (COMMITS - (COMMITS - 1) * 0.1))
    name = table / "_delta_log" / f"{version:020d}.checkpoint.parquet"
    with pq.ParquetWriter(name, CHECKPOINT_SCHEMA) as checkpoint:
        rows: list[dict[str, Any]] = [
            {"protocol": PROTOCOL},
            {"metaData": {**METADATA, "format": {"provider": "parquet", "options": []}, "configuration": []}},
        ]  # fmt: skip
        for number in range(version + 1):
            for n in range(per_commit):
                if number < version and n < per_commit // 10:
                    continue
                add = _add(number, n)
                rows.append(
                    {"add": {**add, "partitionValues": list(add["partitionValues"].items())}}
                )
            checkpoint.write_table(pa.Table.from_pylist(rows, schema=CHECKPOINT_SCHEMA))
            rows = []


def _actions(version: int, per_commit: int) -> Iterator[dict[str, Any]]:
    yield {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE"}}
    if version == 0:
        yield {"protocol": PROTOCOL}
        yield {"metaData": METADATA}
    for n in range(per_commit):
        yield {"add": _add(version, n)}
    for n in range(per_commit // 10 if version else 0):
        path = _add(version - 1, n)["path"]
        yield {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}}


def _add(version: int, n: int) -> dict[str, Any]:
    stats = {"numRecords": 1000, "minValues": {"id": n}, "maxValues": {"id": n + 999}}
    return {
        "path": f"p={n % 100}/part-{version:05d}-{n:08d}.snappy.parquet",
        "partitionValues": {"p": str(n % 100)}, "size": 1_000_000 + n,
        "modificationTime": 1, "dataChange": True, "stats": json.dumps(stats),
    }  # fmt: skip


def main() -> None:
    from dbt.adapters.delta_maint.connections import session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
    from dbt.adapters.delta_maint.lake.inventory import read_snapshot
    from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--driver-memory", default="2g")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="without Delta's own snapshot")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="delta_maint_bench_"))
    credentials = DeltaMaintCredentials(
        schema="s",
        warehouse=str(root / "w"),
        catalog="in_memory",
        driver_memory=arguments.driver_memory,
    )
    spark = session_environment(credentials.session_settings(root)).open().spark
    sql = SessionSql(spark)
    write_log(root / "warm", 200)
    read_snapshot(sql, str(root / "warm"))
    table = root / "table"
    expected = write_log(table, arguments.files)
    for form in FORMS:
        if form == "checkpoint":
            write_checkpoint(table, arguments.files)
        for _ in range(arguments.rounds):
            started = time.monotonic()
            found = len(read_snapshot(sql, str(table)).files)
            ours = time.monotonic() - started
            assert found == expected, (found, expected)
            told = f"{form:<11}{found:>9} files  ours {ours:5.2f} s"
            if not arguments.alone:
                told += f"  Delta's count, cold {_seconds_of_delta(spark, table, expected):5.2f} s"
            python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{told}  Python {python} MiB  JVM {_jvm_mib(spark)} MiB", flush=True)
    shutil.rmtree(root, ignore_errors=True)


def _seconds_of_delta(spark: Any, table: Path, expected: int) -> float:
    logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    logs.clearCache()
    started = time.monotonic()
    snapshot = logs.forTable(spark._jsparkSession, str(table)).unsafeVolatileSnapshot()
    assert snapshot.allFiles().count() == expected
    return time.monotonic() - started


def _jvm_mib(spark: Any) -> int:
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
