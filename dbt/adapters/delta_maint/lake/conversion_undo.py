"""The way back: a table we converted is parquet again while nothing but our version 0 exists.

The log is renamed aside in one step, looked at once more there, and only then removed: a commit that came in
between is found and the log goes back. Killed half-way, the next undo finds the log aside and finishes. No
data file is ever touched.
"""

from __future__ import annotations

import json
import uuid
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core.errors import UndoError
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogEntry, SessionCatalog
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark, read_mark
from dbt.adapters.delta_maint.lake.conversion_source import (
    COMMIT_NAME,
    refuse_foreign,
    require_allowed,
    split_provider,
)
from dbt.adapters.delta_maint.lake.file_access import DELTA_LOG, TableFiles, open_files
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

ASIDE = "_delta_log.undo-"
VERSION_ZERO = f"{0:020}.json"


@dataclass(frozen=True)
class UndoPlan:
    target: str
    root: str
    files: int
    restores_entry: str | None
    drops_entry: str | None
    outcome: str = "planned"


class Undoer:
    def __init__(self, spark: Any, delta: JvmDelta, *, allowed_roots: Any = ()) -> None:
        self._spark = spark
        self._delta = delta
        self._catalog = SessionCatalog(spark)
        self._allowed_roots = allowed_roots

    def undo(
        self,
        *,
        path: str | None = None,
        table: tuple[str | None, str, str] | None = None,
        dry_run: bool = False,
    ) -> UndoPlan:
        label, location, named = self._resolve(path, table)
        files = open_files(self._delta, location)
        require_allowed(files.root, self._allowed_roots)
        if not files.has_atomic_rename:
            raise UndoError(
                f"{label} is on {files.scheme}, where a folder is not renamed in one step, so its "
                "log cannot be taken away safely: stop all writers and remove "
                f"{files.absolute(DELTA_LOG)} yourself."
            )
        with files.alone() if files.exists() else nullcontext():
            folder = self._log_folder(files, label)
            refuse_further_versions(files, folder, label)
            mark, converted_files = _read_our_commit(files, folder, label)
            original = mark.details.get("catalog_entry")
            entry = CatalogEntry.from_dict(original) if original else None
            if entry is not None and entry.is_hive_serde:
                raise UndoError(
                    f"{entry.name} was a Hive table, whose entry Spark cannot change back: remove "
                    f"{files.absolute(DELTA_LOG)} and declare the table anew."
                )
            if entry is not None and not self._still_names(entry, files):
                entry = None
            is_ours = named is not None and named.provider == "delta" and entry is None
            plan = UndoPlan(
                target=label,
                root=files.root,
                files=converted_files,
                restores_entry=entry.name if entry else None,
                drops_entry=named.name if is_ours and named is not None else None,
            )
            if is_ours and named is not None and named.is_managed:
                raise UndoError(f"{label} is a managed table that no conversion made.")
            if dry_run:
                return plan
            if folder == DELTA_LOG:
                folder = _move_aside(files, label)
            if entry is not None:
                self._catalog.restore(entry)
            if is_ours and named is not None:
                self._spark.sql(f"DROP TABLE {named.sql_name}")
            files.remove_tree(folder)
            if mark.details.get("mode") == "snapshot":
                files.remove_empty_folder("")
        self._delta.forget(files.location)
        return UndoPlan(**{**plan.__dict__, "outcome": "undone"})

    def _resolve(
        self, path: str | None, table: tuple[str | None, str, str] | None
    ) -> tuple[str, str, CatalogEntry | None]:
        if table is not None:
            entry = self._catalog.find(table)
            if entry is None:
                raise UndoError(
                    f"There is no table {table[1]}.{table[2]} in the catalog: name its folder with "
                    "path."
                )
            return entry.name, entry.location, entry
        assert path is not None
        provider, location = split_provider(path)
        if provider not in ("parquet", "delta"):
            refuse_foreign(provider, path)
        return location, location, None

    def _still_names(self, entry: CatalogEntry, files: TableFiles) -> bool:
        """Whether the entry of that time is there and is the table of this folder."""
        found = self._catalog.find((None, entry.schema_name, entry.table_name))
        return found is not None and open_files(self._delta, found.location).root == files.root

    def _log_folder(self, files: TableFiles, label: str) -> str:
        if files.exists(DELTA_LOG):
            return DELTA_LOG
        for name in files.names("") if files.exists() else []:
            if name.startswith(ASIDE):
                return name
        raise UndoError(f"{label} has no Delta log, so there is nothing to take back.")


def refuse_further_versions(files: TableFiles, folder: str, label: str) -> None:
    versions = {int(n[:20]) for n in files.names(folder) if COMMIT_NAME.fullmatch(n)}
    if versions - {0}:
        raise UndoError(
            f"{label} has been written to since its conversion (version {max(versions)}): what was "
            "written would be lost. Read it out first, or keep the table."
        )
    if 0 not in versions:
        raise UndoError(f"{label} has no version 0, so it is not known what to take back.")


def remove_version_zero(files: TableFiles, delta: JvmDelta) -> None:
    """Takes back a commit of this very process that did not verify."""
    refuse_further_versions(files, DELTA_LOG, files.root)
    files.remove_tree(_move_aside(files, files.root) if files.has_atomic_rename else DELTA_LOG)
    delta.forget(files.location)


def conversion_run(files: TableFiles) -> str | None:
    """Which run of ours wrote version 0; None when it was somebody else."""
    mark = _mark_of(_commit_info(files, DELTA_LOG))
    return None if mark is None else str(mark.details.get("run"))


def _move_aside(files: TableFiles, label: str) -> str:
    aside = f"{ASIDE}{uuid.uuid4().hex}"
    files.rename(DELTA_LOG, aside)
    try:
        refuse_further_versions(files, aside, label)
    except UndoError:
        files.rename(aside, DELTA_LOG)
        raise
    return aside


def _read_our_commit(files: TableFiles, folder: str, label: str) -> tuple[CommitMark, int]:
    info = _commit_info(files, folder)
    mark = _mark_of(info)
    if mark is None:
        raise UndoError(
            f"{label} was not made by convert_to_delta (its version 0 is a "
            f"{info.get('operation', 'commit without commitInfo')}), so it is not taken back."
        )
    return mark, int(info.get("operationParameters", {}).get("numFiles", 0))


def _commit_info(files: TableFiles, folder: str) -> dict[str, Any]:
    for line in files.read_bytes(f"{folder}/{VERSION_ZERO}").splitlines():
        if line.startswith(b'{"commitInfo"'):
            return dict(json.loads(line)["commitInfo"])
    return {}


def _mark_of(info: dict[str, Any]) -> CommitMark | None:
    mark = read_mark(info.get("userMetadata"))
    is_ours = info.get("operation") == "CONVERT" and mark is not None and mark.action == "convert"
    return mark if is_ours else None
