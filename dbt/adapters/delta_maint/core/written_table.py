"""Which table a statement writes, read from its first words."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/)", re.DOTALL)
_NAME = r"((?:`(?:[^`]|``)*`|[\w$-]+)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[\w$-]+))*)"
_WRITE = re.compile(
    r"\s*(?:"
    r"insert\s+(?:with\s+schema\s+evolution\s+)?(?:into|overwrite)\s+(?:table\s+)?"
    r"|merge\s+(?:with\s+schema\s+evolution\s+)?into\s+"
    r"|create\s+(?:or\s+replace\s+)?table\s+(?:if\s+not\s+exists\s+)?"
    r"|replace\s+table\s+"
    r"|alter\s+table\s+"
    r"|truncate\s+table\s+"
    r"|restore\s+(?:table\s+)?"
    r"|delete\s+from\s+"
    r"|update\s+"
    r"|optimize\s+"
    r"|reorg\s+table\s+"
    r"|convert\s+to\s+delta\s+"
    r")" + _NAME,
    re.IGNORECASE,
)
_READS = re.compile(
    r"\s*\(*\s*(?:select|show|describe|desc|explain|values|from|list|with\b(?!.*\binsert\b))\b",
    re.IGNORECASE | re.DOTALL,
)


def written_table(sql: str) -> str | None:
    """The table as the statement names it; None for a statement that writes no table by name.

    >>> written_table('/* {"app": "dbt"} */ insert into table `a`.`b` select 1')
    '`a`.`b`'
    >>> written_table("create or replace table spark_catalog.s.t using delta as select 1")
    'spark_catalog.s.t'
    >>> written_table("merge into t as target using s on true")
    't'
    >>> written_table("select 'insert into t'") is None
    True
    """
    found = _WRITE.match(without_leading_comments(sql))
    return found.group(1) if found else None


def only_reads(sql: str) -> bool:
    """Whether a statement certainly changes nothing, so that it may be sent twice.

    >>> only_reads("with a as (select 1) select * from a"), only_reads("drop table t")
    (True, False)
    """
    return _READS.match(without_leading_comments(sql)) is not None


def without_leading_comments(sql: str) -> str:
    while found := _COMMENT.match(sql):
        sql = sql[found.end() :]
    return sql
