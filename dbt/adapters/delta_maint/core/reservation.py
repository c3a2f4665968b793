"""Partitions that another thread of this process is compacting.

Two threads that compact one table at the same time never take the same partition; a thread that ends,
in whatever way, gives its partitions back. Other processes are not kept away: they meet Delta's own
conflict check.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dbt.adapters.delta_maint.core.table import PartitionKey


class Reservations:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, set[PartitionKey]] = {}

    def filter_free_partitions(
        self, table_id: str, partitions: Iterable[PartitionKey]
    ) -> frozenset[PartitionKey]:
        with self._lock:
            return frozenset(partitions) - self._taken.get(table_id, set())

    def reserve(self, table_id: str, partitions: Iterable[PartitionKey]) -> frozenset[PartitionKey]:
        """Takes those that are still free, and says which."""
        with self._lock:
            taken = self._taken.setdefault(table_id, set())
            got = frozenset(partitions) - taken
            taken |= got
            return got

    def release(self, table_id: str, partitions: Iterable[PartitionKey]) -> None:
        with self._lock:
            taken = self._taken.get(table_id, set())
            taken -= set(partitions)
            if not taken:
                self._taken.pop(table_id, None)

    @contextmanager
    def held(self, table_id: str, partitions: Iterable[PartitionKey]) -> Iterator[None]:
        """Gives back on leaving what was reserved before."""
        try:
            yield
        finally:
            self.release(table_id, partitions)


PROCESS_RESERVATIONS = Reservations()
