"""A wire between a client and a server that a test can cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Wire:
    """Forwards bytes both ways. `cut` breaks what is open; while `is_down` nothing new gets through.

    From the moment the client sends `mute_at`, it hears nothing more on what is open now: whatever the
    server answers is lost. What the client sends with `cut_at` never arrives.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.is_down = False
        self.mute_at: bytes | None = None
        self.cut_at: bytes | None = None
        self.is_muted = threading.Event()
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *, stays_down: bool = False) -> None:
        self.is_down = stays_down
        self.is_muted.clear()
        with self._lock:
            ends, self._open = self._open, []
        for end in ends:
            _hang_up(end)

    def close(self) -> None:
        self.cut(stays_down=True)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_down:
                _hang_up(client)
                continue
            try:
                server = socket.create_connection(self._target, timeout=5)
            except OSError:
                _hang_up(client)
                continue
            server.settimeout(None)
            with self._lock:
                self._open += [client, server]
            for source, sink, hears in ((client, server, False), (server, client, True)):
                arguments = (source, sink, hears)
                threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, hears: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if hears and self.is_muted.is_set():
                    continue
                if not hears and self.mute_at and self.mute_at in data:
                    self.mute_at = None
                    self.is_muted.set()
                if not hears and self.cut_at and self.cut_at in data:
                    self.cut_at = None
                    self.cut()
                    return
                sink.sendall(data)
        _hang_up(source)
        _hang_up(sink)


@contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    wire = Wire(port)
    try:
        yield wire
    finally:
        wire.close()


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
