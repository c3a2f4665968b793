"""How a snapshot is put together from a log; who reads the log is another question.

Two readers answer it: `inventory` by SQL, which any connection has and any log can be read with, and
`local_log` in this process, for a small log on a disk of the driver's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from dbt.adapters.delta_maint.core.replay import LogSegment, TableHead, choose_segment
from dbt.adapters.delta_maint.core.table import (
    AddedFiles,
    Commit,
    DataFile,
    PartitionColumn,
    Snapshot,
)

RECENT_COMMITS = 30

VersionBefore = Callable[[Sequence[Commit]], "int | None"]


class LogReader(ABC):
    def __init__(self, location: str) -> None:
        self._location = location.rstrip("/")
        self._log = f"{self._location}/_delta_log"

    def read(
        self,
        since_version: int | None,
        version_before: VersionBefore | None,
        *,
        with_paths: bool,
    ) -> Snapshot:
        segment = choose_segment(self._names(), location=self._location)
        oldest_wanted = max(0, segment.version - RECENT_COMMITS + 1)
        if since_version is not None:
            oldest_wanted = min(oldest_wanted, since_version + 1)
        first_text = max(segment.oldest_commit, min(segment.first_commit, oldest_wanted))
        commits = range(first_text, segment.last_commit + 1)
        head = self._head(segment, commits)
        history = tuple(head.commits[version] for version in sorted(head.commits))
        if version_before is not None:
            since_version = version_before(history)
        columns = head.partition_columns
        files = list(self._files(segment, commits, head, columns, with_paths=with_paths))
        added: tuple[AddedFiles, ...] = ()
        if since_version is not None:
            added = tuple(self._added(commits, since_version, columns))
        return Snapshot(
            version=segment.version,
            location=self._location,
            table_id=head.table_id,
            protocol=head.protocol,
            partition_columns=columns,
            properties=head.properties,
            schema_json=head.schema_json,
            clustering_columns=head.clustering_names(),
            files=files,
            commits=history,
            stream_writers=tuple(head.stream_writers.values()),
            added=added,
            since_version=since_version,
        )

    @abstractmethod
    def _names(self) -> list[str]:
        """What lies in `_delta_log`."""

    @abstractmethod
    def _head(self, segment: LogSegment, commits: range) -> TableHead: ...

    @abstractmethod
    def _files(
        self,
        segment: LogSegment,
        commits: range,
        head: TableHead,
        columns: Sequence[PartitionColumn],
        *,
        with_paths: bool,
    ) -> Iterator[DataFile]: ...

    @abstractmethod
    def _added(
        self, commits: range, since_version: int, columns: Sequence[PartitionColumn]
    ) -> Iterator[AddedFiles]: ...
