"""Spark and Delta behind a Spark Connect server.

Every dbt connection is a session of its own on the server: its confs, temporary views and current schema
are nobody else's. All that a connection runs carries its tag, so cancelling it interrupts its operations,
in whichever thread they were started, and no others. Sessions are released when their connection closes,
when opening one fails, and when the process ends.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.errors import DeltaMaintError, ProfileError, SparkStartError
from dbt.adapters.delta_maint.environments.base import Environment, Handle, Verdict
from dbt.adapters.delta_maint.environments.connect_settings import ConnectSettings
from dbt.adapters.delta_maint.environments.server_verdicts import delta_verdict
from dbt.adapters.delta_maint.lake.spark_errors import error_class, telling_sentence
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

if TYPE_CHECKING:
    from dbt.adapters.delta_maint.environments.connect_client import ConnectSession
    from dbt.adapters.delta_maint.environments.connect_cursor import ConnectCursor
    from dbt.adapters.delta_maint.environments.lost_statements import LostStatement
    from dbt.adapters.delta_maint.lake.statement_mark import Rows

OURS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.sources.default": "delta",
    # Delta's parser does not pass on the newer kind of parameter: `?` would stay unbound.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    "spark.sql.connect.serverStacktrace.enabled": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    # DESCRIBE shows wide structs in full.
    "spark.sql.debug.maxToStringFields": "1000",
    # Ours decides from the table; with Delta's own beside it, files would be rewritten twice.
    "spark.databricks.delta.autoCompact.enabled": "false",
}
CANCEL_AGAIN_SECONDS = 0.5


class ConnectHandle(Handle):
    job_group: str | None = None

    def __init__(self, environment: ConnectEnvironment) -> None:
        self._environment = environment
        self._session: ConnectSession | None = environment.new_session()
        self._is_lost = False
        self._cancelled = False
        self._closed = threading.Event()

    @property
    def spark(self) -> ConnectSession:
        if self._session is None:
            raise DeltaMaintError("This connection is closed.")
        return self._session

    @property
    def sql(self) -> SessionSql:
        return SessionSql(self.spark)

    def cursor(self) -> ConnectCursor:
        from dbt.adapters.delta_maint.environments.connect_cursor import ConnectCursor

        return ConnectCursor(
            self._checked, self._after_loss, lambda: self._is_lost or self._cancelled
        )

    def describe_work(self, name: str) -> None:
        """A node that comes after a loss gets a new session; the one it happened to has failed."""
        if self._cancelled or self._session is None:
            return
        if self._is_lost or not self.spark.answers():
            with contextlib.suppress(Exception):
                fresh = self._environment.new_session()
                self._forget()
                self._session, self._is_lost = fresh, False

    def mark_thread(self) -> None:
        self._checked().make_active()

    def cancel(self) -> None:
        self._cancelled = True
        self._interrupt()
        threading.Thread(target=self._keep_interrupting, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        self._forget()

    def _interrupt(self) -> None:
        session = self._session
        if session is not None:
            session.interrupt()

    def _keep_interrupting(self) -> None:
        """A statement that was on its way to the server when it was told to stop begins after that."""
        while not self._closed.wait(CANCEL_AGAIN_SECONDS):
            self._interrupt()

    def _checked(self) -> ConnectSession:
        if self._cancelled:
            raise DeltaMaintError("This connection was cancelled.")
        return self.spark

    def _give_up(self) -> None:
        """Nothing that is still to be tidied up in this session waits for an answer."""
        self._is_lost = True
        self.spark.give_up()

    def _forget(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.release()

    def _after_loss(self, lost: LostStatement) -> int | None:
        """The version that the lost statement committed; None when it may be sent again; else an error."""
        from dbt.adapters.delta_maint.environments.connect_client import has_no_session
        from dbt.adapters.delta_maint.environments.lost_statements import LossOn, settle

        if self._cancelled:
            raise DeltaMaintError("This connection was cancelled.") from lost.error
        session = self.spark
        session.interrupt()
        loss = LossOn(
            server=f"Spark Connect server at {self._environment.settings.shown}",
            survives=lambda: not has_no_session(lost.error) and session.answers(),
            is_over=session.wait_until_idle,
            give_up=self._give_up,
            judge=self._environment.judge,
            tell=self._environment.tell,
        )
        return settle(lost, loss)


class ConnectEnvironment(Environment):
    def __init__(
        self, settings: ConnectSettings, *, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self.settings = settings
        self.tell = tell
        self._lock = threading.Lock()
        self._sessions: list[ConnectSession] = []

    def open(self) -> ConnectHandle:
        return ConnectHandle(self)

    def new_session(self, *, is_in_haste: bool = False) -> ConnectSession:
        try:
            from dbt.adapters.delta_maint.environments.connect_client import open_session
        except ImportError as exc:
            raise SparkStartError(
                f"The package {exc.name} is not installed: `pip install dbt-delta-maint[connect]`."
            ) from exc
        settings = ConnectSettings(self.settings.remote, {**OURS, **self.settings.confs})
        try:
            session = open_session(settings, is_in_haste=is_in_haste)
        except DeltaMaintError:
            raise
        except Exception as exc:
            raise self._opening_fault(exc) from exc
        with self._lock:
            self._sessions = [old for old in self._sessions if not old.is_stopped] + [session]
        return session

    @contextmanager
    def judge(self) -> Iterator[Rows]:
        session = self.new_session(is_in_haste=True)
        try:
            yield lambda sql: session.sql(sql).collect()
        finally:
            session.release()

    def inspect(self) -> list[Verdict]:
        found = [
            Verdict("method", "connect, Spark runs behind a Spark Connect server"),
            Verdict("remote", self.settings.shown),
        ]
        try:
            session = self.new_session(is_in_haste=True)
        except DeltaMaintError as exc:
            return [*found, Verdict("server", str(exc), is_good=False)]
        try:
            import pyspark

            server, ours = session.version, pyspark.__version__
            fits = server.split(".")[:2] == ours.split(".")[:2]
            told = f"Spark {server}, client {ours}"
            advice = "" if fits else f": install pyspark {server}, or start a server of {ours}"
            found.append(Verdict("server", told + advice, is_good=fits))
            found.append(delta_verdict(lambda key: session.conf.get(key, None)))
            place = session.conf.get("spark.sql.warehouse.dir", None)
            found.append(Verdict("warehouse", f"{place}, as the server has it"))
        finally:
            session.release()
        return found

    def close(self) -> None:
        with self._lock:
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.release()

    def _opening_fault(self, exc: Exception) -> DeltaMaintError:
        from dbt.adapters.delta_maint.environments.connect_client import is_lost

        where = self.settings.shown
        sentence = telling_sentence(exc)
        if is_lost(exc):
            return SparkStartError(
                f"No Spark Connect server answers at {where}: start it, or correct `remote` in the "
                "profile."
            )
        if (error_class(sentence) or "").startswith("CANNOT_MODIFY"):
            return ProfileError(
                f"A conf of server_side_parameters cannot be set in a Spark Connect session "
                f"({sentence.splitlines()[0]}): set it where the server is started."
            )
        return SparkStartError(f"The Spark Connect server at {where} refused: {sentence}")
