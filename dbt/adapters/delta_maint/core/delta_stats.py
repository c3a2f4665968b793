"""Which columns of a table carry statistics, and the `stats` text of one file.

Delta indexes the first 32 leaf columns, counted through structs, or those a property names. The text
mirrors the nesting of the schema and uses the table's spelling of names. A column the file does not
have is null in every row; a column whose type in the file is not the table's keeps its bounds only
where the value stays the same.

Imports nothing of this package, so that it can be shipped to executors together with footer_stats.
"""

from __future__ import annotations

import json
import struct as binary
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Leaf = tuple[str, "int | None", "str | None", "str | None"]
# JSON text of min and max, nulls; None is unknown.
Answer = tuple["str | None", "str | None", "int | None"]
FileColumn = tuple[tuple[str, ...], str, bool]

DEFAULT_INDEXED_COLUMNS = 32
NUM_INDEXED_PROPERTY = "delta.dataSkippingNumIndexedCols"
STATS_COLUMNS_PROPERTY = "delta.dataSkippingStatsColumns"
_INTEGERS = ("byte", "short", "integer", "long")
_UNSIGNED = {
    "unsigned:8": "short",
    "unsigned:16": "integer",
    "unsigned:32": "long",
    "unsigned:64": "decimal(20,0)",
}
_ELIGIBLE = {*_INTEGERS, "float", "double", "date", "timestamp", "timestamp_ntz", "string"}


@dataclass(frozen=True)
class StatColumn:
    """One indexed leaf of the table; `type_name` is empty for a list, a map or a variant."""

    path: tuple[str, ...]
    type_name: str
    has_default: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def has_bounds(self) -> bool:
        return self.type_name in _ELIGIBLE or self.type_name.startswith("decimal")


@dataclass(frozen=True)
class StatSource:
    """Where a column's statistics come from in files of one schema.

    `leaves` are positions in what the footer gave; `is_absent` means the file lacks the column.
    """

    leaves: tuple[int, ...] = ()
    is_absent: bool = False
    is_nested: bool = False
    keeps_bounds: bool = False
    widens_float: bool = False

    @cached_property
    def is_plain(self) -> bool:
        """What the footer says is what the table gets."""
        return self.keeps_bounds and not self.widens_float


def indexed_columns(
    schema: dict[str, Any], partition_names: Sequence[str], properties: dict[str, str]
) -> tuple[StatColumn, ...]:
    partitions = {name.lower() for name in partition_names}
    fields = [field for field in schema["fields"] if field["name"].lower() not in partitions]
    leaves = [leaf for field in fields for leaf in _leaves(field, ())]
    named = properties.get(STATS_COLUMNS_PROPERTY)
    if named is not None:
        chosen = [parse_column_path(text) for text in _split_names(named)]
        return tuple(leaf for leaf in leaves if any(_is_below(leaf.path, path) for path in chosen))
    limit = indexed_limit(properties)
    return tuple(leaves if limit < 0 else leaves[:limit])


def indexed_limit(properties: dict[str, str]) -> int:
    return int(properties.get(NUM_INDEXED_PROPERTY, DEFAULT_INDEXED_COLUMNS))


def indexed_names(properties: dict[str, str]) -> frozenset[str] | None:
    """Top-level names, lower case, that a property chooses; None when position decides."""
    named = properties.get(STATS_COLUMNS_PROPERTY)
    if named is None:
        return None
    return frozenset(parse_column_path(text)[0].lower() for text in _split_names(named))


def spark_type(kind: str) -> str:
    """The Spark type of a leaf's kind as the footer reader spells it."""
    return _UNSIGNED.get(kind, kind.split(":")[0])


