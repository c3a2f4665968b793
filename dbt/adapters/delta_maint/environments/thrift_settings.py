"""From a profile to the settings of Thrift sessions. Starts nothing, calls nobody."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dbt.adapters.delta_maint.core.errors import ProfileError

WITH_PASSWORD = ("LDAP", "CUSTOM")
AUTHS = ("NONE", "NOSASL", *WITH_PASSWORD, "KERBEROS")


@dataclass(frozen=True)
class ThriftSettings:
    """`password` is never shown."""

    host: str
    port: int = 10_000
    auth: str = "NONE"
    user: str = ""
    password: str | None = field(default=None, repr=False)
    kerberos_service_name: str | None = None
    use_ssl: bool = False
    confs: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """
        >>> ThriftSettings("spark.example", password="abc").shown
        'thrift://spark.example:10000'
        """
        return f"thrift://{self.host}:{self.port}"

    def with_confs(self, confs: Mapping[str, str]) -> ThriftSettings:
        return replace(self, confs=dict(confs))

    def __repr__(self) -> str:
        return f"ThriftSettings({self.shown})"


def resolve_thrift_settings(
    *,
    host: str | None,
    port: int,
    auth: str | None,
    user: str | None,
    password: str | None,
    kerberos_service_name: str | None,
    use_ssl: bool,
    confs: Mapping[str, str],
) -> ThriftSettings:
    """Refuses what the server would refuse later, or only with a Java stack."""
    if not host:
        raise ProfileError(
            "method thrift needs `host`: name the Spark Thrift server, or use `method: session` to "
            "run Spark inside dbt."
        )
    kind = (auth or "NONE").upper()
    if kind not in AUTHS:
        raise ProfileError(f"auth is {auth!r}: use one of {', '.join(AUTHS)}.")
    if (password is not None) != (kind in WITH_PASSWORD):
        found = f"auth is {kind}" if auth else "there is no `auth`"
        way = "remove it, or set `auth: LDAP`" if password is not None else "set it"
        raise ProfileError(
            f"`password` goes with `auth: {' or '.join(WITH_PASSWORD)}`, but {found}: {way}."
        )
    if (kerberos_service_name is not None) != (kind == "KERBEROS"):
        raise ProfileError(
            f"`kerberos_service_name` goes with `auth: KERBEROS`, but auth is {kind}: set both or "
            "neither."
        )
    return ThriftSettings(
        host=host,
        port=port,
        auth=kind,
        user=user or getpass.getuser(),
        password=password,
        kerberos_service_name=kerberos_service_name,
        use_ssl=use_ssl,
        confs=dict(confs),
    )
