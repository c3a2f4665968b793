"""The live files of a Delta table, read from its log: a small local one at once, any other by SQL text.

Three statements answer everything a decision needs: a listing of `_delta_log`, the actions that are
not files, and the files. The newest complete checkpoint (classic, multi-part, or V2 with sidecars) and
the commits after it are replayed inside Spark, and only the surviving files travel, in batches and
without their paths unless asked for, so that a large table does not fill the driver.

Reading is a snapshot: commits that land meanwhile are not seen, and nothing is locked.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from dbt.adapters.delta_maint.core.replay import (
    CHECKPOINT_TXN,
    HEAD_ACTIONS,
    Checkpoint,
    LogSegment,
    TableHead,
    read_head,
    version_patterns,
)
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.core.table import (
    AddedFiles,
    DataFile,
    PartitionColumn,
    PartitionKey,
    Snapshot,
    partition_key,
)
from dbt.adapters.delta_maint.lake.local_log import LocalLogReader, UnreadHereError
from dbt.adapters.delta_maint.lake.log_reader import LogReader, VersionBefore
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner

_DELETION_VECTOR = (
    "deletionVector struct<storageType: string, pathOrInlineDv: string, offset: int, "
    "cardinality: bigint>"
)
_ADD = (
    "add struct<path: string, partitionValues: map<string, string>, size: bigint, "
    "modificationTime: bigint, dataChange: boolean, stats: string, tags: map<string, string>, "
    f"clusteringProvider: string, {_DELETION_VECTOR}"
)
_KEPT_FIELDS = (
    "path", "partitionValues", "size", "modificationTime", "tags", "clusteringProvider", "deletionVector",
)  # fmt: skip
_FILE_SCHEMA = f"{_ADD}>, remove struct<path: string, {_DELETION_VECTOR}>"
# A checkpoint may hold statistics as a struct only.
_CHECKPOINT_SCHEMA = f"{_ADD}, stats_parsed: struct<numRecords: bigint>>"
_HEAD_SCHEMA = (
    "protocol struct<minReaderVersion: int, minWriterVersion: int, "
    "readerFeatures: array<string>, writerFeatures: array<string>>, "
    "metaData struct<id: string, schemaString: string, partitionColumns: array<string>, "
    "configuration: map<string, string>>, "
    "txn struct<appId: string, version: bigint, lastUpdated: bigint>, "
    "domainMetadata struct<domain: string, configuration: string, removed: boolean>, "
    "sidecar struct<path: string>"
)
_HEAD_FIELDS = [re.split(r"\s", part)[0] for part in re.split(r">, (?=\w+ struct)", _HEAD_SCHEMA)]
_VERSION = r"cast(regexp_extract(_metadata.file_name, '^(\\d{20})', 1) as bigint)"
_CHECKPOINT_FIELDS = ", ".join(
    f"txn as {CHECKPOINT_TXN}" if name == "txn" else name for name in _HEAD_FIELDS
)


def read_snapshot(
    sql: SqlRunner,
    location: str,
    *,
    since_version: int | None = None,
    version_before: VersionBefore | None = None,
    with_paths: bool = False,
) -> Snapshot:
    """The newest version of the table at `location`.

    With `since_version`, or a `version_before` that finds it among the recent commits, the snapshot
    also tells which partitions later commits added files to.
    """
    local = LocalLogReader.of(sql, location)
    if local is not None:
        with suppress(UnreadHereError):
            return local.read(since_version, version_before, with_paths=with_paths)
    return SqlLogReader(sql, location).read(since_version, version_before, with_paths=with_paths)


class SqlLogReader(LogReader):
    def __init__(self, sql: SqlRunner, location: str) -> None:
        super().__init__(location)
        self._sql = sql

    def _names(self) -> list[str]:
        rows = self._sql.rows(f"select path from {_from_files('binaryFile', self._log)}")
        return [str(row[0]).rsplit("/", 1)[-1] for row in rows]

    def _text(self, commits: range) -> str | None:
        """The text of commits as a FROM clause, or None where the checkpoint alone is the table."""
        if not commits:
            return None
        names = ",".join(version_patterns(commits[0], commits[-1]))
        return _from_files("text", self._log, f"{{{names}}}")

    def _head(self, segment: LogSegment, commits: range) -> TableHead:
        parts = []
        text = self._text(commits)
        if text:
            parts.append(
                f"select {_VERSION} as version, value from {text} "
                f"where value rlike {_first_key(*HEAD_ACTIONS)}"
            )
        if segment.checkpoint is None:
            return read_head(self._pairs(parts[0]))
        kind, names, version = _checkpoint_files(segment.checkpoint)
        is_there = " or ".join(f"{name} is not null" for name in _HEAD_FIELDS)
        with self._view(kind, self._log, names, columns=_HEAD_SCHEMA) as checkpoint:
            parts.append(
                f"select cast({version} as bigint) as version, "
                f"to_json(struct({_CHECKPOINT_FIELDS})) as value "
                f"from {checkpoint} where {is_there}"
            )
            return read_head(self._pairs(" union all ".join(parts)))

    def _pairs(self, query: str) -> Iterator[tuple[int, str]]:
        return ((int(version), str(text)) for version, text in self._sql.rows(query))

    def _files(
        self,
        segment: LogSegment,
        commits: range,
        head: TableHead,
        columns: Sequence[PartitionColumn],
        *,
        with_paths: bool,
    ) -> Iterator[DataFile]:
        wanted = _file_columns(columns, with_paths=with_paths)
        tail = None
        if segment.has_commits:
            tail = _tail_query(self._text(commits), segment.first_commit)
        from_tail = f"select {wanted} from tail where is_add"
        if segment.checkpoint is None:
            assert tail is not None
            yield from self._data_files(f"with tail as ({tail}) {from_tail}", len(columns))
            return
        kind, names, _ = _checkpoint_files(segment.checkpoint)
        folders = [(kind, self._log, names)]
        if head.sidecars:
            sidecars = ",".join(glob_text(name.rsplit("/", 1)[-1]) for name in head.sidecars)
            folders.append(("parquet", f"{self._log}/_sidecars", f"{{{sidecars}}}"))
        with self._views(folders, columns=_CHECKPOINT_SCHEMA) as views:
            adds = " union all ".join(
                f"select add, {_vector_id('add')} as dv_id, "
                "coalesce(cast(get_json_object(add.stats, '$.numRecords') as bigint), "
                f"add.stats_parsed.numRecords) as num_records from {view} "
                "where add is not null and add.path is not null"
                for view in views
            )
            if tail is None:
                query = f"with kept as ({adds}) select {wanted} from kept"
            else:
                query = (
                    f"with tail as ({tail}), kept as ({adds}) "
                    f"select {wanted} from kept left anti join tail "
                    "on kept.add.path = tail.path and kept.dv_id = tail.dv_id "
                    f"union all {from_tail}"
                )
            yield from self._data_files(query, len(columns))

    def _data_files(self, query: str, width: int) -> Iterator[DataFile]:
        keys: dict[PartitionKey, PartitionKey] = {}
        for row in self._sql.rows(query):
            size, records, deleted, modified, provider, zcube, path, dv_id = row[:8]
            key = partition_key(row[8 : 8 + width])
            yield DataFile(
                size_bytes=int(size or 0),
                partition=keys.setdefault(key, key),
                num_records=records,
                deleted_rows=int(deleted or 0),
                has_deletion_vector=deleted is not None,
                modified_ms=int(modified or 0),
                clustering_provider=provider,
                zcube_id=zcube,
                path=path,
                deletion_vector_id=dv_id or None,
            )

    def _added(
        self, commits: range, since_version: int, columns: Sequence[PartitionColumn]
    ) -> Iterator[AddedFiles]:
        text = self._text(commits)
        if text is None:
            return
        keys = [f"p{index}" for index in range(len(columns))]
        values = "".join(
            f", add.partitionValues[{string_literal(column.physical_name)}] as {key}"
            for key, column in zip(keys, columns, strict=True)
        )
        group = "".join(f", {key}" for key in keys)
        for version, data_change, files, size, *raw in self._sql.rows(
            f"select version, data_change, count(*), sum(size){group} from ("
            f"select version, coalesce(add.dataChange, true) as data_change, "
            f"add.size as size{values} "
            f"from (select {_VERSION} as version, inline(array(from_json(value, {string_literal(_FILE_SCHEMA)}))) "
            f"from {text} where value rlike {_first_key('add')}) where add is not null) "
            f"where version > {int(since_version)} group by version, data_change{group}"
        ):
            yield AddedFiles(
                int(version), partition_key(raw), int(files), int(size or 0), bool(data_change)
            )

    @contextmanager
    def _views(
        self, folders: Sequence[tuple[str, str, str]], *, columns: str
    ) -> Iterator[list[str]]:
        if not folders:
            yield []
            return
        kind, folder, names = folders[0]
        with (
            self._view(kind, folder, names, columns=columns) as first,
            self._views(folders[1:], columns=columns) as others,
        ):
            yield [first, *others]

    @contextmanager
    def _view(self, kind: str, folder: str, names: str, *, columns: str) -> Iterator[str]:
        """A temporary view over checkpoint files: only there can SQL text state a schema."""
        name = identifier(f"delta_maint_log_{uuid.uuid4().hex}")
        path = f"{glob_text(folder)}/{names}"
        self._sql.run(
            f"create temporary view {name} ({columns}) using {kind} "
            f"options (path {string_literal(path)})"
        )
        try:
            yield name
        finally:
            self._sql.run(f"drop view if exists {name}")


def _tail_query(commits: str | None, first_commit: int) -> str:
    """Per (path, deletion vector) the last action of the commits."""
    assert commits is not None
    record = "cast(get_json_object(add.stats, '$.numRecords') as bigint)"
    # Statistics are most of an action's bytes: they need not be sorted by.
    kept = ", ".join(f"'{name}', add.{name}" for name in _KEPT_FIELDS)
    return (
        "select path, dv_id, last.is_add as is_add, last.add as add, "
        "last.num_records as num_records from ("
        "select coalesce(add.path, remove.path) as path, "
        f"case when add is not null then {_vector_id('add')} else {_vector_id('remove')} end "
        f"as dv_id, max_by(struct(add is not null as is_add, named_struct({kept}) as add, "
        f"{record} as num_records), "
        "version) as last from ("
        f"select version, inline(array(from_json(value, {string_literal(_FILE_SCHEMA)}))) from ("
        f"select {_VERSION} as version, value from {commits}) "
        f"where version >= {first_commit} and value rlike {_first_key('add', 'remove')}) "
        "group by 1, 2)"
    )


def _first_key(*names: str) -> str:
    """A pattern, as SQL text, for lines whose one action is of these kinds."""
    return string_literal(r"^\s*[{]\s*\"(" + "|".join(names) + r")\"")


def _vector_id(action: str) -> str:
    vector = f"{action}.deletionVector"
    return (
        f"case when {vector} is null then '' else concat({vector}.storageType, "
        f"{vector}.pathOrInlineDv, coalesce(concat('@', {vector}.offset), '')) end"
    )


def _file_columns(columns: Sequence[PartitionColumn], *, with_paths: bool) -> str:
    values = [
        f"add.partitionValues[{string_literal(column.physical_name)}] as p{index}"
        for index, column in enumerate(columns)
    ]
    return ", ".join(
        [
            "add.size as size",
            "num_records",
            "add.deletionVector.cardinality as deleted",
            "add.modificationTime as modified",
            "add.clusteringProvider as provider",
            "add.tags['ZCUBE_ID'] as zcube",
            "add.path as file_path" if with_paths else "cast(null as string) as file_path",
            "dv_id as vector" if with_paths else "cast(null as string) as vector",
            *values,
        ]
    )


def _checkpoint_files(checkpoint: Checkpoint) -> tuple[str, str, int]:
    return checkpoint.format, f"{{{','.join(checkpoint.files)}}}", checkpoint.version


def _from_files(kind: str, folder: str, names: str | None = None) -> str:
    path = glob_text(folder) + (f"/{names}" if names else "")
    return f"{kind}.{identifier(path)}"


def glob_text(path: str) -> str:
    """Spark reads a path as a pattern: what users put into names must not act as one."""
    return re.sub(r"([\\*?\[\]{}^])", r"\\\1", path)
