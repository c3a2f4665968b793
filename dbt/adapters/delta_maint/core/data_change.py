"""Which commits of a table changed its data: what source freshness counts.

Compaction, vacuum, properties and columns leave the data as it was. A commit says so itself: the files
it adds or removes carry `dataChange: false`, or there are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

MAINTENANCE = frozenset(
    {
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "ANALYZE",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "CLUSTER BY",
        "COMPUTE STATS",
        "CREATE TABLE",
        "DROP COLUMNS",
        "DROP CONSTRAINT",
        "DROP FEATURE",
        "OPTIMIZE",
        "RENAME COLUMN",
        "REORG",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPDATE SCHEMA",
        "UPDATE SCHEMA METADATA",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)


def changed_data_at(lines: Iterable[str]) -> int | None:
    """Milliseconds since the epoch of a commit that changed data; None for any other commit.

    `lines` are the first of a commit's file, read only as far as the answer needs.
    """
    stamp: int | None = None
    for line in lines:
        action = json.loads(line)
        info = action.get("commitInfo")
        if info:
            stamp = info.get("inCommitTimestamp") or info.get("timestamp")
        for kind in ("add", "remove"):
            if kind in action and action[kind].get("dataChange", True):
                return stamp
    return None
