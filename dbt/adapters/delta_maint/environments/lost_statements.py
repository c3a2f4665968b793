"""What became of a statement whose answer was lost, and what is said about it.

The history of the table decides: a commit that carries the statement's number is the statement's. It is
looked at when the statement has ended, and nothing is sent again before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.errors import ConnectionLostError, DeltaMaintError
from dbt.adapters.delta_maint.lake.spark_errors import error_class, telling_sentence
from dbt.adapters.delta_maint.lake.statement_mark import Rows, StatementMark


@dataclass(frozen=True)
class LostStatement:
    """`mark` is None for a statement that writes no table by name."""

    mark: StatementMark | None
    error: BaseException


@dataclass(frozen=True)
class LossOn:
    """The session on which a statement was lost, and how its server is asked afterwards.

    `survives` says whether the session is still there, `is_over` whether all that it ran has ended;
    `give_up` leaves it. `judge` is another connection: it answers a statement with rows.
    """

    server: str
    survives: Callable[[], bool]
    is_over: Callable[[], bool]
    give_up: Callable[[], None]
    judge: Callable[[], AbstractContextManager[Rows]]
    tell: Callable[[str], None]


def settle(lost: LostStatement, on: LossOn) -> int | None:
    """The version it committed; None when it may be sent again; else an error that says what is known."""
    with ExitStack() as stack:
        try:
            rows = stack.enter_context(on.judge())
        except DeltaMaintError as exc:
            on.give_up()
            raise ConnectionLostError(
                f"The {on.server} was lost while a statement ran, and does not answer: "
                f"{_unknown(lost)}"
            ) from exc
        is_here = on.survives()
        is_over = is_here and on.is_over()
        if not is_here:
            on.give_up()
        what = "connection to" if is_here else "session on"
        begun = f"The {what} the {on.server} was lost while a statement ran"
        if lost.mark is None or lost.mark.number is None:
            raise ConnectionLostError(f"{begun}: {_unmarked(lost)}") from lost.error
        version, is_known = _committed(lost, lost.mark, rows)
    table = lost.mark.table
    if version is None and is_over and isinstance(lost.error, ConnectionLostError):
        on.tell(
            f"{begun}, before the server had begun it: no commit of {table} carries its number, "
            "so it is sent again."
        )
        return None
    if version is None:
        ended = "it was interrupted" if is_over else "it may still be running"
        ended = ended if is_here else "it ended with the session"
        found = (
            f"no commit of {table} carries its number {lost.mark.number}"
            if is_known
            else f"the server knows no table {table}"
        )
        raise ConnectionLostError(f"{begun}: {ended}, and {found}. Run dbt again.") from lost.error
    if not is_here:
        raise ConnectionLostError(
            f"{begun}: its commit stands as version {version} of {table}, and was not repeated; "
            "what would have come after it has not run. Run dbt again."
        ) from lost.error
    on.tell(f"{begun}: its commit stands as version {version} of {table}, and is not repeated.")
    return version


def _committed(lost: LostStatement, mark: StatementMark, rows: Rows) -> tuple[int | None, bool]:
    """The version, and whether there is a table to ask."""
    try:
        return mark.committed_version(rows), True
    except Exception as exc:
        sentence = telling_sentence(exc)
        if (error_class(sentence) or "").endswith("_NOT_FOUND"):
            return None, False
        raise ConnectionLostError(
            f"The connection was lost while a statement ran, and the history of {mark.table} "
            f"cannot be read ({sentence}): {_unknown(lost)}"
        ) from exc


def _unknown(lost: LostStatement) -> str:
    if lost.mark is None:
        return "start it again, then run dbt again."
    if lost.mark.number is None:
        return _unmarked(lost)
    return (
        f"whether it committed is not known. If it did, the history of {lost.mark.table} has a "
        f"commit with {lost.mark.number} in its userMetadata. Nothing was sent twice."
    )


def _unmarked(lost: LostStatement) -> str:
    if lost.mark is not None:
        return (
            "commitInfo.userMetadata is set to something of your own, so the history of "
            f"{lost.mark.table} cannot tell whether it committed. Nothing was sent twice."
        )
    return "it was not sent again. Run dbt again."
