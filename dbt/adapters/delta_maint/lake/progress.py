"""A plain line now and then while a long write runs: how far Spark is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
    if group is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        wait, before = first_after, ""
        while not ended.wait(wait):
            line = progress_line(spark, group)
            if line and line != before:
                tell(line)
            wait, before = then_every, line or before

    watcher = threading.Thread(target=watch, name="delta-maint-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(timeout=5)


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
