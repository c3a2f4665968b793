"""One session on a Spark Thrift server: statements in, rows out, cancelled from wherever.

Statements run in the background of the server and are asked after, so that they can be cancelled; what only
sets or reads a conf runs at once. The server ends a session whose connection breaks, and what ran in it.
A statement goes out once: whoever wants to send it again looks first whether it has committed.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConnectionLostError
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.core.written_table import without_leading_comments
from dbt.adapters.delta_maint.environments.thrift_protocol import (
    NEXT_ROWS,
    VERSION,
    HiveCalls,
    ServerError,
    State,
)
from dbt.adapters.delta_maint.environments.thrift_rows import ThriftColumn, rows_of
from dbt.adapters.delta_maint.environments.thrift_settings import ThriftSettings
from dbt.adapters.delta_maint.environments.thrift_transport import open_transport
from thrift.transport.TTransport import TTransportException

Row = tuple[Any, ...]
ROWS_AT_ONCE = 10_000
SETTLING_SECONDS = 2.0
ZONE = "spark.sql.session.timeZone"
UNDEFINED = "<undefined>"
_CHANGES_CONFS = re.compile(r"\s*(?:set|reset)\b", re.IGNORECASE)
_WRAPPED = re.compile(
    r"^(?:[\w.$]+: )*(?:Error (?:running query|operating \w+)|Failed to open new session): "
)
# Spark's analyser adds the plan to what it says.
_PLAN = re.compile(r";\n['!+A-Z].*\Z", re.DOTALL)
_JAVA_CLASS = re.compile(r"^(?:\[[A-Z0-9_.]+\] )?((?:[a-z]\w*\.)+[A-Z][\w$]*): ")


class ThriftError(Exception):
    """An error of Spark's or Delta's; `_stacktrace` is how the server told it."""

    def __init__(self, text: str) -> None:
        told = _WRAPPED.sub("", text)
        sentence = _PLAN.sub("", told.split("\n\tat ", 1)[0])
        super().__init__(_JAVA_CLASS.sub("", sentence, count=1).strip())
        self._stacktrace = told


class ThriftSession:
    def __init__(self, settings: ThriftSettings, *, query_timeout: int = 0) -> None:
        self.settings = settings
        self._query_timeout = query_timeout
        self._known: dict[str, str | None] = {}
        self._running: set[Any] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        with _telling_losses():
            self._calls = HiveCalls(open_transport(settings))
            try:
                answer = self._call(
                    "OpenSession",
                    client_protocol=VERSION,
                    username=settings.user,
                    password=settings.password,
                    # Not by SET: the server writes statements into its log, and one may be a secret.
                    configuration={
                        f"set:hiveconf:{key}": value for key, value in settings.confs.items()
                    },
                )
                self.server_handle = answer.sessionHandle
            except BaseException:
                self._calls.close()
                raise

    # -- statements -----------------------------------------------------------------------------

    def run(self, sql: str) -> ThriftAnswer:
        """Executed when this returns; the rows are there to be fetched."""
        if _CHANGES_CONFS.match(without_leading_comments(sql)):
            self._known.clear()
        with _telling_losses():
            operation = self._execute(sql, is_async=True)
            try:
                self._wait(operation)
            except BaseException:
                with contextlib.suppress(Exception):
                    self._end(operation)
                raise
        return ThriftAnswer(self, operation)

    def _execute(self, sql: str, *, is_async: bool) -> Any:
        answer = self._call(
            "ExecuteStatement",
            sessionHandle=self.server_handle,
            statement=sql,
            runAsync=is_async,
            queryTimeout=self._query_timeout,
        )
        operation = answer.operationHandle
        with self._lock:
            self._running.add(_Operation(operation))
        return operation

    def _wait(self, operation: Any) -> None:
        """The server answers when the statement has ended, or after a few seconds."""
        while True:
            status = self._call("GetOperationStatus", operationHandle=operation)
            state = status.operationState
            if state == State.FINISHED:
                operation.hasResultSet = status.hasResultSet is not False
                return
            if state in State.ENDED:
                what = "was cancelled" if state != State.TIMED_OUT else "ran into its query_timeout"
                raise ThriftError(status.errorMessage or f"The statement {what}.")

    def _end(self, operation: Any) -> None:
        with self._lock:
            self._running.discard(_Operation(operation))
        self._call("CloseOperation", operationHandle=operation)

    def _call(self, name: str, **fields: Any) -> Any:
        try:
            return self._calls.call(name, **fields)
        except ServerError as exc:
            if exc.is_invalid_handle:
                raise ConnectionLostError(f"The server has dropped the session: {exc}") from exc
            raise ThriftError(exc.text) from exc

    # -- confs ----------------------------------------------------------------------------------

    def conf(self, key: str) -> str | None:
        if key not in self._known:
            self._known[key] = self.fresh_conf(key)
        return self._known[key]

    def fresh_conf(self, key: str) -> str | None:
        """As the server has it now: for what the server itself sets."""
        found = self._at_once(f"SET {key}")
        value = str(found[0][1]) if found else UNDEFINED
        return None if value == UNDEFINED else value

    def set_conf(self, key: str, value: str | None) -> None:
        if value is None:
            self._at_once(f"RESET {identifier(key)}")
            # What the server was started with may stand behind it.
            self._known.pop(key, None)
        else:
            self._at_once(f"SET {identifier(key)}={identifier(value) if value else ''}")
            self._known[key] = value

    def _at_once(self, sql: str) -> list[Row]:
        with _telling_losses():
            operation = self._execute(sql, is_async=False)
            try:
                return [row for rows in self._fetched(operation, _PAIR) for row in rows]
            finally:
                self._end(operation)

    # -- rows -----------------------------------------------------------------------------------

    def columns_of(self, operation: Any) -> list[ThriftColumn]:
        answer = self._call("GetResultSetMetadata", operationHandle=operation)
        return [ThriftColumn.of(column) for column in answer.schema.columns]

    def _fetched(self, operation: Any, columns: list[ThriftColumn]) -> Iterator[list[Row]]:
        zone = self.conf(ZONE) if any(column.is_timestamp for column in columns) else None
        while True:
            answer = self._call(
                "FetchResults",
                operationHandle=operation,
                orientation=NEXT_ROWS,
                maxRows=ROWS_AT_ONCE,
            )
            rows = list(rows_of(answer.results, columns, zone))
            if not rows:
                return
            yield rows

    # -- endings --------------------------------------------------------------------------------

    def answers(self) -> bool:
        """Whether the server still knows this session."""
        if self._is_closed:
            return False
        try:
            self.fresh_conf("spark.sql.ansi.enabled")
        except Exception:
            return False
        return True

    def interrupt(self) -> None:
        """Over a connection of its own: this one may be waiting for an answer, or be gone."""
        operations = self._operations()
        if not operations:
            return
        with contextlib.suppress(Exception), self.beside() as calls:
            for operation in operations:
                with contextlib.suppress(ServerError):
                    calls.call("CancelOperation", operationHandle=operation)

    def end_from_beside(self) -> None:
        """Ends a session whose connection is lost, and all that it ran: until then a commit may still come."""
        with contextlib.suppress(OSError, TTransportException), self.beside() as calls:
            with contextlib.suppress(ServerError):
                calls.call("CloseSession", sessionHandle=self.server_handle)
            # The server does not wait for the threads that it interrupts.
            time.sleep(SETTLING_SECONDS)

    def release(self) -> None:
        """The server forgets the session; one that does not answer is not waited for."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(Exception):
            self._calls.call("CloseSession", sessionHandle=self.server_handle)
        self._calls.close()

    def give_up(self) -> None:
        self._is_closed = True
        self._calls.close()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def _operations(self) -> list[Any]:
        with self._lock:
            return [operation.handle for operation in self._running]

    @contextlib.contextmanager
    def beside(self) -> Iterator[HiveCalls]:
        calls = HiveCalls(open_transport(self.settings))
        try:
            yield calls
        finally:
            calls.close()


