"""Reads the footers of a batch of files: rows, schema, statistics, or why a file is not parquet.

Runs on the driver for small folders and on executors for large ones. There it arrives by value together
with footer_stats: a worker needs pyarrow and nothing of this package. One bad file never fails a batch;
its reason comes back with it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from dbt.adapters.delta_maint.core import footer_stats

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
MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"


def read_footers(
    files: list[tuple[int, Any]], options: dict[str, Any], open_tail: Any = None
) -> tuple[list[FooterSchema], list[FooterRow]]:
    """`files` are (number, path); with `open_tail`, path is whatever that function takes."""
    reader = FooterBatch(options, open_tail)
    threads = options.get("threads", 1)
    if threads > 1 and len(files) > 1:
        # A task of its own for every file would cost as much as a footer that is in memory.
        size = max(1, min(FILES_PER_TURN, len(files) // threads))
        turns = [files[at : at + size] for at in range(0, len(files), size)]
        with ThreadPoolExecutor(threads) as pool:
            read = pool.map(lambda turn: [reader.load(file) for file in turn], turns)
            rows = [reader.row(number, footer) for turn in read for number, footer in turn]
    else:
        rows = [reader.row(*reader.load(file)) for file in files]
    return reader.schemas, rows


class FooterBatch:
    def __init__(self, options: dict[str, Any], open_tail: Any) -> None:
        self.options = options
        self.open_tail = open_tail
        self.schemas: list[FooterSchema] = []
        self._numbers: dict[tuple[str, bytes | None], int] = {}

    def load(self, file: tuple[int, Any]) -> tuple[int, Any]:
        """The footer of one file, or the text of what is wrong with it."""
        number, path = file
        try:
            if self.open_tail is None:
                with pa.OSFile(path, "rb") as source:
                    return number, footer_of(source)
            return number, self._metadata_of_tail(path)
        except Exception as exc:  # whatever the bytes provoke, the file is named with it
            return number, bad_file_reason(exc)

    def row(self, number: int, footer: Any) -> FooterRow:
        if isinstance(footer, str):
            return number, 0, 0, -1, None, footer
        try:
            pairs = footer.metadata or {}
            schema = self._schema_number(number, footer.schema, pairs)
            _, _, columns, wanted, _ = self.schemas[schema]
            leaves = None
            if columns and self.options["statistics"]:
                leaves = footer_stats.footer_leaves(
                    footer, columns, wanted, pairs, string_prefix=self.options["string_prefix"]
                )
            return number, footer.num_rows, footer.num_row_groups, schema, leaves, None
        except Exception as exc:  # a footer that opens but does not hold together
            return number, 0, 0, -1, None, bad_file_reason(exc)

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

    def _metadata_of_tail(self, path: Any) -> Any:
        tail = self.open_tail(path, TAIL_BYTES)
        footer_bytes = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] == MAGIC and footer_bytes > len(tail):
            tail = self.open_tail(path, footer_bytes)
        return footer_of(pa.BufferReader(tail))


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
