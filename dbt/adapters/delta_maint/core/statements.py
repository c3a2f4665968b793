"""A script -> its statements: Spark takes one at a time, dbt sends a header and a query together."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)"
    # In a raw string a backslash is a backslash.
    r"|\b[rR](?:'[^']*'|\"[^\"]*\")"
    r"|'(?:[^'\\]|\\.)*'"
    r'|"(?:[^"\\]|\\.)*"'
    r"|`(?:[^`]|``)*`"
    r"|(?P<end>;)"
    r"|(?P<space>\s+)"
    r"|[^-/'\"`;\s]+"
    r"|.",
    re.DOTALL,
)


def split_statements(script: str) -> list[str]:
    r"""Statements in order; comments stay with the statement they stand before.

    A compound statement (BEGIN ... END) is one statement to Spark, so it is left whole.

    >>> split_statements("set time zone 'UTC'; select ';' -- a; b")
    ["set time zone 'UTC'", "select ';' -- a; b"]
    >>> split_statements(r"select r'a\' as a; select 'b\';' as b")
    ["select r'a\\' as a", "select 'b\\';' as b"]
    >>> split_statements("begin select 1; select 2; end")
    ['begin select 1; select 2; end']
    """
    if ";" not in script:
        return [script] if script.strip() else []
    found: list[str] = []
    start = 0
    is_empty = True
    for token in _TOKEN.finditer(script):
        if token.lastgroup == "end":
            if not is_empty:
                found.append(script[start : token.start()].strip())
            start, is_empty = token.end(), True
        elif token.lastgroup is None:
            if is_empty and not found and token.group().lower() == "begin":
                return [script]
            is_empty = False
    if not is_empty:
        found.append(script[start:].strip())
    return found
