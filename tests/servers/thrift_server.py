"""A Spark Thrift server from the pyspark package itself, with Delta on its driver's class path.

Not by `--jars`: the loader of such jars is closed together with the first Hive session, and later
connections miss whatever Delta class nobody had loaded by then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbt.adapters.delta_maint.environments.jars import (
    DeltaVersions,
    find_spark_home,
    obtain_delta_jars,
)

from tests.servers.process import ServerProcess, free_port, running

CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@contextmanager
def thrift_server(
    folder: Path, *, confs: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[ServerProcess]:
    """`folder` gets the warehouse, the embedded catalog and the log; two cores of this machine do the work."""
    home = find_spark_home()
    jars = obtain_delta_jars(DeltaVersions.installed(), spark_home=home)
    port = port or free_port()
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.local.dir": str(folder / "scratch"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore_db'};create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
        **(confs or {}),
    }
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}"
    command = [
        str(home / "bin" / "spark-submit"),
        *("--class", CLASS),
        *("--master", "local[2]"),
        *("--driver-memory", "1500m"),
        *("--driver-class-path", ":".join(str(jar) for jar in jars)),
        *("--driver-java-options", java),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
        *("--hiveconf", f"hive.server2.thrift.port={port}"),
        *("--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"),
    ]
    environment = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    log = folder / "thrift.log"
    with running(command, port=port, log=log, environment=environment) as server:
        yield server
