"""Chunks side by side: which may, and the threads that run them.

Jobs of the threads belong to the connection that asked for them, so cancelling it cancels them too. The
threads are daemons: when the asking thread is interrupted, the process can end without waiting for them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from dbt.adapters.delta_maint.core.compaction_plan import Chunk


def independent_stages(chunks: Sequence[Chunk]) -> list[list[int]]:
    """Positions of chunks, in their order; within a stage no partition is named twice."""
    stages: list[list[int]] = []
    named: set[object] = set()
    for position, chunk in enumerate(chunks):
        if not stages or named & set(chunk.partitions):
            stages.append([])
            named = set()
        stages[-1].append(position)
        named |= set(chunk.partitions)
    return stages


def run_side_by_side(works: Sequence[Callable[[], None]], *, at_once: int) -> None:
    """All of `works`; what one of them raises is raised here, and those not begun are left."""
    waiting = deque(works)
    faults: list[BaseException] = []

    def take_turns() -> None:
        while not faults:
            try:
                work = waiting.popleft()
            except IndexError:
                return
            try:
                work()
            except BaseException as exc:
                faults.append(exc)

    helpers = min(at_once, len(works)) - 1
    threads = [
        threading.Thread(target=_inheriting(take_turns), daemon=True) for _ in range(helpers)
    ]
    for thread in threads:
        thread.start()
    take_turns()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # interrupted while waiting: nothing new is begun
        waiting.clear()
        raise
    if faults:
        raise faults[0]


def _inheriting(work: Callable[[], None]) -> Callable[[], None]:
    """With the job group and the scheduler pool of this thread, where it has a Spark of its own."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return work
    scala_context = context._jsc.sc()
    properties = scala_context.getLocalProperties().clone()

    def inherited() -> None:
        scala_context.setLocalProperties(properties)
        work()

    return inherited
