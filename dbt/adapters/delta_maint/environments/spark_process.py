"""Starts the JVM that is Spark's driver, quietly, and connects pyspark to it.

What pyspark does itself, with four differences: everything the JVM prints goes to a log file, the
confs travel in a file that only this user can read (a command line shows its secrets to everybody),
the class archive is put in its place when the JVM has ended, and a JVM that dies while starting is
reported by the sentence it died with.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.core.errors import SparkStartError

START_TIMEOUT_SECONDS = 180

# $1 the unfinished archive, $2 its final name, the rest is the command. An archive is worth keeping when
# the run left a mark beside it: one that only said `select 1` knows too few classes.
_RUN_THEN_PUBLISH = (
    'partial=$1; final=$2; shift 2; "$@"; code=$?; '
    'if [ -n "$partial" ]; then '
    'if [ -s "$partial" ] && [ -e "$partial.worthy" ] && [ "$code" -lt 128 ]; then '
    'mv -f "$partial" "$final"; else rm -f "$partial"; fi; rm -f "$partial.worthy"; fi; '
    'exit "$code"'
)
_gateway_environment = threading.Lock()


def start_gateway(
    *,
    spark_home: Path,
    confs: Mapping[str, str],
    log_file: Path,
    archive_partial: Path | None,
    archive_final: Path | None,
) -> Any:
    """A py4j gateway to a new JVM; the JVM ends when this process does."""
    work = Path(tempfile.mkdtemp(prefix="delta-maint-"))
    confs_file = work / "spark.conf"
    command = [
        str(spark_home / "bin" / "spark-submit"),
        "--properties-file",
        str(confs_file),
        "pyspark-shell",
    ]
    wrapped = [
        "/bin/sh",
        "-c",
        _RUN_THEN_PUBLISH,
        "spark",
        str(archive_partial or ""),
        str(archive_final or ""),
        *command,
    ]
    try:
        confs_file.touch(mode=0o600)
        confs_file.write_text(properties_text(confs), encoding="utf-8")
        info_file = work / "gateway"
        with log_file.open("ab") as log:
            start_of_log = log.tell()
            process = subprocess.Popen(
                wrapped,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    **utf8_names(os.environ),
                    "SPARK_HOME": str(spark_home),
                    "SPARK_CONNECT_MODE": "0",
                    "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info_file),
                },
                # Ctrl-C is for dbt: it cancels the jobs and then ends this process in order.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
            )
        _wait_for(info_file, process, log_file=log_file, start_of_log=start_of_log)
        port, secret = _read_info(info_file)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    gateway = _connect(port, secret)
    gateway.proc = process
    return gateway


def utf8_names(environment: Mapping[str, str]) -> dict[str, str]:
    """In the C locale Java cannot open a file whose name is not ASCII; Python can, and so can Java then.

    >>> utf8_names({"LC_ALL": "POSIX"}), utf8_names({"LANG": "de_DE.UTF-8"})
    ({'LC_ALL': 'C.UTF-8'}, {})
    """
    named = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    chosen = next((locale for locale in named if locale), "C")
    return {"LC_ALL": "C.UTF-8"} if chosen in ("C", "POSIX") else {}


def properties_text(pairs: Mapping[str, str]) -> str:
    r"""Pairs as a Java properties file holds them.

    >>> properties_text({"a.b": "C:\\x = 1"})
    'a.b=C\\:\\\\x\\ \\=\\ 1\n'
    """
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in pairs.items())


def _escaped(text: str) -> str:
    escapes = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(
        escapes.get(char) or (f"\\{char}" if char in "\\:=#! " else char) for char in text
    )


def _wait_for(
    info_file: Path, process: subprocess.Popen[bytes], *, log_file: Path, start_of_log: int
) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not info_file.is_file():
        if process.poll() is not None:
            raise SparkStartError(
                f"Spark did not start: {_last_words(log_file, start_of_log)} (log: {log_file})"
            )
        if time.monotonic() > deadline:
            process.kill()
            raise SparkStartError(
                f"Spark did not start within {START_TIMEOUT_SECONDS} seconds (log: {log_file})"
            )
        time.sleep(0.02)


def _last_words(log_file: Path, start_of_log: int) -> str:
    with log_file.open("rb") as log:
        log.seek(start_of_log)
        lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
    telling = [
        line
        for line in lines
        if line and not line.startswith(("at ", "WARNING", "...", "NOTE", "Picked up"))
    ]
    for line in telling:
        if "rror" in line or "xception" in line or "nvalid" in line:
            return line
    return telling[-1] if telling else "the Java process ended without a word"


def _read_info(info_file: Path) -> tuple[int, str]:
    from pyspark.serializers import UTF8Deserializer, read_int

    with info_file.open("rb") as info:
        port = read_int(info)
        secret = UTF8Deserializer().loads(info)
    return port, secret


def _connect(port: int, secret: str) -> Any:
    """pyspark connects to a running gateway that its environment variables name."""
    from pyspark.java_gateway import launch_gateway

    names = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    with _gateway_environment:
        before = {name: os.environ.get(name) for name in names}
        os.environ.update(names)
        try:
            return launch_gateway()
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
