"""Files of a write that is not shuffled: how many tasks to join, after how many rows to cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Writing this much with one task costs less than starting several.
ONE_TASK_BYTES = 32 * 1024**2
_SLACK = 1.02


@dataclass(frozen=True)
class CapPlan:
    """`tasks` None leaves the query's own tasks as they are; `max_rows` 0 cuts nothing."""

    tasks: int | None
    max_rows: int
    files: int


def plan_cap(
    rows_per_task: Sequence[int], *, bytes_per_row: float, target_bytes: int, cores: int
) -> CapPlan:
    """Joins neighbouring tasks where they are too small, cuts where they are too large.

    Never fewer tasks than cores for data worth their work: one large file is not worth idle cores.
    """
    rows = [count for count in rows_per_task if count > 0]
    total_bytes = sum(rows) * bytes_per_row
    if not rows:
        return CapPlan(1, 0, 0)
    wanted = max(1, round(total_bytes / target_bytes))
    if total_bytes > ONE_TASK_BYTES:
        wanted = max(wanted, min(cores, len(rows)))
    if len(rows) >= 2 * wanted or (wanted < len(rows) and total_bytes <= ONE_TASK_BYTES):
        even = [math.ceil(sum(rows) / wanted)] * wanted
        max_rows, _ = best_row_cap(even, bytes_per_row=bytes_per_row, target_bytes=target_bytes)
        return CapPlan(wanted, math.ceil(max_rows * 1.3), wanted)
    max_rows, files = best_row_cap(rows, bytes_per_row=bytes_per_row, target_bytes=target_bytes)
    return CapPlan(None, max_rows, files)


def best_row_cap(
    rows_per_task: Sequence[int], *, bytes_per_row: float, target_bytes: int
) -> tuple[int, int]:
    """One row limit for all tasks, chosen so that few of them end in a small rest.

    >>> best_row_cap([2_500, 2_500], bytes_per_row=1, target_bytes=1_000)
    (1275, 4)
    """
    target_rows = max(1, target_bytes / bytes_per_row)
    candidates = {math.ceil(target_rows)}
    for rows in sorted(rows_per_task, reverse=True)[:50]:
        pieces = max(1, round(rows / target_rows))
        candidates |= {
            math.ceil(rows / count * _SLACK) for count in (pieces, pieces + 1) if count > 0
        }
    possible = [cap for cap in candidates if 0.6 * target_rows <= cap <= 1.4 * target_rows]
    possible = possible or [math.ceil(target_rows)]

    def cost(cap: int) -> tuple[float, int]:
        missed = 0.0
        for rows in rows_per_task:
            full, rest = divmod(rows, cap)
            missed += full * abs(math.log(cap / target_rows))
            if rest and full:
                missed += abs(math.log(rest / target_rows))
        return missed, -cap

    best = min(possible, key=cost)
    return best, sum(math.ceil(rows / best) for rows in rows_per_task)
