"""Which relations an operation is about: names, `tag:`, `path:`, `source:`, or qualified table names.

A list is a union. Graph operators are dbt's own language: they are refused with the command that turns
them into names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConfigError

# A part of a name may stand in backticks: then dots and blanks belong to it.
_WORD = re.compile(r"(?:`(?:[^`]|``)*`|\S)+")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")

KINDS = ("model", "snapshot", "seed")
TABLE_MATERIALIZATIONS = ("table", "incremental", "delta_optimized", "snapshot", "seed", "clone")


@dataclass(frozen=True)
class Selected:
    """`config` is the node's own; empty for sources and tables that dbt does not build."""

    database: str | None
    schema: str
    identifier: str
    node: str | None
    config: Mapping[str, Any]


def select_relations(graph: Mapping[str, Any], select: Any) -> list[Selected]:
    """Tables that the words select, each once, in the order of the words."""
    nodes = [n for n in graph["nodes"].values() if n["resource_type"] in KINDS]
    sources = list(graph["sources"].values())
    if select is None:
        return [_of_node(node) for node in nodes if _is_table(node)]
    found: dict[tuple[Any, ...], Selected] = {}
    for word in _words(select):
        for item in _matches(word, nodes, sources):
            found.setdefault((item.database, item.schema, item.identifier), item)
    return list(found.values())


def _words(select: Any) -> list[str]:
    words = _WORD.findall(select) if isinstance(select, str) else select
    if not isinstance(words, list | tuple) or not all(isinstance(w, str) and w for w in words):
        raise ConfigError(f"select is {select!r}: use a name or a list of names.")
    if not words:
        raise ConfigError("select is empty: name something, or leave it out for the whole project.")
    return list(words)


def _matches(
    word: str, nodes: Iterable[Mapping[str, Any]], sources: Iterable[Mapping[str, Any]]
) -> list[Selected]:
    method, _, value = word.partition(":")
    if not value:
        method, value = "name", word
    qualified = qualified_name(word)
    if qualified and "`" in word:
        return [_of_qualified(qualified, [*nodes, *sources])]
    if method not in ("name", "tag", "path", "source") or any(c in word for c in "+@*,"):
        raise ConfigError(
            f"select has {word!r}: names, tag:, path: and source: are known here; for more, let dbt "
            f"resolve it with `dbt ls --resource-type model --output name --select '{word}'` and "
            "pass the names."
        )
    if method == "source":
        items = [_of_node(s) for s in sources if _is_source(s, value)]
    elif method == "tag":
        items = [_of_node(n) for n in nodes if value in n.get("tags", ()) and _is_table(n)]
    elif method == "path":
        items = [_of_node(n) for n in nodes if _is_under(n, value) and _is_table(n)]
    else:
        items = [_of_node(n) for n in nodes if n["name"] == value]
        if not items and qualified:
            items = [_of_qualified(qualified, [*nodes, *sources])]
    if not items:
        near = difflib.get_close_matches(value, [n["name"] for n in nodes], n=1)
        hint = f" Did you mean {near[0]}?" if near and method == "name" else ""
        raise ConfigError(f"select has {word!r}, which matches no table of this project.{hint}")
    return items


def qualified_name(text: str) -> tuple[str | None, str, str] | None:
    """
    >>> qualified_name("shop.orders"), qualified_name("spark_catalog.shop.`odd.name`")
    ((None, 'shop', 'orders'), ('spark_catalog', 'shop', 'odd.name'))
    >>> qualified_name("orders") or qualified_name("shop..orders") or qualified_name("a.b.c.d")
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return None
        quoted, plain = match.groups()
        parts.append(quoted.replace("``", "`") if quoted else plain)
        position = match.end()
        if position < len(text):
            if text[position] != "." or position + 1 == len(text):
                return None
            position += 1
    if len(parts) not in (2, 3):
        return None
    return (parts[-3] if len(parts) == 3 else None, parts[-2], parts[-1])


def _of_qualified(
    name: tuple[str | None, str, str], nodes: Iterable[Mapping[str, Any]]
) -> Selected:
    """The model of that name, with its settings, or a table that dbt does not build."""
    database, schema, identifier = name
    for node in nodes:
        item = _of_node(node)
        same = (item.schema.lower(), item.identifier.lower()) == (
            schema.lower(),
            identifier.lower(),
        )
        if same and (None in (database, item.database) or item.database == database):
            return item
    return Selected(database, schema, identifier, None, {})


def _is_source(source: Mapping[str, Any], value: str) -> bool:
    name = f"{source['source_name']}.{source['name']}"
    return value in (name, source["source_name"])


def _is_under(node: Mapping[str, Any], value: str) -> bool:
    path = PurePosixPath(node["original_file_path"])
    wanted = PurePosixPath(value)
    return path == wanted or wanted in path.parents


def _is_table(node: Mapping[str, Any]) -> bool:
    return node["config"].get("materialized") in TABLE_MATERIALIZATIONS


def _of_node(node: Mapping[str, Any]) -> Selected:
    return Selected(
        node.get("database"),
        node["schema"],
        node.get("alias") or node.get("identifier") or node["name"],
        node["unique_id"],
        node.get("config", {}),
    )
