"""The defaults that a model declares for its columns, against those its table has.

dbt has no key of its own for a default; it is a column constraint of type `custom` whose expression reads
`default <expression>`. Delta refuses a default in ADD COLUMN and a CREATE TABLE AS SELECT has no place for
one, so defaults are set by ALTER once the rows are in the table. They are for rows to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.errors import ConfigError

FEATURE = "delta.feature.allowColumnDefaults"
_DEFAULT = re.compile(r"\s*default\s+(.*\S)\s*", re.IGNORECASE | re.DOTALL)
_HEADING = "# Column Default Values"


def wanted_defaults(columns: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """
    >>> wanted_defaults([{"name": "n", "constraints": [{"type": "custom", "expression": "default 3"}]}])
    {'n': '3'}
    """
    found: dict[str, str] = {}
    for column in columns:
        for constraint in column.get("constraints") or []:
            if str(getattr(constraint["type"], "value", constraint["type"])) != "custom":
                continue
            expression = str(constraint.get("expression") or "")
            default = _DEFAULT.fullmatch(expression)
            if default is None:
                raise ConfigError(
                    f"The custom constraint of column {column['name']} is {expression!r}: only "
                    "`default <expression>` is known; use type check for a condition."
                )
            found[column["name"]] = default[1]
    return found


def observed_defaults(description: Iterable[Sequence[Any]]) -> dict[str, str]:
    """From the rows (name, type, text) of DESCRIBE TABLE EXTENDED, by name in lower case."""
    found: dict[str, str] = {}
    inside = False
    for name, _, text, *_ in description:
        if str(name).startswith("#") or not name:
            inside = name == _HEADING
        elif inside:
            found[str(name).lower()] = str(text)
    return found


def default_changes(
    table: str, wanted: Mapping[str, str], observed: Mapping[str, str]
) -> list[str]:
    """The ALTER statements, none when the table is as wanted.

    >>> default_changes("t", {"a": "1", "b": "2"}, {"a": "1"})[1]
    'alter table t alter column `b` set default 2'
    """
    different = {name: text for name, text in wanted.items() if observed.get(name.lower()) != text}
    if not different:
        return []
    return [
        f"alter table {table} set tblproperties ({sql_text.properties({FEATURE: 'supported'})})",
        *(
            f"alter table {table} alter column {sql_text.identifier(name)} set default {text}"
            for name, text in different.items()
        ),
    ]
