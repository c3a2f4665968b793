"""Which files become the table, and the partition values of each.

Three manifests, as the native command has them: the log of a streaming sink, the partitions of a catalog
table, or the folder tree. Unlike it, files in folders below a catalog partition are taken, a null partition
of the metastore is null, and a partition outside of the root is taken by its absolute path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from dbt.adapters.delta_maint.core.errors import (
    ConversionChangedError,
    ConversionError,
    PartitionLayoutError,
)
from dbt.adapters.delta_maint.core.hive_layout import (
    common_columns,
    partition_pairs,
    require_columns,
)
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogPartition
from dbt.adapters.delta_maint.lake.conversion_source import SINK_LOG, Source
from dbt.adapters.delta_maint.lake.file_access import (
    FileEntry,
    TableFiles,
    open_files,
    relative_to,
    strip_file_scheme,
)
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

# Whole files have other names, too: what these two end in says that a writer is at work.
UNFINISHED_SUFFIXES = ("._COPYING_", ".inprogress")
SHOWN_CHANGES = 5


@dataclass(frozen=True)
class Listing:
    """Files in path order; `values` holds the raw partition values of each, as the folders say them."""

    manifest: str
    files: list[FileEntry]
    columns: tuple[str, ...]
    values: list[tuple[str | None, ...]]
    unlisted: tuple[str, ...] = ()
    # Stores of partitions that lie outside of the root, by their location.
    outside: dict[str, TableFiles] = field(default_factory=dict)


def list_source(
    source: Source,
    delta: JvmDelta,
    *,
    partitions: Sequence[CatalogPartition] | None,
    expected_columns: Sequence[str] | None,
    uses_sink_log: bool = True,
) -> Listing:
    """`partitions` are those of the catalog, or None where the folders decide."""
    if uses_sink_log and source.files.exists(SINK_LOG):
        entries = sink_log_files(source.files)
        return _tree_listing("streaming sink log", entries, expected_columns, source)
    if partitions is not None and source.entry is not None:
        return _catalog_listing(source, partitions, delta)
    return _tree_listing("folder", source.files.list_tree(), expected_columns, source)


def refuse_changes(before: Listing, after: Listing) -> None:
    """A writer that is still at work would be lost, or half taken."""
    old, new = set(before.files), set(after.files)
    if old == new:
        return
    changed = sorted({entry.path for entry in old ^ new})
    shown = ", ".join(changed[:SHOWN_CHANGES])
    more = f" and {len(changed) - SHOWN_CHANGES:,} more" if len(changed) > SHOWN_CHANGES else ""
    raise ConversionChangedError(
        f"The folder changed while it was being converted ({shown}{more}): stop its writers and "
        "run the conversion again; nothing was written."
    )


def sink_log_files(files: TableFiles) -> list[FileEntry]:
    """The files a streaming query has committed: the last compaction and every batch after it."""
    names = [name for name in files.names(SINK_LOG) if name.split(".")[0].isdigit()]
    compactions = [int(name.split(".")[0]) for name in names if name.endswith(".compact")]
    newest = max(compactions, default=-1)
    found: dict[str, FileEntry] = {}
    for name in sorted(names, key=lambda name: int(name.split(".")[0])):
        batch = int(name.split(".")[0])
        if batch < newest or (batch == newest and not name.endswith(".compact")):
            continue
        for line in files.read_bytes(f"{SINK_LOG}/{name}").decode().splitlines()[1:]:
            action = json.loads(line)
            path = unquote(action["path"])
            local = strip_file_scheme(path) if files.scheme == "file" else path
            relative = relative_to(files.root, local)
            if action.get("action", "add") == "delete":
                found.pop(relative, None)
            else:
                found[relative] = FileEntry(relative, action["size"], action["modificationTime"])
    return sorted(found.values())


def unfit_reason(entry: FileEntry, *, on_disk: bool) -> str | None:
    """What a name or a size alone says against a file."""
    if entry.size_bytes == 0:
        return "empty (0 bytes)"
    if entry.path.endswith(UNFINISHED_SUFFIXES):
        return "its name says that it is still being written"
    if ":" in entry.path.partition("/")[0] and "://" not in entry.path:
        return (
            "a colon in the first part of its path, which Delta takes for a URI's scheme: rename it"
        )
    if on_disk and ":" in entry.path.rpartition("/")[2]:
        return "its name holds a colon, with which Spark cannot open a file on a disk: rename it"
    return None


def _tree_listing(
    manifest: str,
    entries: list[FileEntry],
    expected_columns: Sequence[str] | None,
    source: Source,
) -> Listing:
    if not entries:
        raise ConversionError(
            f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {source.files.root}"
        )
    folders = {entry.path.rpartition("/")[0] for entry in entries}
    if expected_columns is None:
        columns = common_columns(folders)
    else:
        require_columns(expected_columns, folders)
        columns = tuple(expected_columns)
    values = {folder: tuple(value for _, value in partition_pairs(folder)) for folder in folders}
    return Listing(
        manifest, entries, columns, [values[entry.path.rpartition("/")[0]] for entry in entries]
    )


def _catalog_listing(
    source: Source, partitions: Sequence[CatalogPartition], delta: JvmDelta
) -> Listing:
    assert source.entry is not None
    columns = source.entry.partition_columns
    if not partitions:
        raise PartitionLayoutError(
            "[DELTA_CONVERSION_NO_PARTITION_FOUND] Found no partition information in the catalog "
            f"for table {source.label}: run MSCK REPAIR TABLE {source.label} to make Spark find "
            "its partitions."
        )
    inside: dict[str, tuple[str | None, ...]] = {}
    found: list[tuple[FileEntry, tuple[str | None, ...]]] = []
    outside: dict[str, TableFiles] = {}
    for partition in partitions:
        lowered = {name.lower(): value for name, value in partition.values.items()}
        values = tuple(lowered[name.lower()] for name in columns)
        files = open_files(delta, partition.location)
        if files.scheme == source.files.scheme and files.root.startswith(f"{source.files.root}/"):
            inside[relative_to(source.files.root, files.root)] = values
        else:
            outside[files.root] = files
            found += [
                (entry._replace(path=files.absolute(entry.path)), values)
                for entry in (files.list_tree() if files.exists() else [])
            ]
    unlisted = []
    for entry in source.files.list_tree():
        values_found = _deepest(entry.path.rpartition("/")[0], inside)
        if values_found is None:
            unlisted.append(entry.path)
        else:
            found.append((entry, values_found))
    if not found:
        raise ConversionError(
            f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {source.files.root}"
        )
    found.sort(key=lambda pair: pair[0])
    return Listing(
        "catalog partitions",
        [entry for entry, _ in found],
        columns,
        [values for _, values in found],
        _as_folders(unlisted),
        outside,
    )


def _deepest(
    folder: str, partitions: dict[str, tuple[str | None, ...]]
) -> tuple[str | None, ...] | None:
    while folder:
        if folder in partitions:
            return partitions[folder]
        folder = folder.rpartition("/")[0]
    return None


def _as_folders(paths: Sequence[str]) -> tuple[str, ...]:
    """Files that share a folder are named by it."""
    return tuple(sorted({path.rpartition("/")[0] + "/" if "/" in path else path for path in paths}))
