"""Names and values on their way into SQL text.

Everything the package puts into a statement passes through here, so a name with a backtick, a
path with a quote or a comment with a backslash stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def identifier(name: str) -> str:
    """One quoted part of a name.

    >>> identifier("order")
    '`order`'
    >>> identifier("odd`name")
    '`odd``name`'
    """
    if not name:
        raise ValueError("an identifier cannot be empty")
    return "`" + name.replace("`", "``") + "`"


def is_plain(name: str) -> bool:
    """Whether Spark reads the name as one name without quotes; reserved words aside.

    >>> is_plain("first_name"), is_plain("a|b")
    (True, False)
    """
    return re.fullmatch(r"\w+", name) is not None


def qualified(*parts: str | None) -> str:
    """A dotted name; parts that are None are left out.

    >>> qualified(None, "sales", "orders")
    '`sales`.`orders`'
    """
    return ".".join(identifier(part) for part in parts if part is not None)


def string_literal(text: str) -> str:
    r"""A string literal that Spark reads back as `text`, whatever it holds.

    >>> print(string_literal("O'Hara\\n"))
    'O\'Hara\\n'
    """
    escaped = (
        text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    )
    return f"'{escaped}'"


def identifier_list(names: Iterable[str]) -> str:
    """Quoted names, comma separated, without parentheses."""
    return ", ".join(identifier(name) for name in names)


def properties(pairs: Mapping[str, object]) -> str:
    """The inside of TBLPROPERTIES ( ... ) or OPTIONS ( ... ).

    >>> properties({"delta.appendOnly": True})
    "'delta.appendOnly' = 'true'"
    """
    return ", ".join(
        f"{string_literal(key)} = {string_literal(property_text(value))}"
        for key, value in pairs.items()
    )


def property_text(value: object) -> str:
    """A YAML value as Spark and Delta write it in a property."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
