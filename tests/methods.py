"""The connection methods the suite runs on: `pytest --method connect`.

A process of pytest runs one method, as a process of dbt does: Spark's own functions build either classic
or remote columns, for a whole process. What a method has of its own is a server, started once, and the
keys of its profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

# The keys of a profile, as long as its server runs.
StartMethod = Callable[[Path], AbstractContextManager[dict[str, Any]]]


@contextmanager
def session(folder: Path) -> Iterator[dict[str, Any]]:
    yield {
        "warehouse": str(folder),
        "catalog": "in_memory",
        "driver_memory": "2g",
    }


@contextmanager
def connect(folder: Path) -> Iterator[dict[str, Any]]:
    from tests.servers.connect_server import connect_server

    with connect_server(folder) as server:
        yield {"method": "connect", "remote": f"sc://127.0.0.1:{server.port}"}


@contextmanager
def thrift(folder: Path) -> Iterator[dict[str, Any]]:
    from tests.servers.thrift_server import thrift_server

    with thrift_server(folder) as server:
        yield {"method": "thrift", "host": "127.0.0.1", "port": server.port}


METHODS: dict[str, StartMethod] = {"session": session, "connect": connect, "thrift": thrift}
