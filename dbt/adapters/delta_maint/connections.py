"""Opens, runs and cancels; turns Spark's errors into dbt's.

For `method: session` and `method: connect` everything goes through an environment of our own; the other
server methods use the connections of dbt-spark.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.contracts.connection import (
    AdapterRequiredConfig,
    AdapterResponse,
    Connection,
    ConnectionState,
)
from dbt.adapters.delta_maint.core.errors import DeltaMaintError
from dbt.adapters.delta_maint.credentials import ConnectionMethod, DeltaMaintCredentials
from dbt.adapters.delta_maint.dbt_errors import with_way_out
from dbt.adapters.delta_maint.environments.base import Cursor, Environment, Handle
from dbt.adapters.delta_maint.environments.connect import ConnectEnvironment
from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import SessionSettings
from dbt.adapters.delta_maint.environments.thrift import ThriftEnvironment
from dbt.adapters.delta_maint.lake.spark_errors import java_exception, telling_sentence
from dbt.adapters.delta_maint.response import of_statement
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("DeltaMaint")

OWN_ENVIRONMENT = (ConnectionMethod.SESSION, ConnectionMethod.CONNECT, ConnectionMethod.THRIFT)

_environment: SessionEnvironment | None = None
_servers: dict[str, ConnectEnvironment | ThriftEnvironment] = {}
_environment_lock = threading.Lock()


def environment_of(credentials: DeltaMaintCredentials) -> Environment:
    """Where the connections of a profile run; one for each place and process."""
    if credentials.method == ConnectionMethod.SESSION:
        return session_environment(credentials.session_settings(project_root(credentials)))
    wanted = _server_environment(credentials)
    with _environment_lock:
        known = _servers.get(wanted.settings.shown)
        if known is None or known.settings != wanted.settings:
            known = _servers[wanted.settings.shown] = wanted
        return known


def _server_environment(
    credentials: DeltaMaintCredentials,
) -> ConnectEnvironment | ThriftEnvironment:
    if credentials.method == ConnectionMethod.CONNECT:
        return ConnectEnvironment(credentials.connect_settings(), tell=logger.info)
    return ThriftEnvironment(
        credentials.thrift_settings(),
        tell=logger.info,
        retries=credentials.connect_retries,
        retry_seconds=credentials.connect_timeout,
        query_timeout=credentials.query_timeout or 0,
    )


def session_environment(settings: SessionSettings) -> SessionEnvironment:
    """The environment of this process; other settings end it and begin a new one."""
    global _environment
    with _environment_lock:
        if _environment is not None and _environment.settings != settings:
            _environment.close()
            _environment = None
        if _environment is None:
            _environment = SessionEnvironment(settings, tell=logger.info)
        return _environment


def end_session_environment() -> None:
    global _environment
    with _environment_lock:
        for server in _servers.values():
            server.close()
        _servers.clear()
        if _environment is not None:
            _environment.close()
            _environment = None


class DeltaMaintConnectionManager(SparkConnectionManager):
    TYPE = "delta_maint"

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        config.credentials.project_root = _project_root(config)  # type: ignore[attr-defined]

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        try:
            yield
        except DeltaMaintError as exc:
            raise DbtDatabaseError(str(exc)) from exc
        except DbtRuntimeError:
            raise
        except Exception as exc:
            logger.debug("Error while running:\n{}", sql)
            self._log_java_stack(exc)
            raise DbtDatabaseError(with_way_out(telling_sentence(exc))) from exc

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials: DeltaMaintCredentials = connection.credentials  # type: ignore[assignment]
        if credentials.method not in OWN_ENVIRONMENT:
            return super().open(connection)
        # Who cancels a connection that is just being opened opens it too: there must be one handle.
        with connection.__dict__.setdefault("opening", threading.Lock()):
            if connection.state == ConnectionState.OPEN:
                return connection
            try:
                handle = environment_of(credentials).open()
            except DeltaMaintError as exc:
                connection.handle = None
                connection.state = ConnectionState.FAIL
                raise FailedToConnectError(str(exc)) from exc
            handle.describe_work(connection.name or "dbt")
            connection.handle = handle
            connection.state = ConnectionState.OPEN
            return connection

    def set_connection_name(self, name: str | None = None) -> Connection:
        connection = super().set_connection_name(name)
        # Reading .handle of a lazy connection would open it.
        handle = connection._handle
        if isinstance(handle, Handle):
            handle.describe_work(connection.name or "dbt")
        return connection

    def cancel(self, connection: Connection) -> None:
        handle = connection.handle
        if handle is not None:
            logger.debug("Cancelling the work of {}", connection.name)
            handle.cancel()

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        from dbt_common.clients.agate_helper import empty_table

        sql = self._add_query_comment(sql)
        _, cursor = self.add_query(sql, auto_begin)
        with self.exception_handler(sql):
            if fetch:
                table = self.get_result_from_cursor(cursor, limit)
            else:
                if isinstance(cursor, Cursor):
                    cursor.run_to_end()
                table = empty_table()
            return self.get_response(cursor), table

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        if not isinstance(cursor, Cursor):
            return AdapterResponse(_message="OK")
        return of_statement(
            rows_affected=cursor.rows_affected, table_version=cursor.committed_version
        )

    def _log_java_stack(self, exc: BaseException) -> None:
        """The stack belongs into Spark's log file, where whoever needs it looks."""
        throwable = java_exception(exc)
        connection = self.get_if_exists()
        if throwable is None or connection is None:
            return
        handle = connection.handle
        try:
            logging = handle.spark._jvm.org.slf4j.LoggerFactory.getLogger("dbt")
            logging.error(connection.name or "dbt", throwable)
        except Exception as fault:
            logger.debug("The Java stack could not be logged: {}", fault)


def project_root(credentials: DeltaMaintCredentials) -> Path:
    return getattr(credentials, "project_root", None) or Path.cwd()


def _project_root(config: AdapterRequiredConfig) -> Path:
    """The project's folder; `dbt debug` knows it only from the command line."""
    root = getattr(config, "project_root", None)
    if root is None:
        from dbt.flags import get_flags

        root = getattr(get_flags(), "PROJECT_DIR", None) or os.getcwd()
    return Path(root).absolute()


atexit.register(end_session_environment)
