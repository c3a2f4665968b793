"""Files and folders of a table, on this machine or through Hadoop, behind one small interface.

On this machine links are followed only inside the root; one that leads out, or in a circle, is refused.
Paths handed out are relative to the root and spelled as on disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.core.hive_layout import is_hidden_file, is_hidden_folder
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

DELTA_LOG = "_delta_log"
# So many entries are looked at one by one, and so many listings by executors run side by side.
FEW_ENTRIES = 64
LISTINGS_AT_ONCE = 4
# Stores in which a folder is renamed in one step, so that a log is either there or not.
ATOMIC_RENAME_SCHEMES = ("file", "hdfs", "viewfs", "abfs", "abfss", "o3fs", "ofs")


class FileEntry(NamedTuple):
    path: str
    size_bytes: int
    modified_ms: int


class TableFiles(ABC):
    """The files below one root."""

    root: str
    scheme: str

    def tables_inside(self) -> list[str]:
        """Folders below the root that are Delta tables of their own, where the last listing saw them."""
        return []

    def table_around(self) -> str | None:
        """The Delta table whose folder this root lies in."""
        return None

    @property
    def has_atomic_rename(self) -> bool:
        return self.scheme in ATOMIC_RENAME_SCHEMES

    @abstractmethod
    def exists(self, relative: str = "") -> bool: ...

    @abstractmethod
    def is_folder(self) -> bool: ...

    @abstractmethod
    def refuse_unwritable(self) -> None: ...

    @abstractmethod
    def list_tree(self, relative: str = "") -> list[FileEntry]:
        """Every visible file below a folder, in path order."""

    @abstractmethod
    def names(self, relative: str) -> list[str]:
        """What a folder holds; empty when it is not there."""

    @abstractmethod
    def read_bytes(self, relative: str) -> bytes: ...

    @abstractmethod
    def make(self) -> None:
        """Creates the root."""

    @abstractmethod
    def rename(self, source: str, target: str) -> None: ...

    @abstractmethod
    def remove_file(self, relative: str) -> None: ...

    @abstractmethod
    def remove_empty_folder(self, relative: str) -> None:
        """Removes a folder only if nothing is in it; whoever else writes there loses nothing."""

    @abstractmethod
    def remove_tree(self, relative: str) -> None: ...

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Held while version 0 is written; stores that decide the winner themselves need nothing."""
        yield

    @property
    def location(self) -> str:
        """The root as Spark and Delta are given it: never left to the default file system."""
        return f"file:{self.root}" if self.scheme == "file" else self.root

    def absolute(self, relative: str) -> str:
        return f"{self.root.rstrip('/')}/{relative}" if relative else self.root


