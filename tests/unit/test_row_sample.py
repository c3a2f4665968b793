"""Bytes per row from a sample: what parquet-mr would write, not what the sample happens to weigh."""

from __future__ import annotations

import hashlib
import random

import pyarrow as pa
import pytest
from dbt.adapters.delta_maint.lake.row_sample import ParquetStyle, has_few_distinct_rows, measure

MIB = 1024**2
STYLE = ParquetStyle()


def digests(rows: int, length: int = 40) -> list[str]:
    return [hashlib.sha512(str(row).encode()).hexdigest()[:length] for row in range(rows)]


def bytes_per_row(table: pa.Table, target_bytes: int = 64 * MIB) -> float:
    found = measure(table, STYLE, target_bytes=target_bytes)
    assert found is not None
    return found.bytes_per_row


def test_distinct_values_are_not_charged_for_a_dictionary_that_is_not_written() -> None:
    numbers = random.Random(7)
    table = pa.table({"n": [numbers.getrandbits(62) for _ in range(50_000)]})
    assert bytes_per_row(table) == pytest.approx(8, rel=0.03)


def test_a_dictionary_is_shared_by_the_rows_of_a_whole_file() -> None:
    numbers = random.Random(7)
    table = pa.table({"name": [f"customer {numbers.randrange(5_000)}" for _ in range(50_000)]})
    # 13 bits of index; 5,000 names weigh 17 bytes each, once.
    assert 1.6 <= bytes_per_row(table) <= 2.2
    assert bytes_per_row(table, target_bytes=64 * 1024) > bytes_per_row(table)


def test_nested_columns_have_dictionaries_too() -> None:
    table = pa.table({"tags": [["red", "green"], ["blue"]] * 20_000})
    assert bytes_per_row(table) < 1


def test_values_with_longer_rows_get_a_figure_of_their_own() -> None:
    rows = 20_000
    table = pa.table(
        {
            "s": digests(rows, 20) + digests(rows, 120),
            "__delta_maint_key_0": ["short"] * rows + ["long"] * rows,
        }
    )
    found = measure(table, STYLE, target_bytes=64 * MIB)
    assert found is not None
    assert found.of(("short",)) == pytest.approx(20 + 4, rel=0.2)
    assert found.of(("long",)) == pytest.approx(120 + 4, rel=0.2)


def test_values_with_equal_rows_share_one_figure() -> None:
    table = pa.table(
        {
            "s": digests(30_000),
            "__delta_maint_key_0": [["a", "b", "b", None][row % 4] for row in range(30_000)],
        }
    )
    found = measure(table, STYLE, target_bytes=64 * MIB)
    assert found is not None
    assert not found.per_value
    assert measure(table.slice(0, 0), STYLE, target_bytes=MIB) is None


def test_rows_that_are_alike_are_noticed() -> None:
    assert has_few_distinct_rows(pa.table({"a": [1, 2] * 2_000}))
    assert not has_few_distinct_rows(pa.table({"a": list(range(4_000))}))
