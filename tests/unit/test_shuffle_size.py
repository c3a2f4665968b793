"""What rows take in a shuffle, against what Spark itself was measured to write."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pyarrow as pa
from dbt.adapters.delta_maint.lake.shuffle_size import shuffle_bytes_per_row

ROWS = 4_000


def test_wide_strings_take_their_length_and_low_cardinality_little_more_than_nothing() -> None:
    digests = pa.table({"s": [hashlib.sha512(str(i).encode()).hexdigest() for i in range(ROWS)]})
    wide = shuffle_bytes_per_row(digests)
    assert wide is not None
    assert 110 <= wide <= 150
    flags = pa.table({"a": [1, 2] * (ROWS // 2), "b": ["x", None] * (ROWS // 2)})
    narrow = shuffle_bytes_per_row(flags)
    assert narrow is not None
    assert narrow < 5


def test_every_kind_of_column_has_a_size() -> None:
    kinds = pa.table(
        {
            "i": pa.array([1, None], pa.int16()),
            "f": pa.array([1.5, None], pa.float32()),
            "b": [True, None],
            "d": pa.array([1, None], pa.date32()),
            "t": pa.array([1, None], pa.timestamp("us", tz="UTC")),
            "small": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "large": pa.array([Decimal("1.50"), None], pa.decimal128(38, 2)),
            "x": [b"12", None],
            "l": [[1, 2], None],
            "n": pa.nulls(2),
        }
    )
    assert (shuffle_bytes_per_row(kinds) or 0) > 20
    assert shuffle_bytes_per_row(kinds.slice(0, 0)) is None
