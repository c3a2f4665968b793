"""Add and remove actions -> the files that are live: the last action for a (path, deletion vector) wins.

For a log that is small enough to be read line by line; `lake.inventory` has the same rule in SQL for the
others. Actions are the objects of the log as they stand there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.table import (
    AddedFiles,
    DataFile,
    PartitionColumn,
    PartitionKey,
    partition_key,
)

Action = Mapping[str, Any]


def live_adds(checkpoint: Iterable[Action], commits: Iterable[Action]) -> list[Action]:
    """The adds that are left of a checkpoint's and of all actions after it, which come in their order.

    >>> one, two = {"path": "a", "size": 1}, {"path": "b", "size": 2}
    >>> live_adds([one], [{"add": two}, {"remove": {"path": "a"}}])
    [{'path': 'b', 'size': 2}]
    """
    last: dict[tuple[str, str], Action | None] = {
        (add["path"], vector_id(add)): add for add in checkpoint
    }
    for action in commits:
        add, remove = action.get("add"), action.get("remove")
        if add is not None:
            last[add["path"], vector_id(add)] = add
        elif remove is not None:
            last[remove["path"], vector_id(remove)] = None
    return [add for add in last.values() if add is not None]


def vector_id(action: Action) -> str:
    """
    >>> vector_id({"deletionVector": {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1}})
    'uab@1'
    """
    vector = action.get("deletionVector")
    if vector is None:
        return ""
    offset = vector.get("offset")
    at = "" if offset is None else f"@{offset}"
    return f"{vector['storageType']}{vector['pathOrInlineDv']}{at}"


def num_records(add: Action) -> int | None:
    """Rows as the statistics have them; a checkpoint may hold these as a structure only."""
    try:
        found = json.loads(add.get("stats") or "{}").get("numRecords")
    except (ValueError, AttributeError):
        found = None
    if found is None:
        found = (add.get("stats_parsed") or {}).get("numRecords")
    return None if found is None else int(found)


def data_files(
    adds: Iterable[Action], columns: Sequence[PartitionColumn], *, with_paths: bool
) -> Iterator[DataFile]:
    keys: dict[PartitionKey, PartitionKey] = {}
    for add in adds:
        key = key_of(add, columns)
        vector = add.get("deletionVector")
        deleted = None if vector is None else vector.get("cardinality")
        yield DataFile(
            size_bytes=int(add.get("size") or 0),
            partition=keys.setdefault(key, key),
            num_records=num_records(add),
            deleted_rows=int(deleted or 0),
            has_deletion_vector=deleted is not None,
            modified_ms=int(add.get("modificationTime") or 0),
            clustering_provider=add.get("clusteringProvider"),
            zcube_id=(add.get("tags") or {}).get("ZCUBE_ID"),
            path=add["path"] if with_paths else None,
            deletion_vector_id=(vector_id(add) or None) if with_paths else None,
        )


def added_files(
    actions: Iterable[tuple[int, Action]], columns: Sequence[PartitionColumn]
) -> list[AddedFiles]:
    """What each commit added to each partition, rearranged files apart from new data."""
    found: dict[tuple[int, PartitionKey, bool], tuple[int, int]] = {}
    for version, action in actions:
        add = action.get("add")
        if add is None:
            continue
        changes = add.get("dataChange")
        key = (version, key_of(add, columns), True if changes is None else bool(changes))
        files, size = found.get(key, (0, 0))
        found[key] = (files + 1, size + int(add.get("size") or 0))
    return [AddedFiles(v, key, *counted, changes) for (v, key, changes), counted in found.items()]


def key_of(add: Action, columns: Sequence[PartitionColumn]) -> PartitionKey:
    values = add.get("partitionValues") or {}
    return partition_key(values.get(column.physical_name) for column in columns)
