"""Which chunks may run side by side, and that they do."""

from __future__ import annotations

import threading

import pytest
from dbt.adapters.delta_maint.core.compaction_plan import Action, Chunk
from dbt.adapters.delta_maint.lake.parallel_chunks import independent_stages, run_side_by_side


def chunk(*partitions: str) -> Chunk:
    keys = tuple((name,) if name else () for name in partitions)
    return Chunk(Action.COMPACT, keys, None, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("chunks", "stages"),
    [
        ([], []),
        ([chunk("a")], [[0]]),
        ([chunk("a"), chunk("b", "c")], [[0, 1]]),
        ([chunk("a", "b"), chunk("c"), chunk("b")], [[0, 1], [2]]),
        ([chunk(""), chunk("")], [[0], [1]]),
    ],
)
def test_a_partition_is_named_once_in_a_stage(chunks: list[Chunk], stages: list[list[int]]) -> None:
    assert independent_stages(chunks) == stages


def test_as_many_run_as_may_and_never_more() -> None:
    pairs = threading.Barrier(2, timeout=10)
    lock = threading.Lock()
    running: list[int] = []
    most: list[int] = []

    def work() -> None:
        with lock:
            running.append(1)
            most.append(len(running))
        pairs.wait()
        with lock:
            running.pop()
        pairs.wait()

    run_side_by_side([work] * 6, at_once=2)
    assert max(most) == 2


def test_a_fault_is_raised_and_nothing_new_is_begun() -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_side_by_side([fail, lambda: done.append(1)], at_once=1)
    assert done == []
