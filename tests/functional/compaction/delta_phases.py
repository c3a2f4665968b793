"""Barriers inside Delta's own transactions, told as named phases.

Delta calls an observer of the thread at the phases of a transaction. Here the observer is Python, so a
test can let another writer commit exactly between what OPTIMIZE read and what it commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class TransactionPhases:
    """Runs `at_commit` once, when the transaction of this thread is about to commit."""

    def __init__(self, at_commit: Callable[[], None], times: int = 1) -> None:
        self.at_commit = at_commit
        self.times_left = times
        self.fired = 0
        self.faults: list[BaseException] = []

    def startingTransaction(self, body: Any) -> Any:  # noqa: N802
        return body.apply()

    def preparingCommit(self, body: Any) -> Any:  # noqa: N802
        if self.times_left:
            self.times_left -= 1
            self.fired += 1
            try:
                self.at_commit()
            except BaseException as exc:
                self.faults.append(exc)
        return body.apply()

    def beginDoCommit(self) -> None:  # noqa: N802
        """Delta is about to write its log file."""

    def beginBackfill(self) -> None:  # noqa: N802
        """Only for commits that a catalog coordinates."""

    def beginPostCommit(self) -> None:  # noqa: N802
        """The commit stands."""

    def transactionCommitted(self) -> None:  # noqa: N802
        """Hooks have run."""

    def transactionAborted(self) -> None:  # noqa: N802
        """The transaction gave up."""

    def createChild(self) -> TransactionPhases:  # noqa: N802
        return self

    class Java:
        implements = ["org.apache.spark.sql.delta.TransactionExecutionObserver"]


@contextmanager
def before_commit(
    spark: Any, action: Callable[[], None], *, times: int = 1
) -> Iterator[TransactionPhases]:
    """While this holds, the next transactions of this thread run `action` before they commit."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(spark._sc._gateway)
    observers = getattr(spark._jvm.org.apache.spark.sql.delta, "TransactionExecutionObserver$")
    module = observers.__getattr__("MODULE$")
    phases = TransactionPhases(action, times)
    before = module.getObserver()
    module.setObserver(phases)
    try:
        yield phases
    finally:
        module.setObserver(before)
    if phases.faults:
        raise phases.faults[0]
