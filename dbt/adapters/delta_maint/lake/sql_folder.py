"""A folder of parquet as plain SQL shows it: its files, and the columns all of them have together.

For connections that know nothing but SQL. What is looked at hides behind a temporary view for a moment and
changes nothing.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.core.hive_layout import is_hidden_file, is_hidden_folder
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.lake.file_access import FileEntry
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

RunSql = Callable[[str], Sequence[Any]]
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:/*", re.IGNORECASE)
_UNREADABLE = re.compile(r"FOOTER|is not a Parquet file", re.IGNORECASE)


class SqlFolder:
    def __init__(self, run_sql: RunSql, root: str) -> None:
        self._sql = run_sql
        self._root = root

    def files(self) -> list[FileEntry]:
        """Every visible file below the folder, in path order."""
        try:
            with self._view("binaryFile") as view:
                rows = self._sql(f"SELECT path, length, unix_millis(modificationTime) FROM {view}")
        except Exception as exc:  # each kind of server has its own errors
            sentence = telling_sentence(exc)
            if "PATH_NOT_FOUND" in sentence:
                raise ConversionError(
                    f"[DELTA_PATH_DOES_NOT_EXIST] {self._root} doesn't exist: check the path."
                ) from exc
            raise ConversionError(f"{self._root} cannot be listed: {sentence}") from exc
        base = _bare(self._root).rstrip("/") + "/"
        found = []
        for path, length, modified in rows:
            inside = _bare(path).removeprefix(base)
            *folders, name = inside.split("/")
            if not is_hidden_file(name) and not any(is_hidden_folder(f) for f in folders):
                found.append(FileEntry(inside, int(length), int(modified)))
        if not found:
            raise ConversionError(
                f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {self._root}"
            )
        return sorted(found)

    def columns(self) -> list[tuple[str, str]]:
        """Name and type of every column, from every footer: one that cannot be read shows here.

        Empty where Spark does not merge the schemas: Delta merges some that Spark does not.
        """
        try:
            with self._view("parquet", mergeSchema="true") as view:
                return [(str(row[0]), str(row[1])) for row in self._sql(f"DESCRIBE TABLE {view}")]
        except Exception as exc:
            sentence = telling_sentence(exc)
            if not _UNREADABLE.search(sentence):
                return []
            raise ConversionError(
                f"[DELTA_FAILED_READ_FILE_FOOTER] A file in {self._root} is not readable parquet: "
                f"{sentence}. Remove it; on_bad_file: skip needs engine: footer."
            ) from exc

    @contextmanager
    def _view(self, provider: str, **options: str) -> Iterator[str]:
        view = identifier(f"delta_maint_{provider}_{uuid.uuid4().hex}")
        given = {"path": self._root, "recursiveFileLookup": "true", **options}
        inside = ", ".join(f"{key} {string_literal(value)}" for key, value in given.items())
        self._sql(f"CREATE TEMPORARY VIEW {view} USING {provider} OPTIONS ({inside})")
        try:
            yield view
        finally:
            self._sql(f"DROP VIEW {view}")


def _bare(path: str) -> str:
    return "/" + _SCHEME.sub("", path, count=1).lstrip("/")
