"""The newest commits of a table, read from their own files: no Spark job, no lock.

A commit file names every file it added, with size and row count. A few of them tell more about the next
write than the whole table does, for a few milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dbt.adapters.delta_maint.core.calibration import (
    TELLING_BYTES,
    TELLING_FRACTION,
    PastWrite,
    SizedFile,
)
from dbt.adapters.delta_maint.lake import sql_log
from dbt.adapters.delta_maint.lake.commit_files import CommitFiles, commit_files
from dbt.adapters.delta_maint.lake.commit_mark import TOOL, WRITE, read_mark
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql, SqlRunner, has_driver

LOOK_BACK = 20
OWN_COMMITS = 5


def recent_writes(spark: Any, location: str) -> list[PastWrite]:
    """Our own writes among the last commits, newest first."""
    if not has_driver(spark):
        return recent_writes_by_sql(SessionSql(spark), location)
    found: list[PastWrite] = []
    files = commit_files(spark, location)
    newest = files.newest_version()
    for version in range(newest, max(-1, newest - LOOK_BACK), -1):
        write = past_write(_actions(files, version))
        if write is not None:
            found.append(write)
        if len(found) >= OWN_COMMITS and any(is_telling(write) for write in found):
            break
    return found


def recent_writes_by_sql(sql: SqlRunner, location: str) -> list[PastWrite]:
    """The same in three statements: what is there, whose it is, and the newest of ours."""
    newest = sql_log.newest_version(sql, location)
    if newest < 0:
        return []
    oldest = max(0, newest - LOOK_BACK + 1)
    marks = sql_log.read_commits(sql, location, oldest, newest, only_with=("commitInfo", TOOL))
    ours = [version for version in sorted(marks, reverse=True) if past_write(marks[version])]
    wanted = ours[:OWN_COMMITS]
    if not wanted:
        return []
    commits = sql_log.read_commits(sql, location, min(wanted), max(wanted))
    found = (past_write(commits.get(version, [])) for version in wanted)
    return [write for write in found if write is not None]


def is_telling(write: PastWrite) -> bool:
    """Small commits say little about a large one: then older commits are asked as well."""
    telling = min(TELLING_BYTES, TELLING_FRACTION * (write.target_bytes or TELLING_BYTES))
    return any(file.bytes >= telling for file in write.files)


def past_write(actions: Sequence[dict[str, Any]]) -> PastWrite | None:
    info: dict[str, Any] = next(
        (action["commitInfo"] for action in actions if "commitInfo" in action), {}
    )
    mark = read_mark(info.get("userMetadata"))
    if mark is None or mark.action != WRITE or "fingerprint" not in mark.details:
        return None
    told = mark.details
    return PastWrite(
        fingerprint=str(told["fingerprint"]),
        source=str(told.get("source", "")),
        files=tuple(added_files(actions)),
        mode=str(told.get("mode", "")),
        target_bytes=int(told.get("target_bytes") or 0),
        shuffle_ratio=told.get("shuffle_ratio"),
        salt=str(told.get("salt") or ""),
        expected_bytes=told.get("expected_bytes"),
    )


def added_files(actions: Sequence[dict[str, Any]]) -> list[SizedFile]:
    """New files; a file that was only given a deletion vector is not new."""
    removed = {action["remove"]["path"] for action in actions if "remove" in action}
    found = []
    for action in actions:
        add = action.get("add")
        if add is None or add["path"] in removed:
            continue
        stats = json.loads(add.get("stats") or "{}")
        values = tuple(value or None for value in (add.get("partitionValues") or {}).values())
        found.append(SizedFile(values, int(add["size"]), int(stats.get("numRecords") or 0)))
    return found


def read_commit(spark: Any, location: str, version: int) -> list[dict[str, Any]]:
    """The actions of one commit; none when it is gone or too large to be worth reading."""
    if not has_driver(spark):
        return sql_log.read_commit(SessionSql(spark), location, version)
    return _actions(commit_files(spark, location), version)


def _actions(files: CommitFiles, version: int) -> list[dict[str, Any]]:
    # Not splitlines: a statistic may hold a character that is a line's end to Python and none to JSON.
    lines = (files.text(version) or "").split("\n")
    return [json.loads(line) for line in lines if line.strip()]
