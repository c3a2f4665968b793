"""What every server from the pyspark package has in common: Delta on its class path, two cores, little noise."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dbt.adapters.delta_maint.environments.jars import (
    DeltaVersions,
    find_spark_home,
    obtain_delta_jars,
)

from tests.servers.process import ServerProcess, running


@contextmanager
def spark_server(
    main_class: str,
    folder: Path,
    *,
    port: int,
    log: str,
    confs: Mapping[str, str],
    java_options: Sequence[str] = (),
    arguments: Sequence[str] = (),
) -> Iterator[ServerProcess]:
    """Delta stands on the driver's class path, not in `--jars`: their loader goes with the first session."""
    home = find_spark_home()
    jars = obtain_delta_jars(DeltaVersions.installed(), spark_home=home)
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
        **confs,
    }
    java = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *java_options]
    command = [
        str(home / "bin" / "spark-submit"),
        *("--class", main_class),
        *("--master", "local[2]"),
        *("--driver-memory", "1500m"),
        *("--driver-class-path", ":".join(str(jar) for jar in jars)),
        *("--driver-java-options", " ".join(java)),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
        *arguments,
    ]
    environment = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with running(command, port=port, log=folder / log, environment=environment) as server:
        yield server
