"""The bytes of a parquet footer: Thrift's compact protocol, as far as a footer uses it.

Only what is needed to find one's way: where a value ends, what a field's header says. Bytes that are not laid
out as writers do it raise ValueError or IndexError.

Imports nothing, so that it can be shipped to executors together with footer_stats.
"""

from __future__ import annotations

from collections.abc import Iterator

SCHEMA_FIELD = 2
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
VARINTS = (4, 5, 6)


def schema_end(footer: bytes) -> int | None:
    """The position behind the schema; None where that cannot be told.

    Version and schema come first in a footer: two that begin with the same bytes up to here have the same
    schema. To compare them costs far less than to look at hundreds of columns of every file.
    """
    try:
        for field, _, _, end in fields(footer, 0):
            if field == SCHEMA_FIELD:
                return end if end <= len(footer) else None
    except (IndexError, ValueError):
        pass
    return None


def fields(data: bytes, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, kind, start and end of the values of a struct, in ascending order of their numbers."""
    field = 0
    while True:
        header = data[at]
        at += 1
        if header == STOP:
            return
        if not header >> 4:
            raise ValueError("a field number that does not follow from the one before")
        field += header >> 4
        end = value_end(data, at, header & 0x0F)
        yield field, header & 0x0F, at, end
        at = end


def value_end(data: bytes, at: int, kind: int) -> int:
    """The position behind a value of a kind."""
    if kind in VARINTS:
        return varint(data, at)[1]
    if kind in (TRUE, FALSE):
        return at
    if kind == BINARY:
        length, at = varint(data, at)
        return at + length
    if kind == STRUCT:
        last = max((end for _, _, _, end in fields(data, at)), default=at)
        # The stop byte follows the last value.
        return last + 1
    if kind in (LIST, SET):
        count, element, at = list_header(data, at)
        # In a list, unlike in a field, a boolean takes a byte.
        if element in (TRUE, FALSE):
            return at + count
        for _ in range(count):
            at = value_end(data, at, element)
        return at
    if kind == BYTE:
        return at + 1
    if kind == DOUBLE:
        return at + 8
    raise ValueError(f"a footer has no value of kind {kind}")


def list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """How many elements of which kind, and where the first one starts."""
    count, element = data[at] >> 4, data[at] & 0x0F
    at += 1
    if count == 0x0F:
        count, at = varint(data, at)
    return count, element, at


def varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def zigzag(value: int) -> int:
    """
    >>> [zigzag(value) for value in (0, 1, 2, 3)]
    [0, -1, 1, -2]
    """
    return (value >> 1) ^ -(value & 1)
