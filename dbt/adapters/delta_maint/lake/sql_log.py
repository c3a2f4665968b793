"""Single commits of a table's log by SQL text, for connections without a driver at hand.

A few small statements instead of a few file reads; the answers are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.replay import version_patterns
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.lake.inventory import glob_text
from dbt.adapters.delta_maint.lake.sql_runner import SqlRunner

_VERSION = r"try_cast(regexp_extract(_metadata.file_name, '^(\\d{20})', 1) as bigint)"


def commit_lines(sql: SqlRunner, location: str, version: int, limit: int = 100) -> Iterator[str]:
    """The first lines of a commit's file; none when it is not under its usual name."""
    path = identifier(f"{_log(location)}/{version:020d}.json")
    try:
        yield from (str(row[0]) for row in sql.rows(f"select value from text.{path} limit {limit}"))
    except Exception:  # a coordinated commit may still stand under another name
        return


def read_commit(sql: SqlRunner, location: str, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in commit_lines(sql, location, version, 10_000_000) if line]


def newest_version(sql: SqlRunner, location: str) -> int:
    path = identifier(f"{_log(location)}/*.json")
    rows = list(sql.rows(f"select max({_VERSION}) from binaryFile.{path}"))
    return int(rows[0][0]) if rows and rows[0][0] is not None else -1


def read_commits(
    sql: SqlRunner, location: str, first: int, last: int, *, only_with: Sequence[str] = ()
) -> dict[int, list[dict[str, Any]]]:
    """The actions of several commits in one statement; with `only_with`, of lines that hold these words."""
    names = ",".join(version_patterns(first, last))
    words = " and ".join(f"contains(value, {string_literal(word)})" for word in only_with)
    path = identifier(f"{_log(location)}/{{{names}}}")
    found: dict[int, list[dict[str, Any]]] = {}
    where = f" where {words}" if words else ""
    for version, text in sql.rows(f"select {_VERSION}, value from text.{path}{where}"):
        found.setdefault(int(version), []).append(json.loads(text))
    return found


def _log(location: str) -> str:
    return f"{glob_text(location.rstrip('/'))}/_delta_log"
