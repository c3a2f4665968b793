"""Spark's hash of an integer, and its inverse: the integers that it sends to given tasks.

`REPARTITION(n, x)` is all that SQL text can say about where a row goes: to the task pmod(murmur3(x), n).
With an `x` for every task, any row can be sent to any task.
"""

from __future__ import annotations

SEED = 42
_MASK = 0xFFFFFFFF


def murmur3(value: int, seed: int = SEED) -> int:
    """Murmur3 x86 32 of one int, as Spark's `hash` gives it: signed.

    >>> murmur3(0), murmur3(1), murmur3(-1)
    (933211791, -559580957, -1604776387)
    """
    k = (value & _MASK) * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    k = k * 0x1B873593 & _MASK
    h = seed ^ k
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h


def values_for_tasks(tasks: int) -> list[int]:
    """For every task a small integer whose hash goes there.

    >>> [murmur3(value) % 3 for value in values_for_tasks(3)]
    [0, 1, 2]
    """
    found: dict[int, int] = {}
    value = 0
    while len(found) < tasks:
        found.setdefault(murmur3(value) % tasks, value)
        value += 1
    return [found[task] for task in range(tasks)]
