"""Writes of one process to one table, one after the other.

Batches of a microbatch model may run at the same time. Where no partition keeps their windows apart,
Delta would let one win and fail the others, so each waits for its turn instead. The turn belongs to the
thread's next statement and ends with it, whatever its end.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tables: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._thread = threading.local()

    def wait_before_next_statement(self, table: str) -> None:
        self._thread.table = table.lower()

    @contextmanager
    def taken(self) -> Iterator[None]:
        table: str | None = getattr(self._thread, "table", None)
        self._thread.table = None
        if table is None:
            yield
            return
        with self._guard:
            lock = self._tables[table]
        with lock:
            yield
