"""Reading the live files of a large table from its log: seconds, and memory of this process.

    python benchmarks/bench_inventory.py [--files 50000]

The log is real, the data files it names do not exist: nothing here opens them. Both forms of the log are
read in one process, twice each, beside Delta's own snapshot.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

COMMITS = 20
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "p", "type": "integer", "nullable": True, "metadata": {}},
        ],
    }
)


def write_log(table: Path, files: int) -> None:
    """`files` live files in 20 commits; a tenth of what each commit added the next one removes."""
    log = table / "_delta_log"
    log.mkdir(parents=True)
    per_commit = int(files / (COMMITS - (COMMITS - 1) * 0.1))
    for version in range(COMMITS):
        lines: list[dict[str, Any]] = [
            {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE"}}
        ]
        if version == 0:
            lines.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
            lines.append(
                {
                    "metaData": {
                        "id": "bench", "format": {"provider": "parquet", "options": {}},
                        "schemaString": SCHEMA, "partitionColumns": ["p"], "configuration": {},
                    }
                }
            )  # fmt: skip
        for n in range(per_commit):
            stats = {"numRecords": 1000, "minValues": {"id": n}, "maxValues": {"id": n + 999}}
            lines.append(
                {
                    "add": {
                        "path": f"p={n % 100}/part-{version:05d}-{n:08d}.snappy.parquet",
                        "partitionValues": {"p": str(n % 100)}, "size": 1_000_000 + n,
                        "modificationTime": 1, "dataChange": True, "stats": json.dumps(stats),
                    }
                }
            )  # fmt: skip
        for n in range(per_commit // 10 if version else 0):
            path = f"p={n % 100}/part-{version - 1:05d}-{n:08d}.snappy.parquet"
            lines.append({"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}})
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (log / f"{version:020d}.json").write_text(text)


def main() -> None:
    from dbt.adapters.delta_maint.connections import session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
    from dbt.adapters.delta_maint.lake.inventory import read_snapshot
    from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=50_000)
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="delta_maint_bench_"))
    credentials = DeltaMaintCredentials(
        schema="s", warehouse=str(root / "w"), catalog="in_memory", driver_memory="2g"
    )
    spark = session_environment(credentials.session_settings(root)).open().spark
    logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    sql = SessionSql(spark)
    read_snapshot(sql, _small(root))
    table = root / "table"
    write_log(table, arguments.files)
    for form in ("json", "checkpoint"):
        if form == "checkpoint":
            logs.clearCache()
            log = logs.forTable(spark._jsparkSession, str(table))
            nobody = spark._jvm.scala.Option.apply(None)
            log.checkpoint(log.unsafeVolatileSnapshot(), nobody)
        for _ in range(2):
            started = time.monotonic()
            snapshot = read_snapshot(sql, str(table))
            ours = time.monotonic() - started
            logs.clearCache()
            started = time.monotonic()
            delta = logs.forTable(spark._jsparkSession, str(table)).unsafeVolatileSnapshot()
            theirs_files = delta.allFiles().count()
            theirs = time.monotonic() - started
            assert len(snapshot.files) == theirs_files
            peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{form:<11}{len(snapshot.files):>9} files  ours {ours:5.2f} s  Delta's count, cold "
                f"{theirs:5.2f} s  peak memory of this process {peak_mib:.0f} MiB"
            )
    shutil.rmtree(root, ignore_errors=True)


def _small(root: Path) -> str:
    """A first read, so that the timed ones do not pay for Spark's start."""
    write_log(root / "warm", 200)
    return str(root / "warm")


if __name__ == "__main__":
    main()
