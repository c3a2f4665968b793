"""What the package's fixtures say in Postgres, said in Spark SQL.

Only words change here: type names, quotes, casts, and statements that Spark takes one at a time. Nothing
that a test checks passes through these rules, except the names of types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

TRANSLATED_SUFFIXES = {".sql", ".yml"}

RULES: list[tuple[str, str]] = [
    (r"\bTEXT\b(?!\s*:)", "string"),
    (r"\bBOOL\b", "boolean"),
    (r"\bSERIAL PRIMARY KEY\b", "integer"),
    (r"\bdouble precision\b", "double"),
    (r"\btimestamp without time zone\b", "timestamp"),
    (r"\btimestamptz\b", "timestamp"),
    (r"\bset session time zone\b", "set time zone"),
    (r"current_setting\('timezone'\)", "current_timezone()"),
]


def spark_sql(text: str, extra: dict[str, str] | None = None) -> str:
    """
    >>> spark_sql("select 'a'::text as b")
    "select 'a'::string as b"
    """
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    for wanted, replacement in (extra or {}).items():
        text = text.replace(wanted, replacement)
    return text


def spark_names(text: str) -> str:
    """
    >>> spark_names('select "id" from t')
    'select `id` from t'
    """
    return re.sub(r'"(\w+)"', r"`\1`", text)


def statements(text: str) -> Iterator[str]:
    """The statements of a script, one by one; a semicolon inside a literal ends nothing.

    >>> list(statements("select ';'; select 2;"))
    ["select ';'", 'select 2']
    """
    for found in re.finditer(r"(?:'(?:[^']|'')*'|--[^\n]*|[^;'])+", text):
        statement = found.group().strip()
        if re.sub(r"--[^\n]*", "", statement).strip():
            yield statement


def spark_sql_in(path: Path, words: dict[str, str] | None = None) -> None:
    path = Path(path)
    path.write_text(spark_sql(path.read_text(), words))


class PostgresFixtures:
    """Mixed into a class whose files and statements are written for Postgres."""

    words: ClassVar[dict[str, str]] = {}

    @pytest.fixture(scope="class")
    def project_files(self, project_files: None, project_root: Any) -> None:
        for path in Path(project_root).rglob("*"):
            if path.suffix in TRANSLATED_SUFFIXES and path.name != "dbt_project.yml":
                spark_sql_in(path, self.words)

    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        project.run_sql = self._in_spark_sql(project.run_sql)
        return project

    def _in_spark_sql(self, run_sql: Callable[..., Any]) -> Callable[..., Any]:
        def run(sql: str, fetch: str | None = None) -> Any:
            result = None
            for statement in statements(spark_names(spark_sql(sql, self.words))):
                result = run_sql(statement, fetch=fetch)
            return result

        return run
