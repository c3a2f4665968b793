"""A perfect hash small enough to be written into a query as three literal arrays.

The write needs, for every row, the task of its partition value. A join would add an operator and keep
the user's own repartition alive; an array indexed by the value's hash does neither. Every known value
gets a slot of its own; a value nobody has seen gets some slot, which is all it needs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

KEYS_PER_BUCKET = 4
SLOTS_PER_KEY = 1.25
_MAX_TRIALS = 20_000
_SIGN = 1 << 63
_RANGE = 1 << 64


@dataclass(frozen=True)
class SlotTable:
    """`slot(key) = pmod(key xor displacements[pmod(key, buckets)], slots)`, 64-bit signed arithmetic."""

    displacements: tuple[int, ...]
    slots: int

    def slot(self, key: int) -> int:
        displacement = self.displacements[key % len(self.displacements)]
        return _signed(key ^ displacement) % self.slots


def build_slot_table(keys: Sequence[int]) -> SlotTable:
    """A table in which no two of the given signed 64-bit keys share a slot.

    >>> table = build_slot_table([3, -7, 10**15])
    >>> len({table.slot(key) for key in (3, -7, 10**15)})
    3
    """
    distinct = sorted(set(keys))
    if not distinct:
        return SlotTable((0,), 1)
    # The same keys give the same table, so a plan can be printed, compared and replayed.
    dice = random.Random(len(distinct))
    bucket_count = max(1, -(-len(distinct) // KEYS_PER_BUCKET))
    slots = _next_prime(max(2, int(len(distinct) * SLOTS_PER_KEY) + 1))
    while True:
        displacements = _place(distinct, bucket_count, slots, dice)
        if displacements is not None:
            return SlotTable(tuple(displacements), slots)
        slots = _next_prime(slots * 2)


def _place(
    keys: Sequence[int], bucket_count: int, slots: int, dice: random.Random
) -> list[int] | None:
    buckets: list[list[int]] = [[] for _ in range(bucket_count)]
    for key in keys:
        buckets[key % bucket_count].append(key)
    taken = bytearray(slots)
    displacements = [0] * bucket_count
    for index in sorted(range(bucket_count), key=lambda i: -len(buckets[i])):
        for _ in range(_MAX_TRIALS):
            displacement = dice.getrandbits(62)
            wanted = [_signed(key ^ displacement) % slots for key in buckets[index]]
            if len(set(wanted)) == len(wanted) and not any(taken[slot] for slot in wanted):
                break
        else:
            return None
        displacements[index] = displacement
        for slot in wanted:
            taken[slot] = 1
    return displacements


def _signed(value: int) -> int:
    return (value + _SIGN) % _RANGE - _SIGN


def _next_prime(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number
