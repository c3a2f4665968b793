"""Spark and Delta behind a Spark Thrift server, with nothing but SQL.

Every dbt connection is a session of its own on the server, over a connection of its own: its confs,
temporary views and current schema are nobody else's. Cancelling it cancels what it and the connections
made from it are running, over yet another connection. Sessions are released when their connection closes,
when opening one fails, and when the process ends; the server ends by itself what it hears nothing of.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.errors import (
    ConnectionLostError,
    DeltaMaintError,
    ProfileError,
    SparkStartError,
)
from dbt.adapters.delta_maint.environments.base import Environment, Handle, Verdict
from dbt.adapters.delta_maint.environments.server_verdicts import delta_verdict
from dbt.adapters.delta_maint.environments.thrift_settings import ThriftSettings
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection

if TYPE_CHECKING:
    from dbt.adapters.delta_maint.environments.lost_statements import LostStatement
    from dbt.adapters.delta_maint.environments.thrift_cursor import ThriftCursor
    from dbt.adapters.delta_maint.environments.thrift_session import ThriftSession
    from dbt.adapters.delta_maint.lake.statement_mark import Rows

OURS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.sources.default": "delta",
    # DESCRIBE shows wide structs in full.
    "spark.sql.debug.maxToStringFields": "1000",
    # Ours decides from the table; with Delta's own beside it, files would be rewritten twice.
    "spark.databricks.delta.autoCompact.enabled": "false",
    # The server turns it on; Delta 4.4 then fails on a MIN or MAX of dates that its log could answer.
    "spark.sql.datetime.java8API.enabled": "false",
}
CANCEL_AGAIN_SECONDS = 0.5
CANCELLED = "This connection was cancelled."


class ThriftHandle(Handle):
    job_group: str | None = None
    # There is no session in reach, only SQL.
    spark: Any = None

    def __init__(self, environment: ThriftEnvironment) -> None:
        from dbt.adapters.delta_maint.environments.thrift_sql import ThriftSql

        self._environment = environment
        self._session: ThriftSession | None = environment.new_session()
        self._children: list[ThriftSession] = []
        self._last_cursor: ThriftCursor | None = None
        self._is_lost = False
        self._cancelled = False
        self._closed = threading.Event()
        self._sql = ThriftSql(self._checked, self._new_child)

    @property
    def sql(self) -> SqlConnection:
        return self._sql

    @property
    def session(self) -> ThriftSession:
        return self._checked()

    @property
    def is_busy(self) -> bool:
        """Whether the server runs something for this connection, or for one made from it."""
        return any(session.is_busy for session in self._all_sessions())

    def cursor(self) -> ThriftCursor:
        from dbt.adapters.delta_maint.environments.thrift_cursor import ThriftCursor

        # dbt never closes a cursor: the one before is done when another is asked for.
        if self._last_cursor is not None:
            self._last_cursor.let_go()
        self._last_cursor = ThriftCursor(
            self._sql, self._after_loss, lambda: self._is_lost or self._cancelled
        )
        return self._last_cursor

    def describe_work(self, name: str) -> None:
        """A node that comes after a loss gets a new session; the one it happened to has failed."""
        if self._cancelled or self._session is None:
            return
        if self._is_lost or not self._session.answers():
            with contextlib.suppress(Exception):
                fresh = self._environment.new_session()
                self._session.release()
                self._session, self._is_lost = fresh, False

    def mark_thread(self) -> None:
        self._checked()

    def cancel(self) -> None:
        self._cancelled = True
        self._interrupt()
        threading.Thread(target=self._keep_interrupting, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        session, self._session = self._session, None
        if session is not None:
            session.release()

    def _checked(self) -> ThriftSession:
        if self._cancelled:
            raise DeltaMaintError(CANCELLED)
        if self._session is None:
            raise DeltaMaintError("This connection is closed.")
        return self._session

    def _new_child(self) -> ThriftSession:
        """What works for this connection ends with it."""
        self._checked()
        child = self._environment.new_session()
        self._children = [old for old in self._children if not old.is_closed] + [child]
        return child

    def _all_sessions(self) -> list[ThriftSession]:
        own = [] if self._session is None else [self._session]
        return [session for session in (*own, *self._children) if not session.is_closed]

    def _interrupt(self) -> None:
        for session in self._all_sessions():
            session.interrupt()

    def _keep_interrupting(self) -> None:
        """A statement that was on its way to the server when it was told to stop begins after that."""
        while not self._closed.wait(CANCEL_AGAIN_SECONDS):
            self._interrupt()

    def _after_loss(self, lost: LostStatement) -> None:
        from dbt.adapters.delta_maint.environments.lost_statements import LossOn, settle

        if self._cancelled:
            raise DeltaMaintError(CANCELLED) from lost.error
        session = self._checked()

        def survives() -> bool:
            session.end_from_beside()
            return False

        loss = LossOn(
            server=f"Spark Thrift server at {self._environment.settings.shown}",
            survives=survives,
            is_over=lambda: True,
            give_up=self._give_up,
            judge=self._environment.judge,
            tell=self._environment.tell,
        )
        settle(lost, loss)

    def _give_up(self) -> None:
        self._is_lost = True
        if self._session is not None:
            self._session.give_up()


class ThriftEnvironment(Environment):
    def __init__(
        self,
        settings: ThriftSettings,
        *,
        tell: Callable[[str], None] = lambda line: None,
        retries: int = 0,
        retry_seconds: float = 10.0,
        query_timeout: int = 0,
    ) -> None:
        self.settings = settings
        self.tell = tell
        self._retries = retries
        self._retry_seconds = retry_seconds
        self._query_timeout = query_timeout
        self._lock = threading.Lock()
        self._sessions: list[ThriftSession] = []

    def open(self) -> ThriftHandle:
        """A server that is still starting is asked again, where the profile says so."""
        for _ in range(self._retries):
            try:
                return ThriftHandle(self)
            except SparkStartError as exc:
                self.tell(f"{exc} Trying again in {self._retry_seconds:g} s.")
                time.sleep(self._retry_seconds)
        return ThriftHandle(self)

    def new_session(self) -> ThriftSession:
        try:
            from dbt.adapters.delta_maint.environments.thrift_session import ThriftSession
            from dbt.adapters.delta_maint.environments.thrift_transport import AuthenticationError
        except ImportError as exc:
            raise SparkStartError(
                f"The package {exc.name} is not installed: `pip install dbt-delta-maint[thrift]`."
            ) from exc
        shown = self.settings.shown
        settings = self.settings.with_confs({**OURS, **self.settings.confs})
        try:
            session = ThriftSession(settings, query_timeout=self._query_timeout)
        except AuthenticationError as exc:
            raise SparkStartError(
                f"The Spark Thrift server at {shown} does not accept user {self.settings.user!r} "
                f"with auth {self.settings.auth} ({exc}): correct `user`, `password` or `auth` in "
                "the profile."
            ) from exc
        except ConnectionLostError as exc:
            raise SparkStartError(
                f"No Spark Thrift server answers at {shown} with auth {self.settings.auth} "
                f"({exc}): start it, or correct `host`, `port` or `auth` in the profile."
            ) from exc
        except DeltaMaintError:
            raise
        except Exception as exc:
            sentence = telling_sentence(exc)
            if "[CANNOT_MODIFY_" in sentence:
                raise ProfileError(
                    "A conf of server_side_parameters cannot be set in a session of a Spark Thrift "
                    f"server ({sentence.splitlines()[0]}): set it where the server is started."
                ) from exc
            raise SparkStartError(
                f"The Spark Thrift server at {shown} refused: {sentence}"
            ) from exc
        with self._lock:
            self._sessions = [old for old in self._sessions if not old.is_closed] + [session]
        return session

    @contextmanager
    def judge(self) -> Iterator[Rows]:
        session = self.new_session()

        def rows(sql: str) -> list[dict[str, Any]]:
            answer = session.run(sql)
            names = [column.name for column in answer.columns]
            return [dict(zip(names, row, strict=True)) for row in answer.rows()]

        try:
            yield rows
        finally:
            session.release()

    def inspect(self) -> list[Verdict]:
        found = [
            Verdict("method", "thrift, Spark runs behind a Spark Thrift server"),
            Verdict("server address", self.settings.shown),
        ]
        try:
            session = self.new_session()
        except DeltaMaintError as exc:
            return [*found, Verdict("server", str(exc), is_good=False)]
        try:
            version = str(session.run("select version()").rows()[0][0]).split(" ")[0]
            fits = tuple(int(part) for part in version.split(".")[:2]) >= (4, 0)
            advice = "" if fits else ": start a server of Spark 4 with Delta 4"
            found.append(Verdict("server", f"Spark {version}{advice}", is_good=fits))
            found.append(delta_verdict(session.conf))
            place = session.conf("spark.sql.warehouse.dir")
            found.append(Verdict("warehouse", f"{place}, as the server has it"))
        except Exception as exc:
            found.append(Verdict("server", telling_sentence(exc), is_good=False))
        finally:
            session.release()
        return found

    def close(self) -> None:
        with self._lock:
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.release()
