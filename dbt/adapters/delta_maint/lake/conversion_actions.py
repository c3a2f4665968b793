"""The add actions of version 0, one line per file, with the statistics its footer gave."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core import delta_stats
from dbt.adapters.delta_maint.core.hive_layout import encode_path
from dbt.adapters.delta_maint.core.log_actions import AddFile, add_line
from dbt.adapters.delta_maint.lake.file_access import FileEntry, TableFiles
from dbt.adapters.delta_maint.lake.footers import Footers
from dbt.adapters.delta_maint.lake.jvm_delta import DraftTable
from dbt.adapters.delta_maint.lake.statistics_scan import Scanned, scan_statistics


@dataclass(frozen=True)
class ActionSettings:
    statistics: str
    string_prefix: int
    names_files_absolutely: bool


class ActionsWriter:
    def __init__(
        self, spark: Any, files: TableFiles, draft: DraftTable, settings: ActionSettings
    ) -> None:
        self._spark = spark
        self._files = files
        self._draft = draft
        self._settings = settings
        self._columns = delta_stats.indexed_columns(
            draft.schema, draft.partition_columns, draft.configuration
        )
        self.stats = delta_stats.StatsWriter(
            self._columns, tight_bounds="deletionVectors" in draft.features
        )

    def unread_leaves(self, footers: Footers) -> dict[str, list[int]]:
        """By schema text: all leaves to read, where the table indexes some that were not read.

        A table indexes by its own column order, which files with another order cannot know.
        """
        again = {}
        for schema in footers.schemas:
            _, unread = delta_stats.sources(schema.columns, schema.wanted, self._columns)
            if unread and self._settings.statistics != "none":
                again[schema.text] = sorted({*schema.wanted, *unread})
        return again

    def write(
        self,
        entries: Sequence[FileEntry],
        values_of: Callable[[int], Sequence[str | None]],
        footers: Footers,
    ) -> str:
        """The path of the file with the actions; the caller removes it."""
        columns = self._columns
        plans = [delta_stats.sources(s.columns, s.wanted, columns)[0] for s in footers.schemas]
        scanned = self._scan(entries, footers, plans) if self._settings.statistics == "full" else {}
        handle, path = tempfile.mkstemp(prefix="delta_maint-convert-", suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            for number, rows, schema, leaves in footers:
                entry = entries[number]
                stats = None
                if self._settings.statistics != "none":
                    stats = self.stats.text(
                        rows, leaves or [], plans[schema], scanned=scanned.get(number)
                    )
                values = dict(zip(self._draft.partition_columns, values_of(number), strict=True))
                action = AddFile(
                    self._log_path(entry), values, entry.size_bytes, entry.modified_ms, stats
                )
                out.write(add_line(action) + "\n")
        return path

    def _scan(
        self, entries: Sequence[FileEntry], footers: Footers, plans: Sequence[Any]
    ) -> Scanned:
        missing: dict[int, list[int]] = {}
        for number, rows, schema, leaves in footers:
            lacking = self.stats.lacking(rows, leaves or [], plans[schema]) if rows else []
            if lacking:
                missing[number] = lacking
        if not missing:
            return {}
        return scan_statistics(
            self._spark,
            self._draft.schema,
            self._columns,
            missing,
            {number: spark_path(self._files, entries[number]) for number in missing},
            string_prefix=self._settings.string_prefix,
        )

    def _log_path(self, entry: FileEntry) -> str:
        """Relative where log and files share a root, else a full URI."""
        if not is_absolute(entry.path) and not self._settings.names_files_absolutely:
            return encode_path(entry.path)
        path = entry.path if is_absolute(entry.path) else self._files.absolute(entry.path)
        if path.startswith("/"):
            return "file://" + encode_path(path)
        scheme, _, rest = path.partition("://")
        authority, slash, inside = rest.partition("/")
        return f"{scheme}://{authority}{slash}{encode_path(inside)}"


def is_absolute(path: str) -> bool:
    return path.startswith("/") or "://" in path


def spark_path(files: TableFiles, entry: FileEntry) -> str:
    """A file as spark.read takes it."""
    if entry.path.startswith("/"):
        return f"file:{entry.path}"
    if is_absolute(entry.path):
        return entry.path
    return f"{files.location.rstrip('/')}/{entry.path}"
