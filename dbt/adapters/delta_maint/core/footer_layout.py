"""Reads footers that are laid out like one that was read before, without decoding what nobody asks for.

The files of a folder mostly come from one writer: same schema, same key-value pairs, one row group, the same
fields in every column chunk. From one such footer this module learns how the chunks of the wanted columns are
laid out; the next footer is matched against that, and only row count, null counts and bounds are taken out of it.
Columns behind the last wanted one are not looked at.

Nothing is guessed: a footer counts as alike only if it begins with the same schema bytes, has one row group, has
each chunk laid out as one that was walked field by field, and ends with the same bytes behind the row group
(writer, pairs, column orders). Any other footer gets no answer and is read by pyarrow. From each of those something
is learned only where reading it here gives what pyarrow gave.

Imports nothing of this package but footer_bytes, and is shipped to executors with it.
"""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

from dbt.adapters.delta_maint.core.footer_bytes import (
    BINARY,
    FALSE,
    LIST,
    STRUCT,
    TRUE,
    VARINTS,
    fields,
    list_header,
    schema_end,
    value_end,
    varint,
    zigzag,
)

# Of one column: nulls, least, greatest; None is unknown.
ChunkFacts = tuple["int | None", Any, Any]

NUM_ROWS, ROW_GROUPS, CREATED_BY, COLUMN_ORDERS = 3, 4, 6, 7
TYPE_DEFINED_ORDER = b"\x1c\x00\x00"
# Field numbers from a column chunk down.
TYPE, PATH, NULL_COUNT = (3, 1), (3, 3), (3, 12, 3)
OLD_BOUNDS: dict[tuple[int, ...], str] = {(3, 12, 1): "old high", (3, 12, 2): "old low"}
BOUNDS: dict[tuple[int, ...], str] = {**OLD_BOUNDS, (3, 12, 5): "high", (3, 12, 6): "low"}
# Parquet's numbers of physical types, and how the bounds of numbers are written.
BOOLEAN, INT96, BYTE_ARRAY = 0, 3, 6
NUMBERS = {1: "<i", 2: "<q", 4: "<f", 5: "<d"}
LAYOUTS_OF_A_COLUMN = 8

_VARINT = rb"[\x80-\xff]*[\x00-\x7f]"


class Layout:
    """How the footers of one writer's files are laid out, up to the last of the wanted columns."""

    def __init__(
        self, opening: re.Pattern[bytes], closing: bytes, columns: int, wanted: list[int]
    ) -> None:
        self._opening = opening
        self._closing = closing
        self._wanted = frozenset(wanted)
        self._order = wanted
        self._chunks: list[list[_Chunk]] = [[] for _ in range(columns)]

    def read(self, footer: bytes) -> tuple[int, list[ChunkFacts]] | None:
        """Rows and the facts of the wanted columns; None for a footer that is not alike."""
        return self._read(footer, None)

    def try_on(self, footer: bytes) -> Trial | None:
        """The same for a footer whose chunks may be laid out in ways of their own."""
        learned: dict[int, _Chunk] = {}
        found = self._read(footer, learned)
        return None if found is None else Trial(*found, learned)

    def adopt(self, trial: Trial) -> None:
        for index, chunk in trial.learned.items():
            self._chunks[index].append(chunk)

    def _read(
        self, footer: bytes, learned: dict[int, _Chunk] | None
    ) -> tuple[int, list[ChunkFacts]] | None:
        if not footer.endswith(self._closing):
            return None
        opened = self._opening.match(footer)
        if opened is None:
            return None
        at = opened.end()
        found: dict[int, ChunkFacts] = {}
        try:
            for index, known in enumerate(self._chunks):
                for chunk in known:
                    facts = chunk.read(footer, at)
                    if facts is not None:
                        break
                else:
                    if learned is None or len(known) >= LAYOUTS_OF_A_COLUMN:
                        return None
                    learned[index] = _Chunk.learn(footer, at)
                    facts = learned[index].read(footer, at)
                    if facts is None:
                        return None
                at = facts[1]
                if index in self._wanted:
                    found[index] = facts[0]
        except (IndexError, ValueError, struct.error):
            return None
        if at + len(self._closing) > len(footer):
            return None
        rows = zigzag(varint(opened.group(1), 0)[0])
        return (rows, [found[index] for index in self._order]) if rows > 0 else None


class Trial(NamedTuple):
    """What a footer says by a layout, and the chunk layouts that had to be learned for it."""

    rows: int
    facts: list[ChunkFacts]
    learned: dict[int, _Chunk]


def begin(footer: bytes, wanted: list[int]) -> Layout | None:
    """The layout of a footer, or None where its like are better left to pyarrow."""
    try:
        start = schema_end(footer)
        if start is None:
            return None
        top = {field: (kind, at, end) for field, kind, at, end in fields(footer, 0)}
        if not {NUM_ROWS, ROW_GROUPS, CREATED_BY, COLUMN_ORDERS} <= set(top):
            return None
        if not _all_type_defined(footer, top[COLUMN_ORDERS][1]):
            return None
        _, at, end = top[ROW_GROUPS]
        groups, kind, group = list_header(footer, at)
        _, kind_of_columns, columns_at, _ = next(iter(fields(footer, group)))
        columns, element, first_chunk = list_header(footer, columns_at)
        if groups != 1 or (kind, kind_of_columns, element) != (STRUCT, LIST, STRUCT):
            return None
        _, rows_at, rows_end = top[NUM_ROWS]
        opening = re.compile(
            re.escape(footer[:rows_at])
            + b"("
            + _VARINT
            + b")"
            + re.escape(footer[rows_end:first_chunk]),
            re.DOTALL,
        )
        upto = max(wanted, default=-1) + 1
        return Layout(opening, footer[end:], upto, wanted) if upto <= columns else None
    except (IndexError, ValueError, StopIteration):
        return None


