"""How many bytes rows take in a shuffle: Spark's row format, imitated on a sample and compressed as Spark does.

Spark's rebalance and Delta's optimized writer size files by shuffled bytes, and a byte on disk is anything
from one to nine of those. Before a table has a write to learn the ratio from, its own rows tell it.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SAMPLE_ROWS = 4_000
_BLOCK_BYTES = 32 * 1024
_BLOCK_HEADER = 21
_WORD = 8


def sampled_shuffle_bytes(frame: DataFrame) -> float | None:
    """Per row, from the frame's first rows; None where there are none, or none that Arrow can take.

    Spark looks into as few input files as hold them.
    """
    import pyarrow as pa

    rows = frame.limit(SAMPLE_ROWS).collect()
    try:
        columns = {str(index): [row[index] for row in rows] for index in range(len(frame.columns))}
        return shuffle_bytes_per_row(pa.table(columns))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def shuffle_bytes_per_row(sample: pa.Table) -> float | None:
    import pyarrow as pa

    if sample.num_rows == 0:
        return None
    fixed: list[list[bytes]] = []
    long: list[list[bytes]] = []
    for column in sample.columns:
        words, texts = _cells(column)
        fixed.append(words)
        if texts is not None:
            long.append(texts)
    nulls = bytes(_WORD * math.ceil(max(1, sample.num_columns) / 64))
    rows = [
        b"".join((bytes(4), nulls, *words, *texts))
        for words, texts in zip(
            zip(*fixed, strict=True),
            zip(*long, strict=True) if long else [()] * sample.num_rows,
            strict=True,
        )
    ]
    stream = b"".join(rows)
    codec = pa.Codec("lz4_raw")
    compressed = sum(
        len(codec.compress(stream[at : at + _BLOCK_BYTES])) + _BLOCK_HEADER
        for at in range(0, len(stream), _BLOCK_BYTES)
    )
    return compressed / float(sample.num_rows)


def _cells(column: pa.ChunkedArray) -> tuple[list[bytes], list[bytes] | None]:
    """Eight bytes for every row, and what stands behind them for a value that does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_floating(kind):
        values = pc.fill_null(column.cast("float64"), 0.0)
        return _words(values.to_numpy().tobytes()), None
    if pa.types.is_temporal(kind):
        column = column.cast("int32" if pa.types.is_date32(kind) else "int64")
    if pa.types.is_boolean(kind) or pa.types.is_integer(column.type):
        values = pc.fill_null(column.cast("int64"), 0)
        return _words(values.to_numpy().tobytes()), None
    if pa.types.is_decimal(kind) and kind.precision <= 18:
        scaled = [
            0 if value is None else int(value.scaleb(kind.scale)) for value in column.to_pylist()
        ]
        return [number.to_bytes(_WORD, "little", signed=True) for number in scaled], None
    texts = [_padded(value) for value in column.to_pylist()]
    return [len(text).to_bytes(_WORD, "little") for text in texts], texts


def _words(values: bytes) -> list[bytes]:
    return [values[at : at + _WORD] for at in range(0, len(values), _WORD)]


def _padded(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        text = value
    elif isinstance(value, str):
        text = value.encode()
    else:
        text = json.dumps(value, default=str).encode()
    return text + bytes(-len(text) % _WORD)
