"""Actions of the Delta log -> what a table is at its newest version.

Which files of `_delta_log` make up the newest version, and what the actions other than files say. The
files themselves are replayed where the log lies, in SQL, by the one rule of the protocol: the last
action for a (path, deletion vector) wins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbt.adapters.delta_maint.core.errors import LogError
from dbt.adapters.delta_maint.core.table import (
    CLUSTERING_DOMAIN,
    Commit,
    PartitionColumn,
    Protocol,
    StreamWriter,
    partition_columns_of,
)

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.([^.]+))?(?:\.(\d{10}))?\.(parquet|json)")


@dataclass(frozen=True)
class Checkpoint:
    """One complete checkpoint; `format` is that of the named files, sidecars are always parquet."""

    version: int
    files: tuple[str, ...]
    format: str = "parquet"


@dataclass(frozen=True)
class LogSegment:
    """The files that make up one version: a checkpoint, if there is one, and the commits after it."""

    version: int
    checkpoint: Checkpoint | None
    first_commit: int
    last_commit: int
    oldest_commit: int

    @property
    def has_commits(self) -> bool:
        return self.first_commit <= self.last_commit


def choose_segment(names: Iterable[str], *, location: str) -> LogSegment:
    """The newest version that a listing of `_delta_log` holds, and the least to read for it."""
    names = list(names)
    commits = sorted(int(m.group(1)) for m in map(_COMMIT.fullmatch, names) if m)
    checkpoints = complete_checkpoints(names)
    if not commits and not checkpoints:
        raise LogError(f"{location} holds no Delta log: no commit and no checkpoint was found.")
    checkpoint = checkpoints[-1] if checkpoints else None
    start = checkpoint.version + 1 if checkpoint else 0
    tail = [version for version in commits if version >= start]
    version = tail[-1] if tail else (checkpoint.version if checkpoint else commits[-1])
    if tail != list(range(start, version + 1)):
        missing = next(v for v in range(start, version + 1) if v not in set(tail))
        raise LogError(
            f"The Delta log of {location} lacks commit {missing}: it may be written by a catalog, "
            "or a file was removed; it cannot be read safely."
        )
    oldest = _oldest_of_unbroken_run(commits) if commits else version + 1
    return LogSegment(version, checkpoint, start, version, oldest)


def complete_checkpoints(names: Iterable[str]) -> list[Checkpoint]:
    """Every checkpoint all of whose parts are there, oldest first.

    Of several at one version any will do: they say the same.
    """
    parts: dict[tuple[int, int], dict[int, str]] = {}
    found: dict[int, Checkpoint] = {}
    for name in names:
        match = _CHECKPOINT.fullmatch(name)
        if not match:
            continue
        version, middle, last = int(match.group(1)), match.group(2), match.group(3)
        if last is not None:
            if middle is not None and middle.isdigit():
                parts.setdefault((version, int(last)), {})[int(middle)] = name
        else:
            found[version] = Checkpoint(version, (name,), match.group(4))
    for (version, count), by_number in parts.items():
        if sorted(by_number) == list(range(1, count + 1)):
            ordered = tuple(by_number[number] for number in sorted(by_number))
            found.setdefault(version, Checkpoint(version, ordered))
    return [found[version] for version in sorted(found)]


def version_patterns(first: int, last: int) -> list[str]:
    """Glob patterns that match the names of commits `first` to `last` and no others.

    A few patterns for any range: a statement stays short however long the log is.

    >>> [p.lstrip("0") for p in version_patterns(8, 123)]
    ['[8-9].json', '[1-9][0-9].json', '1[0-1][0-9].json', '12[0-3].json']
    """
    patterns = []
    start = first
    while start <= last:
        width = 0
        while start % 10 ** (width + 1) == 0 and start + 10 ** (width + 1) - 1 <= last:
            width += 1
        step = 10**width
        digit = start // step % 10
        end = digit
        while end < 9 and start + (end - digit + 2) * step - 1 <= last:
            end += 1
        head = f"{start // step // 10:0{19 - width}d}"
        span = f"[{digit}-{end}]" if end > digit else str(digit)
        patterns.append(f"{head}{span}{'[0-9]' * width}.json")
        start += (end - digit + 1) * step
    return patterns


@dataclass
class TableHead:
    """Everything the log says apart from its files, built action by action in the order of commits."""

    protocol: Protocol = field(default_factory=Protocol)
    table_id: str = ""
    schema_json: str = '{"type":"struct","fields":[]}'
    partition_column_names: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    clustering_columns: tuple[str, ...] = ()
    commits: dict[int, Commit] = field(default_factory=dict)
    stream_writers: dict[str, StreamWriter] = field(default_factory=dict)
    app_ids: dict[int, str] = field(default_factory=dict)
    sidecars: list[str] = field(default_factory=list)
    metadata_version: int = -1
    protocol_version: int = -1
    clustering_version: int = -1

    @property
    def partition_columns(self) -> tuple[PartitionColumn, ...]:
        return partition_columns_of(self.schema_json, self.partition_column_names)

    def clustering_names(self) -> tuple[str, ...]:
        """Logical names of the clustering columns, which the log keeps by physical name."""
        return tuple(_logical_name(self.schema_json, column) for column in self.clustering_columns)


def read_head(actions: Iterable[tuple[int, str]]) -> TableHead:
    """Actions as (version, JSON text), in any order: of each kind the newest counts."""
    head = TableHead()
    for version, text in sorted(actions, key=lambda action: action[0]):
        for kind, body in json.loads(text).items():
            if body is not None and kind in _READERS:
                _READERS[kind](head, version, body)
    if not head.table_id:
        raise LogError("The Delta log holds no metaData action: it is not a complete table.")
    for version, app_id in head.app_ids.items():
        if version in head.commits:
            head.commits[version] = replace(head.commits[version], app_id=app_id)
    return head


def _read_protocol(head: TableHead, version: int, body: dict[str, Any]) -> None:
    if version >= head.protocol_version:
        head.protocol_version = version
        head.protocol = Protocol(
            int(body.get("minReaderVersion", 1)),
            int(body.get("minWriterVersion", 2)),
            frozenset(body.get("readerFeatures") or ()),
            frozenset(body.get("writerFeatures") or ()),
        )


def _read_metadata(head: TableHead, version: int, body: dict[str, Any]) -> None:
    if version >= head.metadata_version:
        head.metadata_version = version
        head.table_id = body["id"]
        head.schema_json = body.get("schemaString") or head.schema_json
        head.partition_column_names = tuple(body.get("partitionColumns") or ())
        head.properties = dict(body.get("configuration") or {})


def _read_txn(head: TableHead, version: int, body: dict[str, Any]) -> None:
    app_id = body["appId"]
    head.stream_writers[app_id] = StreamWriter(
        app_id, int(body.get("version", -1)), body.get("lastUpdated")
    )


def _read_commit_txn(head: TableHead, version: int, body: dict[str, Any]) -> None:
    _read_txn(head, version, body)
    head.app_ids[version] = body["appId"]


def _read_domain(head: TableHead, version: int, body: dict[str, Any]) -> None:
    if body.get("domain") != CLUSTERING_DOMAIN or version < head.clustering_version:
        return
    head.clustering_version = version
    if body.get("removed"):
        head.clustering_columns = ()
        return
    columns = json.loads(body.get("configuration") or "{}").get("clusteringColumns", [])
    head.clustering_columns = tuple(
        ".".join(column) if isinstance(column, list) else str(column) for column in columns
    )


def _read_commit_info(head: TableHead, version: int, body: dict[str, Any]) -> None:
    head.commits[version] = Commit(
        version=version,
        timestamp_ms=int(body.get("inCommitTimestamp") or body.get("timestamp") or 0),
        operation=str(body.get("operation", "")),
        parameters=body.get("operationParameters") or {},
        metrics={k: str(v) for k, v in (body.get("operationMetrics") or {}).items()},
        is_blind_append=body.get("isBlindAppend"),
        user_metadata=body.get("userMetadata"),
        engine=body.get("engineInfo"),
    )


def _read_sidecar(head: TableHead, version: int, body: dict[str, Any]) -> None:
    head.sidecars.append(body["path"])


_READERS = {
    "protocol": _read_protocol,
    "metaData": _read_metadata,
    "txn": _read_commit_txn,
    "domainMetadata": _read_domain,
    "commitInfo": _read_commit_info,
    "sidecar": _read_sidecar,
}
HEAD_ACTIONS = tuple(_READERS)
# A checkpoint tells who has written, not in which commit.
CHECKPOINT_TXN = "checkpointTxn"
_READERS[CHECKPOINT_TXN] = _read_txn


def _logical_name(schema_json: str, physical: str) -> str:
    for column in json.loads(schema_json)["fields"]:
        if column.get("metadata", {}).get("delta.columnMapping.physicalName") == physical:
            return str(column["name"])
    return physical


def _oldest_of_unbroken_run(commits: Sequence[int]) -> int:
    """Commits below a gap belong to a log that was cleaned up: they are of no use."""
    oldest = commits[-1]
    for version in reversed(commits[:-1]):
        if version != oldest - 1:
            break
        oldest = version
    return oldest