class _Chunk:
    """One way in which a column's chunk is laid out: patterns, and texts of any length between them."""

    def __init__(self, patterns: list[Any], names: list[str], physical: int) -> None:
        self._first, *self._others = patterns
        self._is_number = physical in NUMBERS and names == ["nulls", "high", "low"]
        self._unpack = struct.Struct(NUMBERS.get(physical, "<b")).unpack
        has_bounds = physical not in (BOOLEAN, INT96) and {"low", "high"} <= set(names)
        self._low = names.index("low") if has_bounds else None
        self._high = names.index("high") if has_bounds else None
        self._nulls = names.index("nulls") if "nulls" in names else None

    @classmethod
    def learn(cls, footer: bytes, at: int) -> _Chunk:
        walk = _Walk(footer)
        walk.struct(at, ())
        return cls(walk.patterns(), walk.names, walk.physical)

    def read(self, footer: bytes, at: int) -> tuple[ChunkFacts, int] | None:
        matched = self._first.match(footer, at)
        if matched is None:
            return None
        if self._is_number:
            nulls, high, low = matched.groups()
            return self._numbers(_count(nulls), low, high), matched.end()
        found = list(matched.groups())
        for pattern in self._others:
            length, at = varint(footer, matched.end())
            found.append(footer[at : at + length])
            matched = pattern.match(footer, at + length)
            if matched is None:
                return None
            found += matched.groups()
        count = None if self._nulls is None else _count(found[self._nulls])
        if self._low is None or self._high is None:
            return (count, None, None), matched.end()
        return (count, found[self._low], found[self._high]), matched.end()

    def _numbers(self, count: int, low: bytes, high: bytes) -> ChunkFacts:
        (least,), (greatest,) = self._unpack(low), self._unpack(high)
        # Only NaN differs from itself, and it says nothing about the rows.
        if least != least or greatest != greatest:
            return count, None, None
        return count, least, greatest


class _Walk:
    """Goes through one chunk field by field and writes the pattern that matches its like."""

    def __init__(self, footer: bytes) -> None:
        self._footer = footer
        self._pattern = b""
        self._patterns: list[Any] = []
        # What the groups of the patterns and the texts between them are, in their order.
        self.names: list[str] = []
        self.physical = -1

    def patterns(self) -> list[Any]:
        self._close()
        return self._patterns

    def struct(self, at: int, path: tuple[int, ...]) -> None:
        for field, kind, start, end in fields(self._footer, at):
            self._literal(start - 1, start)
            self._value((*path, field), kind, start, end)
        self._pattern += rb"\x00"

    def _value(self, path: tuple[int, ...], kind: int, start: int, end: int) -> None:
        if path == TYPE:
            self.physical = zigzag(varint(self._footer, start)[0])
            self._literal(start, end)
        elif path == PATH:
            self._literal(start, end)
        elif path == NULL_COUNT:
            self._pattern += b"(" + _VARINT + b")"
            self.names.append("nulls")
        elif kind in VARINTS:
            self._pattern += _VARINT
        elif kind == BINARY:
            self._bound(path, start, end)
        elif kind == STRUCT:
            self.struct(start, path)
        elif kind == LIST:
            self._list(path, start)
        elif kind not in (TRUE, FALSE):
            raise ValueError(f"a column chunk with a value of kind {kind}")

    def _bound(self, path: tuple[int, ...], start: int, end: int) -> None:
        if path not in BOUNDS:
            raise ValueError("a column chunk with pairs, or in another file")
        if self.physical == BYTE_ARRAY:
            self._close()
            self.names.append(BOUNDS[path])
            return
        length, at = varint(self._footer, start)
        self._literal(start, at)
        if path in OLD_BOUNDS:
            self._pattern += b".{%d}" % length
        else:
            self._pattern += b"(.{%d})" % length
            self.names.append(BOUNDS[path])

    def _list(self, path: tuple[int, ...], start: int) -> None:
        count, element, at = list_header(self._footer, start)
        self._literal(start, at)
        for _ in range(count):
            if element in VARINTS:
                self._pattern += _VARINT
            elif element == STRUCT:
                self.struct(at, path)
            else:
                raise ValueError(f"a column chunk with a list of kind {element}")
            at = value_end(self._footer, at, element)

    def _literal(self, start: int, end: int) -> None:
        self._pattern += re.escape(self._footer[start:end])

    def _close(self) -> None:
        """Ends a pattern: behind it comes a text of any length, or nothing more."""
        self._patterns.append(re.compile(self._pattern, re.DOTALL))
        self._pattern = b""


def _count(text: bytes) -> int:
    """
    >>> _count(bytes([6]))
    3
    """
    found = zigzag(text[0] if len(text) == 1 else varint(text, 0)[0])
    if found < 0:
        raise ValueError("fewer than no nulls")
    return found


def _all_type_defined(footer: bytes, at: int) -> bool:
    """Whether bounds are in the order of each column's type, which the newer fields of statistics mean."""
    count, element, first = list_header(footer, at)
    size = len(TYPE_DEFINED_ORDER) * count
    return element == STRUCT and footer[first : first + size] == TYPE_DEFINED_ORDER * count
