"""A small log on a disk of the driver's, read in this process: milliseconds, where SQL takes four jobs.

Only where Spark's driver is this process's own and the log is small: what is read is held as a whole.
Anything else, a checkpoint with sidecars for one, is `UnreadHereError`, and the caller asks Spark. Files
are read after they were listed; one that went away meanwhile is such a case too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.live_files import Action, added_files, data_files, live_adds
from dbt.adapters.delta_maint.core.replay import (
    CHECKPOINT_TXN,
    LogSegment,
    TableHead,
    choose_segment,
    read_head,
)
from dbt.adapters.delta_maint.core.table import AddedFiles, DataFile, PartitionColumn
from dbt.adapters.delta_maint.lake.log_reader import LogReader
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner, has_driver

# More than this Spark reads faster, and holds better.
MOST_BYTES = 8 * 1024 * 1024
MOST_CHECKPOINT_ROWS = 10_000
_HEAD = {
    "protocol": "protocol",
    "metaData": "metaData",
    "txn": CHECKPOINT_TXN,
    "domainMetadata": "domainMetadata",
    "sidecar": "sidecar",
}
_ADD = (
    "path", "partitionValues", "size", "modificationTime", "tags", "clusteringProvider", "baseRowId",
    "deletionVector", "stats", "stats_parsed.numRecords",
)  # fmt: skip
_COLUMNS = [*_HEAD, *(f"add.{name}" for name in _ADD)]
# What Arrow reads as pairs.
_MAPS = (("add", "partitionValues"), ("add", "tags"), ("metaData", "configuration"))
_VERSION = re.compile(r"(\d{20})\.")


class UnreadHereError(Exception):
    """Spark must read this log."""


class LocalLogReader(LogReader):
    """With `up_to` the table as it was at that version."""

    def __init__(self, location: str, *, up_to: int | None = None) -> None:
        super().__init__(location)
        self._folder = "/" + self._log.removeprefix("file:").lstrip("/")
        self._up_to = up_to
        self._bytes = 0
        self._sizes: dict[str, int] = {}
        self._actions: dict[int, list[Action]] = {}
        self._checkpoint: list[dict[str, Any]] = []

    @classmethod
    def of(cls, sql: SqlRunner, location: str) -> LocalLogReader | None:
        spark = getattr(sql, "spark", None)
        if spark is None or not has_driver(spark) or not location.startswith("file:"):
            return None
        return cls(location)

    def adds(self) -> list[Action]:
        """The live files as add actions, and nothing else about the table."""
        segment = choose_segment(self._names(), location=self._location)
        if self._up_to is not None and segment.version != self._up_to:
            raise UnreadHereError
        head = self._head(segment, range(segment.first_commit, segment.last_commit + 1))
        return self._live(segment, head)

    def _names(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                self._sizes = {
                    entry.name: entry.stat().st_size
                    for entry in entries
                    if self._counts(entry.name)
                }
        except OSError as exc:
            raise UnreadHereError from exc
        return list(self._sizes)

    def _counts(self, name: str) -> bool:
        version = _VERSION.match(name)
        return version is not None and (self._up_to is None or int(version[1]) <= self._up_to)

    def _head(self, segment: LogSegment, commits: range) -> TableHead:
        self._checkpoint = list(self._checkpoint_rows(segment))
        self._actions = {version: self._read_commit(version) for version in commits}
        actions = [
            (version, json.dumps(action))
            for version, found in self._actions.items()
            for action in found
            if "add" not in action and "remove" not in action
        ]
        if segment.checkpoint is not None:
            for row in self._checkpoint:
                told = {_HEAD[kind]: row[kind] for kind in _HEAD if row.get(kind) is not None}
                if told:
                    actions.append((segment.checkpoint.version, json.dumps(told)))
        return read_head(actions)

    def _files(
        self,
        segment: LogSegment,
        commits: range,
        head: TableHead,
        columns: Sequence[PartitionColumn],
        *,
        with_paths: bool,
    ) -> Iterator[DataFile]:
        return data_files(self._live(segment, head), columns, with_paths=with_paths)

    def _added(
        self, commits: range, since_version: int, columns: Sequence[PartitionColumn]
    ) -> Iterator[AddedFiles]:
        later = (
            (version, action)
            for version, found in self._actions.items()
            if version > since_version
            for action in found
        )
        return iter(added_files(later, columns))

    def _live(self, segment: LogSegment, head: TableHead) -> list[Action]:
        if head.sidecars:
            raise UnreadHereError
        adds = (row["add"] for row in self._checkpoint if row.get("add") is not None)
        after = (
            action
            for version in range(segment.first_commit, segment.last_commit + 1)
            for action in self._actions[version]
        )
        return live_adds((add for add in adds if add.get("path") is not None), after)

    def _read_commit(self, version: int) -> list[Action]:
        try:
            with open(self._path(f"{version:020d}.json"), encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError) as exc:
            raise UnreadHereError from exc

    def _checkpoint_rows(self, segment: LogSegment) -> Iterator[dict[str, Any]]:
        if segment.checkpoint is None:
            return
        if segment.checkpoint.format != "parquet":
            raise UnreadHereError
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = 0
        for name in segment.checkpoint.files:
            path = self._path(name)
            try:
                with pq.ParquetFile(path) as file:
                    rows += file.metadata.num_rows
                    if rows > MOST_CHECKPOINT_ROWS:
                        raise UnreadHereError
                    table = file.read(columns=_COLUMNS, use_threads=False)
            except (OSError, pa.ArrowException) as exc:
                raise UnreadHereError from exc
            for row in table.to_pylist():
                for kind, field in _MAPS:
                    if row.get(kind) is not None and row[kind].get(field) is not None:
                        row[kind][field] = dict(row[kind][field])
                yield row

    def _path(self, name: str) -> str:
        self._bytes += self._sizes.get(name, 0)
        if self._bytes > MOST_BYTES:
            raise UnreadHereError
        return os.path.join(self._folder, name)
