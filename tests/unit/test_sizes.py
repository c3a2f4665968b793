"""Sizes as people write them, and the target a table of a size gets."""

from __future__ import annotations

import pytest
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.sizes import (
    GIB,
    MIB,
    TIB,
    adaptive_target_bytes,
    format_bytes,
    parse_bytes,
    target_file_bytes,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128 MiB", 128 * MIB), ("128mb", 128 * MIB), ("1g", GIB), ("0.5 GiB", GIB // 2),
        (" 64 m ", 64 * MIB), (4096, 4096), ("4096", 4096), ("10b", 10), (2**63 - 1, 2**63 - 1),
    ],
)  # fmt: skip
def test_sizes_are_read(text: object, size: int) -> None:
    assert parse_bytes(text, name="x") == size


@pytest.mark.parametrize(
    "text",
    [0, -1, "-1 MiB", "1e9", "ten", "", None, True, 2**63, "9 EiB", [1], "1 MiB; drop", "nan"],
)
def test_what_is_not_a_size_is_refused_by_name(text: object) -> None:
    with pytest.raises(ConfigError, match="target_file_size is"):
        parse_bytes(text, name="target_file_size")


@given(st.integers(1, 2**62))
def test_a_printed_size_reads_back_within_its_last_digit(size: int) -> None:
    assert abs(parse_bytes(format_bytes(size), name="x") - size) <= size * 0.06


@pytest.mark.parametrize(
    ("table", "target"),
    [
        (0, 128 * MIB), (10 * GIB, 128 * MIB), (99 * GIB, 128 * MIB), (100 * GIB, 256 * MIB),
        (TIB, 512 * MIB), (10 * TIB, GIB), (1000 * TIB, GIB),
    ],
)  # fmt: skip
def test_the_target_grows_with_the_table(table: int, target: int) -> None:
    assert adaptive_target_bytes(table) == target
    assert target_file_bytes(None, table) == target


def test_a_pinned_target_holds_at_every_size() -> None:
    assert {target_file_bytes(7 * MIB, size) for size in (0, TIB, 100 * TIB)} == {7 * MIB}