class LocalFiles(TableFiles):
    scheme = "file"

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._inner_logs: set[str] = set()

    def tables_inside(self) -> list[str]:
        return sorted(
            folder
            for folder in self._inner_logs
            if any(name.endswith(".json") for name in self.names(f"{folder}/{DELTA_LOG}"))
        )

    def table_around(self) -> str | None:
        above = os.path.dirname(self.root)
        while above != os.path.dirname(above):
            if os.path.exists(f"{above}/{DELTA_LOG}/{0:020}.json"):
                return above
            above = os.path.dirname(above)
        return None

    def exists(self, relative: str = "") -> bool:
        return os.path.lexists(self.absolute(relative))

    def is_folder(self) -> bool:
        return os.path.isdir(self.root)

    def refuse_unwritable(self) -> None:
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise ConversionError(
                f"The folder {self.root} cannot be written by this user, so it cannot get a log: "
                "make it writable, or use mode: snapshot."
            )

    def list_tree(self, relative: str = "") -> list[FileEntry]:
        found: list[FileEntry] = []
        prefix = f"{relative}/" if relative else ""
        self._walk(self.absolute(relative), prefix, (os.path.realpath(self.root),), found)
        found.sort()
        return found

    def _walk(
        self, folder: str, prefix: str, above: tuple[str, ...], found: list[FileEntry]
    ) -> None:
        try:
            entries = list(os.scandir(folder))
        except OSError as exc:
            raise ConversionError(f"The folder {folder} cannot be read ({exc.strerror}).") from exc
        for entry in entries:
            if not entry.name.isascii():
                _refuse_undecodable(entry.name, folder)
            if entry.is_symlink():
                self._check_link(entry.path, above)
            if entry.is_dir():
                if entry.name == DELTA_LOG and prefix:
                    self._inner_logs.add(prefix.rstrip("/"))
                if not is_hidden_folder(entry.name):
                    inside = (*above, os.path.realpath(entry.path))
                    self._walk(entry.path, f"{prefix}{entry.name}/", inside, found)
            elif not is_hidden_file(entry.name):
                status = entry.stat()
                found.append(
                    FileEntry(prefix + entry.name, status.st_size, status.st_mtime_ns // 1_000_000)
                )

    def _check_link(self, path: str, above: tuple[str, ...]) -> None:
        target = os.path.realpath(path)
        if not os.path.exists(target):
            raise ConversionError(f"The link {path} leads nowhere or to itself: remove it.")
        if target != self.root and not target.startswith(self.root + os.sep):
            raise ConversionError(
                f"The link {path} leads out of the table's folder to {target}: move the data in, "
                "or remove the link."
            )
        if target in above or target == self.root:
            raise ConversionError(f"The link {path} leads in a circle: remove it.")

    def names(self, relative: str) -> list[str]:
        try:
            return sorted(os.listdir(self.absolute(relative)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read_bytes(self, relative: str) -> bytes:
        with open(self.absolute(relative), "rb") as source:
            return source.read()

    def make(self) -> None:
        os.makedirs(self.root, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.rename(self.absolute(source), self.absolute(target))

    def remove_file(self, relative: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.absolute(relative))

    def remove_empty_folder(self, relative: str) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(self.absolute(relative))

    def remove_tree(self, relative: str) -> None:
        shutil.rmtree(self.absolute(relative), ignore_errors=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """On a local disk Delta keeps writers of one process apart; this keeps processes apart.

        The lock is on the folder itself, so nothing is left behind, whatever ends the process.
        """
        try:
            import fcntl
        except ImportError:
            yield
            return
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


class HadoopFiles(TableFiles):
    """Any other store, through Spark's own Hadoop client and its credentials."""

    def __init__(self, delta: JvmDelta, root: str) -> None:
        self._delta = delta
        path = delta.hadoop_path(root)
        self._store = path.getFileSystem(delta.session.sessionState().newHadoopConf())
        self.scheme = str(self._store.getUri().getScheme())
        self.root = str(self._store.makeQualified(path).toString())

    def _path(self, relative: str) -> Any:
        return self._delta.hadoop_path(self.absolute(relative))

    def exists(self, relative: str = "") -> bool:
        return bool(self._store.exists(self._path(relative)))

    def is_folder(self) -> bool:
        return bool(self._store.getFileStatus(self._path("")).isDirectory())

    def refuse_unwritable(self) -> None:
        """A store says so at the first write; nothing is lost then."""

    def list_tree(self, relative: str = "") -> list[FileEntry]:
        """Folders that lead to a few folders only are opened here, the rest by the executors.

        Delta's listing gives each folder of the first level to one task: behind `year=2024/` alone, or a
        folder `data`, that task would have everything to itself.
        """
        level, found = [self.absolute(relative)], list[FileEntry]()
        while level:
            opened = [self._store.listStatus(self._delta.hadoop_path(path)) for path in level]
            if sum(len(statuses) for statuses in opened) > FEW_ENTRIES:
                break
            level = []
            for status in (status for statuses in opened for status in statuses):
                uri, name = str(status.getPath().toString()), str(status.getPath().getName())
                if status.isDirectory():
                    level += [] if is_hidden_folder(name) else [uri]
                elif not is_hidden_file(name):
                    path = relative_to(self.root, uri)
                    found.append(FileEntry(path, status.getLen(), status.getModificationTime()))
        with ThreadPoolExecutor(LISTINGS_AT_ONCE) as pool:
            for table in pool.map(self._delta.list_tree, level):
                columns = (column.to_pylist() for column in table.columns)
                for uri, size, modified in zip(*columns, strict=True):
                    found.append(FileEntry(relative_to(self.root, uri), size, modified))
        found.sort()
        return found

    def names(self, relative: str) -> list[str]:
        path = self._path(relative)
        if not self._store.exists(path):
            return []
        return sorted(str(status.getPath().getName()) for status in self._store.listStatus(path))

    def read_bytes(self, relative: str) -> bytes:
        stream = self._store.open(self._path(relative))
        try:
            return bytes(self._delta.jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def read_tail(self, entry: FileEntry, count: int) -> bytes:
        """The last bytes of a file: one open, one read."""
        size = min(count, entry.size_bytes)
        stream = self._store.open(self._path(entry.path))
        try:
            stream.seek(entry.size_bytes - size)
            return bytes(self._delta.jvm.org.apache.commons.io.IOUtils.toByteArray(stream, size))
        finally:
            stream.close()

    def make(self) -> None:
        self._store.mkdirs(self._path(""))

    def rename(self, source: str, target: str) -> None:
        if not self._store.rename(self._path(source), self._path(target)):
            raise OSError(f"{source} could not be renamed to {target}")

    def remove_file(self, relative: str) -> None:
        self._store.delete(self._path(relative), False)

    def remove_empty_folder(self, relative: str) -> None:
        # A folder with something in it refuses; that is the point.
        with contextlib.suppress(Exception):
            self._store.delete(self._path(relative), False)

    def remove_tree(self, relative: str) -> None:
        self._store.delete(self._path(relative), True)


def _refuse_undecodable(name: str, folder: str) -> None:
    """Python carries bytes that are no text in a name along; a Delta log, which is JSON, cannot."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise ConversionError(
            f"The folder {_shown(folder)} holds the name {_shown(name)}, which is not UTF-8 and so "
            "cannot stand in a Delta log: rename it."
        ) from None


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def open_files(delta: JvmDelta, location: str) -> TableFiles:
    """The files at a location as a person or the catalog writes it."""
    hadoop = HadoopFiles(delta, location)
    if hadoop.scheme != "file":
        return hadoop
    return LocalFiles(strip_file_scheme(hadoop.root))


def strip_file_scheme(location: str) -> str:
    """
    >>> strip_file_scheme("file:///data/x")
    '/data/x'
    """
    if location.startswith("file:"):
        return "/" + location[len("file:") :].lstrip("/")
    return location


def relative_to(root: str, path: str) -> str:
    base = root.rstrip("/") + "/"
    if not path.startswith(base):
        raise ConversionError(f"The file {path} lies outside of the table's folder {root}.")
    return path[len(base) :]
