"""Profile -> validated settings. Every refusal here is one sentence that names the way out."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.core.errors import ProfileError
from dbt.adapters.delta_maint.environments.capabilities import Capabilities, capabilities_of
from dbt.adapters.delta_maint.environments.connect_settings import (
    ConnectSettings,
    resolve_connect_settings,
)
from dbt.adapters.delta_maint.environments.session_settings import (
    STARTUP_MODES,
    SessionSettings,
    heap_bytes,
    resolve_settings,
)
from dbt.adapters.delta_maint.environments.thrift_settings import (
    ThriftSettings,
    resolve_thrift_settings,
)
from dbt.adapters.spark.connections import SparkCredentials
from dbt_common.dataclass_schema import StrEnum
from dbt_common.exceptions import DbtRuntimeError

DEFAULT_CATALOG = "spark_catalog"
SESSION_ONLY = ("warehouse", "master", "catalog", "catalog_path", "driver_memory", "delta_jars")
SERVER_ONLY = ("host", "token", "user", "password", "auth", "kerberos_service_name", "endpoint")
THRIFT_PORT = 10_000
WEB_PORT = 443
_PROFILE_WORDS = {"type", "threads", "pass", "dbname"}


class ConnectionMethod(StrEnum):
    SESSION = "session"
    CONNECT = "connect"
    THRIFT = "thrift"
    HTTP = "http"
    ODBC = "odbc"


@dataclass
class DeltaMaintCredentials(SparkCredentials):
    host: str | None = None
    database: str | None = None
    method: ConnectionMethod = ConnectionMethod.SESSION  # type: ignore[assignment]
    # None: what the method is used to, 10000 for thrift.
    port: int | None = None  # type: ignore[assignment]
    # The Spark Connect server, sc://host:port.
    remote: str | None = None
    warehouse: str | None = None
    master: str = "local[*]"
    catalog: str | None = None
    catalog_path: str | None = None
    catalog_wait_seconds: float = 5.0
    driver_memory: str | None = None
    startup: str = "auto"
    delta_jars: str | list[str] | None = None
    server_side_parameters: dict[str, Any] = field(default_factory=dict)
    # Folders below which convert_to_delta may work; empty means anywhere.
    convert_roots: list[str] = field(default_factory=list)
    # dbt-spark would send a statement once more after a lost connection, by which time it may have committed.
    query_retries: int = 0

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)
        _refuse_unknown_keys(data, {f.name for f in fields(cls)})
        if data.get("server_side_parameters") is None:
            data.pop("server_side_parameters", None)
        return data

    def __post_init__(self) -> None:
        if not self.schema:
            raise DbtRuntimeError("The profile has no `schema`: name the schema to build in.")
        self.method = ConnectionMethod(self.method)
        self._refuse_contradictions()
        database = self.database or DEFAULT_CATALOG
        given = dict(self.server_side_parameters)
        if self.method == ConnectionMethod.SESSION:
            self.host = self.host or "session"
        elif self.method == ConnectionMethod.CONNECT:
            # The parent wants a host; ours is in `remote`.
            self.host = "connect"
        elif self.host is None and not self._is_thrift:
            raise DbtRuntimeError(
                f"method {self.method.value} needs `host`: name the Spark server, or use "
                "`method: session` to run Spark inside dbt."
            )
        if self.port is None:
            self.port = THRIFT_PORT if self._is_thrift else WEB_PORT
        # The parent knows no catalogs, insists on ANSI off and wants PyHive for Thrift; all of that is
        # ours to decide.
        method: Any = self.method
        self.database = None
        if self._is_thrift:
            self.method = ConnectionMethod.CONNECT  # type: ignore[assignment]
        super().__post_init__()
        self.method, self.database = method, database
        if "spark.sql.ansi.enabled" in given:
            self.server_side_parameters["spark.sql.ansi.enabled"] = _spark_text(
                given["spark.sql.ansi.enabled"]
            )
        self.server_side_parameters = {
            key: _spark_text(given.get(key, value))
            for key, value in self.server_side_parameters.items()
        }

    @property
    def type(self) -> str:
        return "delta_maint"

    @property
    def unique_field(self) -> str:
        if self.method == ConnectionMethod.CONNECT:
            return f"connect:{self.connect_settings().shown}"
        if self._is_thrift:
            return self.thrift_settings().shown
        return f"{self.method.value}:{self.warehouse if self.host == 'session' else self.host}"

    @property
    def _is_connect(self) -> bool:
        return bool(self.method == ConnectionMethod.CONNECT)

    @property
    def _is_thrift(self) -> bool:
        return bool(self.method == ConnectionMethod.THRIFT)

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.method.value)

    def _connection_keys(self) -> tuple[str, ...]:
        if self.method == ConnectionMethod.SESSION:
            return ("method", "database", "schema", "master", "startup")
        if self.method == ConnectionMethod.CONNECT:
            return ("method", "database", "schema")
        if self._is_thrift:
            return ("method", "host", "port", "auth", "user", "database", "schema")
        return ("method", "host", "port", "database", "schema", "user", "cluster", "endpoint")

    def connect_settings(self) -> ConnectSettings:
        return resolve_connect_settings(self.remote, self.server_side_parameters)

    def thrift_settings(self) -> ThriftSettings:
        return resolve_thrift_settings(
            host=self.host,
            port=self.port or THRIFT_PORT,
            auth=self.auth,
            user=self.user,
            password=self.password,
            kerberos_service_name=self.kerberos_service_name,
            use_ssl=self.use_ssl,
            confs=self.server_side_parameters,
        )

    def session_settings(self, project_root: Path) -> SessionSettings:
        return resolve_settings(
            project_root=project_root,
            warehouse=self.warehouse,
            catalog=self.catalog,
            catalog_path=self.catalog_path,
            master=self.master,
            driver_memory=self.driver_memory,
            startup=self.startup,
            delta_jars=self.delta_jars,
            confs=self.server_side_parameters,
            catalog_wait_seconds=self.catalog_wait_seconds,
        )

    def _refuse_contradictions(self) -> None:
        if self.method in (ConnectionMethod.SESSION, ConnectionMethod.CONNECT):
            for key in SERVER_ONLY:
                if getattr(self, key) not in (None, self.method.value, "localhost"):
                    where = "; the server is named by `remote`" if self._is_connect else ""
                    raise DbtRuntimeError(
                        f"`{key}` is for a Spark server, but method is {self.method.value}: remove "
                        f"it, or set `method: thrift`{where}."
                    )
        if not self._is_connect and self.remote is not None:
            raise DbtRuntimeError(
                f"`remote` names a Spark Connect server, but method is {self.method.value}: remove "
                "it, or set `method: connect`."
            )
        if self.method != ConnectionMethod.SESSION:
            defaults = {f.name: f.default for f in fields(self)}
            for key in SESSION_ONLY:
                if getattr(self, key) != defaults[key]:
                    raise DbtRuntimeError(
                        f"`{key}` is for `method: session`, but method is {self.method.value}: "
                        "remove it; the server decides this."
                    )
        if self.query_retries:
            raise DbtRuntimeError(
                f"query_retries is {self.query_retries}, which sends a statement again that may "
                "already have committed: remove it, and run dbt again after a lost connection."
            )
        if self.startup not in STARTUP_MODES:
            raise DbtRuntimeError(
                f"startup is {self.startup!r}: use one of {', '.join(STARTUP_MODES)}."
            )
        if self.driver_memory is not None:
            try:
                heap_bytes(self.driver_memory)
            except ProfileError as exc:
                raise DbtRuntimeError(str(exc)) from exc
            if "spark.driver.memory" in self.server_side_parameters:
                raise DbtRuntimeError(
                    "Both `driver_memory` and spark.driver.memory in server_side_parameters are "
                    "set: keep one."
                )
        if self.delta_jars is not None and "spark.jars.packages" in self.server_side_parameters:
            raise DbtRuntimeError(
                "Both `delta_jars` and spark.jars.packages in server_side_parameters are set: keep "
                "one."
            )
        try:
            if self.method == ConnectionMethod.SESSION:
                self.session_settings(Path.cwd())
            if self._is_connect:
                self.connect_settings()
            if self._is_thrift:
                self.thrift_settings()
        except ProfileError as exc:
            raise DbtRuntimeError(str(exc)) from exc


def _refuse_unknown_keys(data: dict[str, Any], known: set[str]) -> None:
    for key in data:
        if key in known or key in _PROFILE_WORDS:
            continue
        near = difflib.get_close_matches(key, sorted(known), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(sorted(known))}."
        raise DbtRuntimeError(f"The profile has the unknown key `{key}`: {hint}")


def _spark_text(value: Any) -> str:
    """YAML's true is Spark's `true`, not Python's `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