def sources(
    file_columns: Sequence[FileColumn], wanted: Sequence[int], columns: Sequence[StatColumn]
) -> tuple[list[StatSource | None], set[int]]:
    """How each indexed column is answered by files of this schema, and leaves not yet read.

    None stands for "nothing is known". The second answer holds positions in the file that are
    indexed by the table but were not among `wanted`.
    """
    position = {leaf: place for place, leaf in enumerate(wanted)}
    found: list[StatSource | None] = []
    unread: set[int] = set()
    lowered = [tuple(part.lower() for part in path) for path, _, _ in file_columns]
    by_path = {path: index for index, path in enumerate(lowered)}
    for column in columns:
        path = tuple(part.lower() for part in column.path)
        index = by_path.get(path)
        matches = (
            [index]
            if index is not None
            else [i for i, other in enumerate(lowered) if other[: len(path)] == path]
        )
        unread |= {match for match in matches if match not in position}
        if not matches:
            is_shadowed = any(path[: len(other)] == other for other in lowered)
            known = bool(file_columns) and not is_shadowed and not column.has_default
            found.append(StatSource(is_absent=True) if known else None)
        elif any(match not in position for match in matches):
            found.append(None)
        else:
            places = tuple(position[match] for match in matches)
            found.append(_source(file_columns[matches[0]], places, column, index is not None))
    return found, unread


class StatsWriter:
    """Writes the `stats` of files; counts for how many each column got its bounds."""

    def __init__(self, columns: Sequence[StatColumn], *, tight_bounds: bool) -> None:
        self.columns = columns
        self.files = 0
        self._tree = _tree(columns)
        self._tail = ',"tightBounds":true}' if tight_bounds else "}"
        # Files of one table mostly lack the same values, so the text around the values is made once.
        self._frames: dict[tuple[bool, ...], tuple[str, list[int]]] = {}
        self._without_bounds: Counter[tuple[int, ...]] = Counter()

    @property
    def files_with_bounds(self) -> list[int]:
        """By column: in how many files skipping can tell the column, by its bounds or as all null."""
        found = [self.files] * len(self.columns)
        for places, files in self._without_bounds.items():
            for place in places:
                found[place] -= files
        return found

    def text(
        self,
        rows: int,
        leaves: Sequence[Leaf],
        plan: Sequence[StatSource | None],
        *,
        scanned: Mapping[int, Answer] | None = None,
    ) -> str:
        """The JSON; `scanned` holds answers by column number that the data gave instead."""
        answers = self._answers(rows, leaves, plan)
        for place, answer in (scanned or {}).items():
            answers[place] = answer
        self.files += 1
        without = tuple(
            [
                place
                for place, (low, high, nulls) in enumerate(answers)
                if (low is None or high is None) and nulls != rows
            ]
        )
        if without:
            self._without_bounds[without] += 1
        parts = [f'{{"numRecords":{rows}']
        for key, part in (("minValues", 0), ("maxValues", 1), ("nullCount", 2)):
            inside = self._composed([answer[part] for answer in answers])
            if inside:
                parts.append(f'"{key}":{inside}')
        return ",".join(parts) + self._tail

    def lacking(
        self, rows: int, leaves: Sequence[Leaf], plan: Sequence[StatSource | None]
    ) -> list[int]:
        """Columns, by number, that could have bounds but got none from the footer."""
        answers = self._answers(rows, leaves, plan)
        return [
            place
            for place, (column, (low, high, nulls)) in enumerate(
                zip(self.columns, answers, strict=True)
            )
            if column.has_bounds and (low is None or high is None) and nulls != rows
        ]

    def _answers(
        self, rows: int, leaves: Sequence[Leaf], plan: Sequence[StatSource | None]
    ) -> list[Answer]:
        return [_answer(source, leaves, rows) for source in plan]

    def _composed(self, values: Sequence[str | int | None]) -> str:
        lacks = tuple([value is None for value in values])
        known = self._frames.get(lacks)
        if known is None:
            places: list[int] = []
            known = self._frames[lacks] = _frame(self._tree, lacks, places), places
        frame, places = known
        return frame % tuple([values[place] for place in places])


def parse_column_path(text: str) -> tuple[str, ...]:
    """
    >>> parse_column_path("a.`b.c`")
    ('a', 'b.c')
    """
    parts, current, quoted = [], "", False
    for char in text.strip():
        if char == "`":
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
    return (*parts, current)


