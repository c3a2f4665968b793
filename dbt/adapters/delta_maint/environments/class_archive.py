"""A class-data-sharing archive: what makes the second start of Spark quick.

Made once per Java build and class path by the first run itself, while its JVM exits: no extra work,
no waiting. The JVM writes to a name of its own and the shell that started it renames the finished
file, so a reader sees a whole archive or none; two first runs at once each write their own and the
last rename wins. An archive that Java does not accept is ignored by Java.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.delta_maint.environments.cache_folder import cache_folder
from dbt.adapters.delta_maint.environments.java import Java
from dbt.adapters.delta_maint.environments.scratch import is_alive

KEPT_ARCHIVES = 3
NEEDED_FREE_BYTES = 600 * 1024 * 1024


@dataclass(frozen=True)
class ClassArchive:
    """`ready` is used; `to_make` is written at exit and then becomes `ready`."""

    path: Path
    is_ready: bool

    def java_options(self) -> list[str]:
        if self.is_ready:
            return [f"-XX:SharedArchiveFile={self.path}", "-Xlog:disable", "-Xlog:all=off"]
        return [f"-XX:ArchiveClassesAtExit={self.partial}", "-Xlog:disable", "-Xlog:all=off"]

    def keep(self) -> None:
        """The run did enough for its classes to be worth an archive."""
        if not self.is_ready:
            self.partial.with_name(self.partial.name + ".worthy").touch()

    @property
    def partial(self) -> Path:
        return self.path.with_name(f"{self.path.name}.{os.getpid()}.partial")


def choose_archive(
    java: Java, class_path: Sequence[Path], *, flavour: Sequence[str]
) -> ClassArchive | None:
    """The archive for this Java, these jars in this order, and these JVM flags; None without room."""
    folder = cache_folder() / "class_archives"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_key(java, class_path, flavour)}.jsa"
        if path.exists():
            os.utime(path)
            return ClassArchive(path, is_ready=True)
        _evict(folder)
        usage = os.statvfs(folder)
        if usage.f_bavail * usage.f_frsize < NEEDED_FREE_BYTES:
            return None
    except OSError:
        return None
    return ClassArchive(path, is_ready=False)


def _key(java: Java, class_path: Sequence[Path], flavour: Sequence[str]) -> str:
    digest = hashlib.sha256()
    digest.update(f"{java.executable.resolve()}|{java.version}|{'|'.join(flavour)}".encode())
    for jar in class_path:
        stat = jar.stat()
        digest.update(f"\n{jar}|{stat.st_size}|{stat.st_mtime_ns}".encode())
    return digest.hexdigest()[:24]


def _evict(folder: Path) -> None:
    """Keeps the archives used last, and removes parts of archives whose maker has gone."""
    for partial in folder.glob("*.partial"):
        maker = int(partial.name.split(".")[-2])
        age_seconds = time.time() - partial.stat().st_mtime
        if not is_alive(maker) and age_seconds > 120:
            partial.unlink(missing_ok=True)
    archives = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in archives[KEPT_ARCHIVES - 1 :]:
        old.unlink(missing_ok=True)
