"""A real Hive metastore, from the classes that pyspark brings, for as long as a test needs it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from dbt.adapters.delta_maint.environments.jars import find_spark_home
from dbt.adapters.delta_maint.environments.java import find_java

START_TIMEOUT_SECONDS = 90


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def hive_metastore(folder: Path) -> Iterator[str]:
    """Yields its URI; its database and its log lie in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'db'};create=true",
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        # The class that this needs is not among pyspark's.
        "hive.async.log.enabled": "false",
    }
    log = folder / "metastore.log"
    command = [
        str(find_java().executable),
        "-Xmx512m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        f"-Dderby.stream.error.file={folder / 'derby.log'}",
        "-cp",
        str(find_spark_home() / "jars" / "*"),
        "org.apache.hadoop.hive.metastore.HiveMetaStore",
        "-p",
        str(port),
        *(word for key, value in settings.items() for word in ("--hiveconf", f"{key}={value}")),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        _wait_for(port, process, log)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise RuntimeError(f"The metastore did not start: {log.read_text()[-2000:]}")