def _split_names(text: str) -> list[str]:
    names, current, quoted = [], "", False
    for char in text:
        if char == "`":
            quoted = not quoted
        if char == "," and not quoted:
            names.append(current)
            current = ""
        else:
            current += char
    return [name for name in (*names, current) if name.strip()]


def _is_below(path: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    lowered = tuple(part.lower() for part in path)
    return lowered[: len(prefix)] == tuple(part.lower() for part in prefix)


def _leaves(field: dict[str, Any], above: tuple[str, ...]) -> Iterator[StatColumn]:
    kind, path = field["type"], (*above, field["name"])
    metadata = field.get("metadata") or {}
    has_default = "EXISTS_DEFAULT" in metadata
    if isinstance(kind, dict) and kind.get("type") == "struct":
        for child in kind["fields"]:
            for leaf in _leaves(child, path):
                yield StatColumn(leaf.path, leaf.type_name, leaf.has_default or has_default)
    elif isinstance(kind, dict) or kind == "variant" or "__COLLATIONS" in metadata:
        yield StatColumn(path, "", has_default)
    else:
        yield StatColumn(path, kind, has_default)


def _source(
    file_column: FileColumn, places: tuple[int, ...], column: StatColumn, is_exact: bool
) -> StatSource:
    _, kind, is_repeated = file_column
    if not is_exact or is_repeated:
        return StatSource(places, is_nested=True)
    found, wanted = spark_type(kind), column.type_name
    if found == wanted and column.has_bounds:
        return StatSource(places, keeps_bounds=True)
    if found in _INTEGERS and wanted in _INTEGERS:
        grows = _INTEGERS.index(found) <= _INTEGERS.index(wanted)
        return StatSource(places, keeps_bounds=grows)
    if (found, wanted) == ("float", "double"):
        return StatSource(places, keeps_bounds=True, widens_float=True)
    if found.startswith("decimal") and wanted.startswith("decimal"):
        return StatSource(places, keeps_bounds=_scale(found) <= _scale(wanted))
    return StatSource(places, keeps_bounds=(found, wanted) == ("binary?", "string"))


def _scale(type_name: str) -> int:
    return int(type_name.rstrip(")").split(",")[1])


def _answer(source: StatSource | None, leaves: Sequence[Leaf], rows: int) -> Answer:
    if source is None:
        return None, None, None
    if source.is_plain:
        _, nulls, low, high = leaves[source.leaves[0]]
        return low, high, nulls
    if source.is_absent:
        return None, None, rows
    if source.is_nested:
        # Below a list, a null may be an empty list: only "no null at all" is sure.
        has_none = all(leaves[place][1] == 0 for place in source.leaves)
        return None, None, 0 if has_none else None
    _, nulls, low, high = leaves[source.leaves[0]]
    if not source.keeps_bounds:
        return None, None, nulls
    if source.widens_float:
        low, high = _widened(low), _widened(high)
    return low, high, nulls


def _widened(text: str | None) -> str | None:
    """The double that a float becomes, which is not the double of the float's shortest text."""
    if text is None:
        return None
    return repr(binary.unpack("f", binary.pack("f", float(text)))[0])


def _tree(columns: Sequence[StatColumn]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for place, column in enumerate(columns):
        node = root
        for part in column.path[:-1]:
            node = node.setdefault(json.dumps(part, ensure_ascii=False), {})
        node[json.dumps(column.path[-1], ensure_ascii=False)] = place
    return root


def _frame(node: dict[str, Any], lacks: Sequence[bool], places: list[int]) -> str:
    """The object around the values that are there: `%s` for each, whose place is noted."""
    parts = []
    for key, child in node.items():
        if isinstance(child, dict):
            text = _frame(child, lacks, places)
        elif lacks[child]:
            continue
        else:
            text = "%s"
            places.append(child)
        if text:
            parts.append(f"{key.replace('%', '%%')}:{text}")
    return f"{{{','.join(parts)}}}" if parts else ""
