"""The wire to a Spark Thrift server: a socket, TLS if asked for, and how the user is named.

Without a password Spark's server still wants the framing of SASL PLAIN, and takes any name; `auth: NOSASL`
is for a server that was told to do without. A peer that is gone is noticed by TCP's own keepalive, since a
statement may run for hours without a byte.
"""

from __future__ import annotations

import socket
import ssl
import struct
from io import BytesIO
from typing import Any

from dbt.adapters.delta_maint.core.errors import SparkStartError
from dbt.adapters.delta_maint.environments.thrift_settings import ThriftSettings
from thrift.transport.TTransport import (
    CReadableTransport,
    TBufferedTransport,
    TTransportBase,
    TTransportException,
)

CONNECT_SECONDS = 10.0
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_START, _OK, _COMPLETE = 1, 2, 5
_HEAD = struct.Struct(">BI")
_LENGTH = struct.Struct(">I")


class AuthenticationError(Exception):
    """The server does not accept who we say we are."""


def open_transport(settings: ThriftSettings) -> Any:
    """Connected, and past the greeting."""
    wire = _Wire(_connected(settings))
    try:
        if settings.auth == "NOSASL":
            wire.wait(None)
            return TBufferedTransport(wire)
        if settings.auth == "KERBEROS":
            return _kerberos(settings, wire)
        return _Framed(wire, settings)
    except BaseException:
        wire.close()
        raise


def _connected(settings: ThriftSettings) -> socket.socket:
    found = socket.create_connection((settings.host, settings.port), timeout=CONNECT_SECONDS)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if settings.use_ssl:
            found = ssl.create_default_context().wrap_socket(found, server_hostname=settings.host)
    except BaseException:
        found.close()
        raise
    return found


class _Wire(TTransportBase):
    """A connected socket as thrift reads and writes it."""

    def __init__(self, found: socket.socket) -> None:
        self._socket: socket.socket | None = found

    def isOpen(self) -> bool:  # noqa: N802
        return self._socket is not None

    def open(self) -> None:
        """It is."""

    def close(self) -> None:
        found, self._socket = self._socket, None
        if found is not None:
            found.close()

    def read(self, sz: int) -> bytes:
        data = self._there.recv(sz)
        if not data:
            raise TTransportException(TTransportException.END_OF_FILE, "The server hung up.")
        return data

    def write(self, buf: bytes) -> None:
        self._there.sendall(buf)

    def flush(self) -> None:
        """Nothing is held back."""

    def wait(self, seconds: float | None) -> None:
        self._there.settimeout(seconds)

    @property
    def _there(self) -> socket.socket:
        if self._socket is None:
            raise TTransportException(TTransportException.NOT_OPEN, "The connection is closed.")
        return self._socket


class _Framed(TTransportBase, CReadableTransport):
    """SASL PLAIN: one greeting, then frames that begin with their length."""

    def __init__(self, wire: _Wire, settings: ThriftSettings) -> None:
        self._wire = wire
        self._written = BytesIO()
        self._read = BytesIO()
        self._greet(settings.user, settings.password or "x")
        wire.wait(None)

    def isOpen(self) -> bool:  # noqa: N802
        return self._wire.isOpen()

    def close(self) -> None:
        self._wire.close()

    def read(self, sz: int) -> bytes:
        data = self._read.read(sz)
        if data:
            return data
        self._read = BytesIO(self._frame())
        return self._read.read(sz)

    def write(self, buf: bytes) -> None:
        self._written.write(buf)

    def flush(self) -> None:
        data, self._written = self._written.getvalue(), BytesIO()
        self._wire.write(_LENGTH.pack(len(data)) + data)

    @property
    def cstringio_buf(self) -> BytesIO:
        return self._read

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        data = bytes(partialread)
        while len(data) < reqlen:
            data += self._frame()
        self._read = BytesIO(data)
        return self._read

    def _frame(self) -> bytes:
        (length,) = _LENGTH.unpack(self._wire.readAll(_LENGTH.size))
        return bytes(self._wire.readAll(length))

    def _greet(self, user: str, password: str) -> None:
        for status, text in ((_START, b"PLAIN"), (_OK, f"\0{user}\0{password}".encode())):
            self._wire.write(_HEAD.pack(status, len(text)) + text)
        while True:
            status, length = _HEAD.unpack(self._wire.readAll(_HEAD.size))
            text = self._wire.readAll(length) if length else b""
            if status == _COMPLETE:
                return
            if status != _OK:
                raise AuthenticationError(text.decode("utf-8", "replace") or "no reason is given")


def _kerberos(settings: ThriftSettings, wire: _Wire) -> Any:
    try:
        from puresasl.client import SASLClient
        from thrift_sasl import TSaslClientTransport
    except ImportError as exc:
        raise SparkStartError(
            f"`auth: KERBEROS` needs the package {exc.name}: `pip install thrift_sasl pure-sasl "
            "kerberos`, or use another `auth`."
        ) from exc

    def client() -> Any:
        return SASLClient(settings.host, settings.kerberos_service_name, mechanism="GSSAPI")

    transport = TSaslClientTransport(client, "GSSAPI", wire)
    transport.open()
    wire.wait(None)
    return transport
