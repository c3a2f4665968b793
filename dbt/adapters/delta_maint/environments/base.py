"""One interface over the places where SQL and DataFrames run.

An environment lives once per process. It hands out one handle per dbt connection; handles of two
connections never see each other's SET, temporary views or current database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection


@dataclass(frozen=True)
class Verdict:
    """One line of `dbt debug`: what was looked at, what was found, whether it will do."""

    subject: str
    finding: str
    is_good: bool = True

    def __str__(self) -> str:
        return f"{self.subject}: {self.finding} [{'OK' if self.is_good else 'ERROR'}]"


class Cursor(ABC):
    """What dbt asks of a cursor, with the rows of exactly one statement."""

    @property
    @abstractmethod
    def description(self) -> list[tuple[Any, ...]] | None: ...

    @abstractmethod
    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None: ...

    @abstractmethod
    def run_to_end(self) -> None:
        """Executes a query whose rows nobody fetches."""

    @abstractmethod
    def fetchall(self) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def fetchmany(self, size: int) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def fetchone(self) -> tuple[Any, ...] | None: ...

    @property
    @abstractmethod
    def rows_affected(self) -> int | None: ...

    @property
    @abstractmethod
    def committed_version(self) -> int | None:
        """The version of the Delta table that the statement committed; None when it did not."""

    @abstractmethod
    def close(self) -> None: ...


class Handle(ABC):
    """One dbt connection; `spark` is its session, classic or remote, or None where there is only SQL."""

    spark: Any

    @property
    @abstractmethod
    def sql(self) -> SqlConnection:
        """The same connection for whoever needs SQL and settings, and no cursor."""

    @abstractmethod
    def cursor(self) -> Cursor: ...

    @abstractmethod
    def describe_work(self, name: str) -> None:
        """Names the node this connection now works for, as Spark's UI and logs show it."""

    @abstractmethod
    def cancel(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def rollback(self) -> None:
        """Spark has no transactions that span statements."""


class Environment(ABC):
    @abstractmethod
    def open(self) -> Handle: ...

    @abstractmethod
    def inspect(self) -> list[Verdict]:
        """Looks at everything that a start needs, without starting."""

    @abstractmethod
    def close(self) -> None: ...
