"""A Spark Connect server from the pyspark package itself, with Delta on its class path."""

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

CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(
    folder: Path, *, confs: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[ServerProcess]:
    """`folder` gets the warehouse and the log; two cores of this machine do the work."""
    home = find_spark_home()
    jars = obtain_delta_jars(DeltaVersions.installed(), spark_home=home)
    port = port or free_port()
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.local.dir": str(folder / "scratch"),
        **(confs or {}),
    }
    command = [
        str(home / "bin" / "spark-submit"),
        *("--class", CLASS),
        *("--master", "local[2]"),
        *("--driver-memory", "1500m"),
        *("--driver-class-path", ":".join(str(jar) for jar in jars)),
        *("--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    environment = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    log = folder / "connect.log"
    with running(command, port=port, log=log, environment=environment) as server:
        yield server
