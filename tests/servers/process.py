"""A server in a process of its own: started on a free port, heard when it fails to start, always stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 180
STOP_SECONDS = 20
CLIENT_WORDS = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")


@dataclass
class ServerProcess:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def kill(self) -> None:
        """As a machine that loses power does it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


@contextmanager
def running(
    command: Sequence[str], *, port: int, log: Path, environment: Mapping[str, str]
) -> Iterator[ServerProcess]:
    """Until the port answers; what the log says last is the reason when it never does."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as sink:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**_clean(os.environ), **environment},
            cwd=log.parent,
            start_new_session=True,
        )
    server = ServerProcess(process, port, log)
    try:
        _wait_until_it_answers(server)
        yield server
    finally:
        server.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what makes a client of a process that runs Python."""
    return {key: value for key, value in environment.items() if key not in CLIENT_WORDS}


def _wait_until_it_answers(server: ServerProcess) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.process.poll() is not None:
            raise RuntimeError(
                f"The server ended with {server.process.returncode}: {_said(server)}"
            )
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(
        f"The server did not answer on port {server.port} within {START_SECONDS} s: {_said(server)}"
    )


def _said(server: ServerProcess) -> str:
    lines = server.log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if "ERROR" in line or "Exception" in line]
    return f"{'; '.join((telling or lines)[-5:])} (log: {server.log})"
