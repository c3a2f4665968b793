"""A server from the pyspark package as a process of the test: it says why it did not start, and always ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.delta_maint.environments.jars import find_spark_home

START_TIMEOUT_SECONDS = 120
STOP_TIMEOUT_SECONDS = 20
SHOWN_LOG_LINES = 25
_PR_SET_PDEATHSIG = 1


@dataclass
class SparkDaemon:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(
        cls,
        name: str,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> SparkDaemon:
        """`arguments` follow the Spark home's `bin/`; the log lies in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        home = find_spark_home()
        log = folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(home / "bin" / arguments[0]), *arguments[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=folder,
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_LOG_DIR": str(folder),
                    **(environment or {}),
                },
                start_new_session=True,
                preexec_fn=_end_with_the_tests,
            )
        return cls(name, process, log)

    def wait_until(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not ready():
            if self.process.poll() is not None:
                raise AssertionError(
                    f"{self.name} ended with {self.process.returncode} before it was ready; "
                    f"the end of its log:\n{self.last_words()}"
                )
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{self.name} was not ready after {START_TIMEOUT_SECONDS} s; the end of its "
                    f"log:\n{self.last_words()}"
                )
            time.sleep(0.1)

    def wait_for_port(self, port: int) -> None:
        self.wait_until(lambda: answers(port))

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-SHOWN_LOG_LINES:])

    def kill(self) -> None:
        """kill -9 of the server and of what it started, as when its machine is lost."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_TIMEOUT_SECONDS)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_TIMEOUT_SECONDS)
        self.kill()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _end_with_the_tests() -> None:
    """Tests that are killed themselves take their servers along, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
