"""Reads the footers of a batch of files: rows, schema, statistics, or why a file is not parquet.

Runs on the driver for small folders and on executors for large ones. There it arrives by value together
with the footer rooms of core: a worker needs pyarrow and nothing of this package. One bad file never
fails a batch; its reason comes back with it.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from dbt.adapters.delta_maint.core import footer_layout, footer_stats

try:
    from pyarrow._parquet import ParquetReader
except ImportError:  # not a public name
    ParquetReader = None

# (file number, rows, row groups, schema number, leaves, error)
FooterRow = tuple[int, int, int, int, "list[Any] | None", "str | None"]
# Schema text, Spark's own schema if the writer left it, leaf columns, leaves read, first file.
FooterSchema = tuple[str, "str | None", "list[Any]", "list[int]", int]

FILES_PER_TURN = 16
TAIL_BYTES = 64 * 1024
SLOW_SECONDS = 0.004
LAYOUTS = 16
MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"


def read_footers(
    files: list[tuple[int, Any]], options: dict[str, Any], open_tail: Any = None
) -> tuple[list[FooterSchema], list[FooterRow]]:
    """`files` are (number, path); with `open_tail`, path is whatever that function takes."""
    reader = FooterBatch(options, open_tail or tail_of_file)
    threads = options.get("threads", 1)
    began = time.perf_counter()
    tried = files[: FILES_PER_TURN if open_tail is None else 1]
    rows = [reader.row(*reader.load(file)) for file in tried]
    rest = files[len(tried) :]
    # Where files are in memory or near, threads only wait for each other.
    is_slow = open_tail is not None or time.perf_counter() - began > SLOW_SECONDS * len(tried)
    if threads > 1 and rest and is_slow:
        # A task of its own for every file would cost as much as a footer that is in memory.
        size = max(1, min(FILES_PER_TURN, len(rest) // threads))
        turns = [rest[at : at + size] for at in range(0, len(rest), size)]
        with ThreadPoolExecutor(threads) as pool:
            read = pool.map(lambda turn: [reader.load(file) for file in turn], turns)
            rows += [reader.row(*loaded) for turn in read for loaded in turn]
    else:
        rows += [reader.row(*reader.load(file)) for file in rest]
    return reader.schemas, rows


class KnownLayout(NamedTuple):
    """`silent` are the wanted columns, by place, of which pyarrow says nothing: INT96, for one."""

    layout: footer_layout.Layout
    schema: int
    writer: footer_stats.Writer
    silent: frozenset[int]


class FooterBatch:
    def __init__(self, options: dict[str, Any], open_tail: Any) -> None:
        self.options = options
        self.open_tail = open_tail
        self.schemas: list[FooterSchema] = []
        self._numbers: dict[tuple[str, bytes | None], int] = {}
        self._layouts: list[KnownLayout] = []
        self._longest = 0
        self._tail_bytes = TAIL_BYTES

    def load(self, file: tuple[int, Any]) -> tuple[int, Any, bytes]:
        """Rows and leaves of a footer that is laid out like one before, else the footer and its bytes;
        for a file that is not parquet the text of what is wrong with it."""
        number, path = file
        try:
            tail = self.open_tail(path, self._tail_bytes)
            length = int.from_bytes(tail[-8:-4], "little")
            if tail[-4:] == MAGIC and length + 8 > len(tail):
                tail = self.open_tail(path, length + 8)
            raw = tail[-8 - length : -8]
            if tail[-4:] == MAGIC and len(raw) == length:
                self._expect(length)
                for known in self._layouts:
                    facts = known.layout.read(raw)
                    if facts is not None:
                        return number, (known, *facts), raw
            return number, footer_of(pa.BufferReader(tail)), raw
        except Exception as exc:  # whatever the bytes provoke, the file is named with it
            return number, bad_file_reason(exc), b""

    def _expect(self, length: int) -> None:
        """The footers of a folder are about as long as those before: no more of a file is read."""
        if length > self._longest:
            self._longest = length
            self._tail_bytes = min(TAIL_BYTES, length + length // 4 + 1024)

    def row(self, number: int, footer: Any, raw: bytes) -> FooterRow:
        if isinstance(footer, str):
            return number, 0, 0, -1, None, footer
        try:
            if isinstance(footer, tuple):
                known, rows, facts = footer
                return number, rows, 1, known.schema, self._leaves_of(known, facts), None
            pairs = footer.metadata or {}
            schema = self._schema_number(number, footer.schema, pairs)
            _, _, columns, wanted, _ = self.schemas[schema]
            leaves = None
            if columns and self.options["statistics"]:
                leaves = footer_stats.footer_leaves(
                    footer, columns, wanted, pairs, string_prefix=self.options["string_prefix"]
                )
            self._learn(raw, schema, footer_stats.writer_of(footer.created_by, pairs), leaves)
            return number, footer.num_rows, footer.num_row_groups, schema, leaves, None
        except Exception as exc:  # a footer that opens but does not hold together
            return number, 0, 0, -1, None, bad_file_reason(exc)

    def _learn(
        self, raw: bytes, schema: int, writer: footer_stats.Writer, leaves: list[Any] | None
    ) -> None:
        """Keeps how a footer is laid out if reading by it gives what pyarrow gave."""
        if not writer.orders_bytes:
            return
        for known in self._layouts:
            if (known.schema, known.writer) == (schema, writer) and self._adopts(
                known, raw, leaves
            ):
                return
        if len(self._layouts) >= LAYOUTS:
            return
        layout = footer_layout.begin(raw, [] if leaves is None else self.schemas[schema][3])
        if layout is None:
            return
        silent = frozenset(
            place
            for place, (_, nulls, low, high) in enumerate(leaves or ())
            if (nulls, low, high) == (None, None, None)
        )
        known = KnownLayout(layout, schema, writer, silent)
        if self._adopts(known, raw, leaves):
            self._layouts.append(known)

    def _adopts(self, known: KnownLayout, raw: bytes, leaves: list[Any] | None) -> bool:
        trial = known.layout.try_on(raw)
        if trial is None or self._leaves_of(known, trial.facts) != leaves:
            return False
        known.layout.adopt(trial)
        return True

    def _leaves_of(self, known: KnownLayout, facts: list[Any]) -> list[Any] | None:
        _, _, columns, wanted, _ = self.schemas[known.schema]
        if not columns or not self.options["statistics"]:
            return None
        if known.silent:
            nothing = (None, None, None)
            facts = [nothing if place in known.silent else f for place, f in enumerate(facts)]
        return footer_stats.facts_leaves(
            facts, columns, wanted, known.writer, string_prefix=self.options["string_prefix"]
        )

    def _schema_number(self, number: int, schema: Any, pairs: dict[bytes, bytes]) -> int:
        spark_schema = pairs.get(footer_stats.SPARK_SCHEMA_KEY)
        # The first line of the text holds an address in memory.
        text = str(schema).partition("\n")[2]
        key = (text, spark_schema)
        known = self._numbers.get(key)
        if known is not None:
            return known
        columns = footer_stats.leaf_columns(schema)
        wanted = self.options["wanted"].get(text)
        if wanted is None:
            wanted = footer_stats.wanted_leaves(
                columns,
                limit=self.options["limit"],
                names=self.options["names"],
                without=self.options["without"],
            )
        decoded = None if spark_schema is None else spark_schema.decode("utf-8", "replace")
        self.schemas.append((text, decoded, columns, wanted, number))
        self._numbers[key] = len(self.schemas) - 1
        return len(self.schemas) - 1


def tail_of_file(path: str, count: int) -> bytes:
    """The last bytes of a file on this machine, or all that it has."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(handle).st_size
        start = max(0, size - count)
        parts = []
        while start < size:
            os.lseek(handle, start, os.SEEK_SET)
            part = os.read(handle, size - start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def footer_of(source: Any) -> Any:
    """As `read_metadata` gives it, without the paths it prepares for reading columns: a third of the time."""
    if ParquetReader is None:
        return pq.read_metadata(source)
    reader = ParquetReader()
    reader.open(source)
    return reader.metadata


def bad_file_reason(exc: BaseException) -> str:
    text = " ".join(str(exc).split())
    if "magic bytes not found" in text:
        return "not a parquet file (no parquet marker at its end): cut off, or another format"
    if "encrypted" in text.lower() or "PARE" in text:
        return "its footer is encrypted"
    if "smaller than" in text or "size is 0 bytes" in text:
        return "too short to be a parquet file"
    return f"its footer cannot be read ({text[:200] or type(exc).__name__})"
