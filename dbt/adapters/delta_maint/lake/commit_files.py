"""The commit files of a table, read as files: no Spark job, no lock.

A folder of this machine is read by this process itself; any other through Hadoop, whose every call is a trip
to the JVM.
"""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import Any, Protocol

MAX_COMMIT_BYTES = 32 * 1024**2
_COMMIT = re.compile(r"(\d{20})\.json")


class CommitFiles(Protocol):
    def newest_version(self) -> int:
        """-1 where there is no commit."""
        ...

    def text(self, version: int) -> str | None:
        """None when the commit is gone, or too large to be worth reading."""
        ...


def commit_files(spark: Any, location: str) -> CommitFiles:
    """`location` as Hadoop's paths write it, of a table that this process's own driver reads."""
    if location.startswith("file:"):
        return LocalCommitFiles("/" + location.removeprefix("file:").strip("/"))
    return HadoopCommitFiles(spark, location.rstrip("/"))


class LocalCommitFiles:
    def __init__(self, folder: str) -> None:
        self._log = f"{folder}/_delta_log"

    def newest_version(self) -> int:
        try:
            found = (_COMMIT.fullmatch(entry.name) for entry in os.scandir(self._log))
            return max((int(match.group(1)) for match in found if match), default=-1)
        except OSError:
            return -1

    def text(self, version: int) -> str | None:
        name = f"{self._log}/{version:020d}.json"
        try:
            if os.path.getsize(name) > MAX_COMMIT_BYTES:
                return None
            with open(name, encoding="utf-8") as file:
                return file.read()
        except OSError:  # cleaned up meanwhile, or still under the name a coordinator gave it
            return None


class HadoopCommitFiles:
    def __init__(self, spark: Any, location: str) -> None:
        self._spark = spark
        self._log = f"{location}/_delta_log"

    def newest_version(self) -> int:
        """Found by looking for the next one after the last checkpoint: a listing may be long."""
        hint = self._text(f"{self._log}/_last_checkpoint")
        version = int(json.loads(hint)["version"]) if hint else -1
        while self._status(self._name(version + 1)) is not None:
            version += 1
        return version

    def text(self, version: int) -> str | None:
        return self._text(self._name(version))

    def _name(self, version: int) -> str:
        return f"{self._log}/{version:020d}.json"

    def _text(self, name: str) -> str | None:
        found = self._status(name)
        if found is None or found.getLen() > MAX_COMMIT_BYTES:
            return None
        stream = self._files.open(found.getPath())
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def _status(self, name: str) -> Any:
        try:
            return self._files.getFileStatus(self._path(name))
        except Exception:  # cleaned up meanwhile, or still under the name a coordinator gave it
            return None

    @cached_property
    def _path(self) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path

    @cached_property
    def _files(self) -> Any:
        conf = self._spark._jsparkSession.sessionState().newHadoopConf()
        return self._path(self._log).getFileSystem(conf)
