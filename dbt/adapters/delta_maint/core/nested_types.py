"""Structures inside columns: which fields a model adds, and which stand where the table has others.

An INSERT into Delta fills the fields of a structure by position, whatever they are called. So a model that
gives them in another order would put values under wrong names, silently; it is refused instead. A MERGE goes
by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Path = tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A type taken apart: `parts` are the fields of a struct, or what an array or a map holds."""

    word: str
    parts: tuple[tuple[str, Kind], ...] = ()


def parse(text: str) -> Kind:
    """
    >>> parse("array<struct<`a b`:int>>").parts[0][1].parts
    (('a b', Kind(word='int', parts=())),)
    """
    word, bracket, inside = text.strip().partition("<")
    if not bracket:
        return Kind(text.strip().lower())
    members = _split(inside.rstrip().removesuffix(">"))
    if word.lower() == "struct":
        named = (_name_and_type(member) for member in members)
        return Kind("struct", tuple((name, parse(kind)) for name, kind in named))
    holds = ("element",) if word.lower() == "array" else ("key", "value")
    return Kind(word.lower(), tuple(zip(holds, map(parse, members), strict=True)))


def added_fields(table: str, model: str) -> list[tuple[Path, str]] | None:
    """Fields that the model has and the table does not; None where anything else differs too.

    >>> added_fields("struct<a:int>", "struct<b:date,a:int>")
    [(('b',), 'date')]
    >>> added_fields("struct<a:int>", "struct<a:date,b:int>") is None
    True
    """
    found: list[tuple[Path, str]] = []
    same = _collect(parse(table), parse(model), (), found)
    return found if same and found else None


def misplaced_field(table: str, model: str, added: Sequence[Path] = ()) -> str | None:
    """The first field that an INSERT would fill with the value of another.

    >>> misplaced_field("struct<a:int,b:int>", "struct<b:int,a:int>")
    'a'
    >>> misplaced_field("struct<a:int>", "struct<a:int,b:int>") is None
    True
    """
    return next(_misplaced(parse(table), parse(model), (), set(added)), None)


def _collect(table: Kind, model: Kind, at: Path, found: list[tuple[Path, str]]) -> bool:
    if table.word != model.word:
        return False
    if table.word != "struct":
        pairs = zip(table.parts, model.parts, strict=True)
        return all(_collect(t, m, (*at, name), found) for (name, t), (_, m) in pairs)
    offered = {name.lower(): kind for name, kind in model.parts}
    present = {name.lower() for name, _ in table.parts}
    if not present <= set(offered):
        return False
    found += [((*at, n), text_of(kind)) for n, kind in model.parts if n.lower() not in present]
    return all(_collect(kind, offered[n.lower()], (*at, n), found) for n, kind in table.parts)


def _misplaced(table: Kind, model: Kind, at: Path, added: set[Path]) -> Iterator[str]:
    if table.word != model.word:
        return
    if table.word == "struct":
        new = [(n, kind) for n, kind in model.parts if (*at, n) in added]
        expected = [*table.parts, *new]  # Delta adds at the end
        for (name, kind), (offered, other) in zip(expected, model.parts, strict=False):
            if name.lower() != offered.lower():
                yield ".".join((*at, name))
                return
            yield from _misplaced(kind, other, (*at, name), added)
        return
    for (name, kind), (_, other) in zip(table.parts, model.parts, strict=True):
        yield from _misplaced(kind, other, (*at, name), added)


def text_of(kind: Kind) -> str:
    if not kind.parts:
        return kind.word
    if kind.word != "struct":
        return f"{kind.word}<{','.join(text_of(part) for _, part in kind.parts)}>"
    fields = (f"`{n.replace('`', '``')}`:{text_of(part)}" for n, part in kind.parts)
    return f"struct<{','.join(fields)}>"


def _split(text: str) -> list[str]:
    """At the commas that stand in no bracket and no quotes."""
    members, depth, quoted, start = [], 0, False, 0
    for position, char in enumerate(text):
        if char == "`":
            quoted = not quoted
        elif not quoted and char in "<(":
            depth += 1
        elif not quoted and char in ">)":
            depth -= 1
        elif not quoted and char == "," and depth == 0:
            members.append(text[start:position])
            start = position + 1
    return [*members, text[start:]] if text.strip() else []


def _name_and_type(member: str) -> tuple[str, str]:
    member = member.strip()
    if member.startswith("`"):
        end = 1
        while member[end] != "`" or member[end + 1 : end + 2] == "`":
            end += 2 if member[end] == "`" else 1
        return member[1:end].replace("``", "`"), member[end + 1 :].lstrip().removeprefix(":")
    name, _, kind = member.partition(":")
    return name.strip(), kind
