"""A Spark Connect server from the pyspark package itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.servers.process import ServerProcess, free_port
from tests.servers.spark_server import spark_server

CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(
    folder: Path, *, confs: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[ServerProcess]:
    """`folder` gets the warehouse and the log."""
    port = port or free_port()
    settings = {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        **(confs or {}),
    }
    with spark_server(CLASS, folder, port=port, log="connect.log", confs=settings) as server:
        yield server
