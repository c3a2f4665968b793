"""From a profile to the settings of Spark Connect sessions. Starts nothing, calls nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlparse

from dbt.adapters.delta_maint.core.errors import ProfileError

EXAMPLE = "sc://host:15002"
_SECRETS = re.compile(r"((?:token|x-[\w-]+)=)[^;]*", re.IGNORECASE)
_KNOWN = ("use_ssl", "token", "user_id", "user_agent", "grpc_max_message_size")


@dataclass(frozen=True)
class ConnectSettings:
    """`remote` is Spark's own connection string; what is secret in it is never shown."""

    remote: str
    confs: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """
        >>> ConnectSettings("sc://spark.example:15002/;use_ssl=true;token=abc").shown
        'sc://spark.example:15002/;use_ssl=true;token=***'
        """
        return _SECRETS.sub(r"\1***", self.remote)

    def __repr__(self) -> str:
        return f"ConnectSettings({self.shown})"


def resolve_connect_settings(remote: str | None, confs: Mapping[str, str]) -> ConnectSettings:
    """Refuses what Spark's client would refuse later, or only with a stack."""
    if not remote:
        raise ProfileError(f"method connect needs `remote`: name the server, such as {EXAMPLE}.")
    if not remote.startswith("sc://"):
        scheme = remote.split("://")[0] if "://" in remote else "nothing"
        raise ProfileError(
            f"remote begins with {scheme}, but a Spark Connect server is named {EXAMPLE}."
        )
    try:
        parsed = urlparse("http" + remote[2:])
        host = parsed.hostname
        _ = parsed.port
    except ValueError as exc:
        raise ProfileError(f"remote cannot be read ({exc}): write {EXAMPLE}.") from exc
    if not host:
        raise ProfileError(f"remote names no host: write {EXAMPLE}.")
    if parsed.path not in ("", "/"):
        raise ProfileError(f"remote has the path {parsed.path!r}: write {EXAMPLE}, without one.")
    for pair in parsed.params.split(";") if parsed.params else ():
        name, equals, _ = pair.partition("=")
        if not equals:
            raise ProfileError(
                f"remote has the parameter {name!r} without a value: write name=value."
            )
        if name == "session_id":
            raise ProfileError(
                "remote has a session_id, which all threads would share: remove it; every "
                "connection gets a session of its own."
            )
        if name not in _KNOWN and not name.startswith("x-"):
            raise ProfileError(
                f"remote has the unknown parameter {name!r}: known are {', '.join(_KNOWN)}, and "
                "headers that begin with x-."
            )
    return ConnectSettings(remote, dict(confs))
