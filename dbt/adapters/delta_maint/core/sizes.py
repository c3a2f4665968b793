"""Byte sizes: read, written, and the file size a table should have.

One target governs what optimized writes produce and what compaction merges towards, so the two
never work against each other.
"""

from __future__ import annotations

import re
from decimal import Decimal

from dbt.adapters.delta_maint.core.errors import ConfigError

KIB = 1024
MIB = 1024**2
GIB = 1024**3
TIB = 1024**4

SMALLEST_TARGET_BYTES = 128 * MIB
LARGEST_TARGET_BYTES = 1 * GIB
SMALL_TABLE_BYTES = 10 * GIB

_UNITS = {
    "": 1,
    "b": 1,
    "k": KIB, "kb": KIB, "kib": KIB,
    "m": MIB, "mb": MIB, "mib": MIB,
    "g": GIB, "gb": GIB, "gib": GIB,
    "t": TIB, "tb": TIB, "tib": TIB,
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_LARGEST = 2**63 - 1


def parse_bytes(value: object, *, name: str) -> int:
    """A size as people write it in YAML; units are powers of 1024, as Spark reads them.

    >>> parse_bytes("128 MiB", name="target_file_size") == 128 * MIB
    True
    >>> parse_bytes(1048576, name="target_file_size")
    1048576
    """
    text = str(value).strip() if isinstance(value, int | str | float) else ""
    found = None if isinstance(value, bool) else _SIZE.fullmatch(text)
    unit = _UNITS.get(found.group(2).lower()) if found else None
    if found is None or unit is None:
        raise ConfigError(
            f"{name} is {value!r}: write a number of bytes or a size such as '128 MiB'."
        )
    size = int(Decimal(found.group(1)) * unit)
    if not 0 < size <= _LARGEST:
        raise ConfigError(f"{name} is {value!r}: it must be between 1 byte and 2^63 - 1.")
    return size


def format_bytes(size_bytes: float) -> str:
    """
    >>> [format_bytes(n) for n in (0, 900, 4_300_000, 128 * MIB, 1.9 * GIB)]
    ['0 B', '900 B', '4.1 MiB', '128 MiB', '1.9 GiB']
    """
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            break
        amount /= 1024
    text = f"{amount:.1f}"
    return f"{text.removesuffix('.0')} {unit}"


def adaptive_target_bytes(table_bytes: int) -> int:
    """128 MiB up to 10 GiB of table, doubling with every tenfold size, 1 GiB from 10 TiB on.

    Steps, not a curve: a table that grows a little must not change its target a little.

    >>> [adaptive_target_bytes(n * GIB) // MIB for n in (1, 10, 100, 1000, 9_999, 10_000)]
    [128, 128, 256, 512, 512, 1024]
    """
    target_bytes, limit_bytes = SMALLEST_TARGET_BYTES, SMALL_TABLE_BYTES * 10
    while table_bytes >= limit_bytes and target_bytes < LARGEST_TARGET_BYTES:
        target_bytes, limit_bytes = target_bytes * 2, limit_bytes * 10
    return target_bytes


def target_file_bytes(pinned_bytes: int | None, table_bytes: int) -> int:
    """The target in force: what the user pinned, else what the table's size asks for."""
    return pinned_bytes if pinned_bytes is not None else adaptive_target_bytes(table_bytes)