class ThriftAnswer:
    """The rows of one statement, fetched as they are asked for."""

    def __init__(self, session: ThriftSession, operation: Any) -> None:
        self._session = session
        self._operation = operation
        self._columns: list[ThriftColumn] | None = None
        self.is_ended = False

    @property
    def columns(self) -> list[ThriftColumn]:
        if self._columns is None:
            with _telling_losses():
                has_rows = self._operation.hasResultSet
                self._columns = self._session.columns_of(self._operation) if has_rows else []
        return self._columns

    def batches(self) -> Iterator[list[Row]]:
        """The server holds what a statement found until the last row is fetched, or `close`."""
        if self.columns:
            with _telling_losses():
                yield from self._session._fetched(self._operation, self.columns)
        self.close()

    def rows(self) -> list[Row]:
        return [row for rows in self.batches() for row in rows]

    def close(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            with contextlib.suppress(Exception):
                self._session._end(self._operation)


class _Operation:
    """Equal when the server's identifier is: handles are not hashable."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self._guid = bytes(handle.operationId.guid)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Operation) and other._guid == self._guid

    def __hash__(self) -> int:
        return hash(self._guid)


_PAIR = [ThriftColumn("key", 7), ThriftColumn("value", 7)]


@contextlib.contextmanager
def _telling_losses() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, TTransportException) as exc:
        raise ConnectionLostError(str(exc) or type(exc).__name__) from exc
