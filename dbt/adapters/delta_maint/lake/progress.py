"""A plain line now and then while a long write runs: how far Spark is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.delta_maint.lake.sql_runner import has_driver

FIRST_AFTER_SECONDS = 20.0
THEN_EVERY_SECONDS = 30.0


@contextmanager
def told_progress(
    spark: Any,
    group: str | None,
    tell: Callable[[str], None],
    *,
    first_after: float = FIRST_AFTER_SECONDS,
    then_every: float = THEN_EVERY_SECONDS,
) -> Iterator[None]:
    """Calls `tell` with the tasks done by the jobs of a group. A short write says nothing."""
    watched = _Remote(spark) if spark is not None and not has_driver(spark) else None
    if group is None and watched is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        wait, before = first_after, ""
        while not ended.wait(wait):
            line = watched.line() if watched else progress_line(spark, str(group))
            if line and line != before:
                tell(line)
            wait, before = then_every, line or before

    watcher = threading.Thread(target=watch, name="delta-maint-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        if watched is not None:
            watched.close()
        watcher.join(timeout=5)


class _Remote:
    """What a server tells, every two seconds, of the operation that a session runs."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._stages: Iterable[Any] = ()
        spark.registerProgressHandler(self._hear)

    def close(self) -> None:
        self._spark.removeProgressHandler(self._hear)

    def line(self) -> str | None:
        active = [stage for stage in self._stages if not stage.done]
        total = sum(stage.num_tasks for stage in active)
        done = sum(stage.num_completed_tasks for stage in active)
        return f"{done} of {total} tasks done" if total else None

    def _hear(self, stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        self._stages = () if done else tuple(stages or ())


def progress_line(spark: Any, group: str) -> str | None:
    """The stages that run now, as tasks done of tasks known; None between jobs."""
    tracker = spark.sparkContext.statusTracker()
    done = total = 0
    try:
        active = set(tracker.getActiveStageIds())
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                found = tracker.getStageInfo(stage) if stage in active else None
                if found is not None:
                    done, total = done + found.numCompletedTasks, total + found.numTasks
    except Exception:  # the write ends while it is looked at
        return None
    return f"{done} of {total} tasks done" if total else None
