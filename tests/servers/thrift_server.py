"""A Spark Thrift server from the pyspark package itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.servers.process import ServerProcess, free_port
from tests.servers.spark_server import spark_server

CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@contextmanager
def thrift_server(
    folder: Path, *, confs: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[ServerProcess]:
    """`folder` gets the warehouse, the embedded catalog and the log."""
    port = port or free_port()
    settings = {
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore_db'};create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
        **(confs or {}),
    }
    with spark_server(
        CLASS,
        folder,
        port=port,
        log="thrift.log",
        confs=settings,
        java_options=[f"-Dderby.system.home={folder}"],
        arguments=[
            *("--hiveconf", f"hive.server2.thrift.port={port}"),
            *("--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"),
        ],
    ) as server:
        yield server
