"""A Spark Connect session as we use it: tagged, released, and never sent a statement twice.

pyspark's client retries for ten minutes and, where the server does not know an operation any more, sends
its statement again. Here the waiting is seconds, and a statement goes out once: whoever wants to send it
again looks first whether it has committed.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

import grpc
from dbt.adapters.delta_maint.core.errors import ConnectionLostError
from dbt.adapters.delta_maint.environments.connect_settings import ConnectSettings
from dbt.adapters.delta_maint.environments.log_setup import quiet_python_loggers
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto import ExecutePlanRequest, GetStatusResponse
from pyspark.sql.connect.session import SparkSession

# About eight seconds in all: a server that is restarted takes longer than anybody wants to wait.
RETRIES = 8
MAX_BACKOFF_MS = 2_000
IDLE_SECONDS = 10.0
REMEMBERED_OPERATIONS = 10_000
_LOST = (
    "INVALID_HANDLE.SESSION_CHANGED",
    "INVALID_HANDLE.SESSION_CLOSED",
    "INVALID_HANDLE.SESSION_NOT_FOUND",
    "INVALID_HANDLE.OPERATION_NOT_FOUND",
    "INVALID_HANDLE.OPERATION_ABANDONED",
    "RESPONSE_ALREADY_RECEIVED",
    "NO_ACTIVE_SESSION",
    "incorrect server side session identifier",
)


_STATE = GetStatusResponse.OperationStatus.OperationState
_AT_WORK = (_STATE.OPERATION_STATE_RUNNING, _STATE.OPERATION_STATE_TERMINATING)


class ConnectSession(SparkSession):
    """Confs of the profile, a tag for all that it runs, and the sessions that were made from it."""

    def __init__(self, settings: ConnectSettings, *, tag: str) -> None:
        self.settings = settings
        self.tag = tag
        self._parent: ConnectSession | None = None
        self._children: list[ConnectSession] = []
        builder = DefaultChannelBuilder(
            settings.remote,
            # A server that is back is found at once, not after grpc's own two minutes.
            channelOptions=[
                ("grpc.initial_reconnect_backoff_ms", 200),
                ("grpc.min_reconnect_backoff_ms", 2_000),
                ("grpc.max_reconnect_backoff_ms", 1_000),
            ],
        )
        builder.add_interceptor(_SentOnce())
        super().__init__(connection=builder, hook_factories=[lambda _: _Tagging(tag)])
        self.client.set_retry_policies([patient_policy()])
        # pyspark would call the server once more while the process ends, whether it is there or not.
        atexit.unregister(self.client._on_exit)

    def newSession(self) -> ConnectSession:  # noqa: N802
        """As the session of a driver has it: the profile's confs, and nothing that was set since."""
        child = ConnectSession(self.settings, tag=self.tag)
        child._parent = self
        self._children.append(child)
        try:
            child.apply_confs()
        except BaseException:
            child.release()
            raise
        return child

    def apply_confs(self) -> None:
        for key, value in self.settings.confs.items():
            self.conf.set(key, value)

    def answers(self) -> bool:
        """Whether the server still knows this session."""
        if self.is_stopped:
            return False
        with self._in_haste():
            try:
                self.conf.get("spark.sql.ansi.enabled")
            except Exception:
                return False
        return True

    @contextlib.contextmanager
    def _in_haste(self) -> Iterator[None]:
        policies = self.client.get_retry_policies()
        self.client.set_retry_policies([hasty_policy()])
        try:
            yield
        finally:
            self.client.set_retry_policies(policies)

    def interrupt(self) -> None:
        """Whatever this session and those made from it are running; a server that is gone runs nothing."""
        for session in (self, *self._children):
            if session.is_stopped:
                continue
            with session._in_haste(), contextlib.suppress(Exception):
                session.interruptTag(self.tag)

    def wait_until_idle(self) -> bool:
        """Whether all that this session ran has ended: until then a commit may still come."""
        end = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < end:
            try:
                answer = self.client._get_operation_statuses()
            except Exception:  # a server older than 4.2 does not tell
                return False
            if not any(operation.state in _AT_WORK for operation in answer.operation_statuses):
                return True
            time.sleep(0.1)
        return False

    def release(self) -> None:
        """The server forgets the session; one that does not answer is not waited for."""
        for child in list(self._children):
            child.release()
        if self._parent is not None and self in self._parent._children:
            self._parent._children.remove(self)
        if self.is_stopped:
            return
        self.client.set_retry_policies([])
        with contextlib.suppress(Exception):
            self.client.release_session()
        with contextlib.suppress(Exception):
            self.client.close()
        self._leave()

    def give_up(self) -> None:
        """Of a server that is lost nothing is waited for: neither a release nor what is still to be sent."""
        self.client.set_retry_policies([])
        with contextlib.suppress(Exception):
            self.client._channel.close()
        self.client._closed = True
        self._leave()

    def _leave(self) -> None:
        if self is SparkSession._default_session:
            SparkSession._default_session = None
        if self is getattr(SparkSession._active_session, "session", None):
            SparkSession._active_session.session = None

    def make_active(self) -> None:
        """pandas-on-Spark and `SparkSession.active` look for the session of the thread."""
        SparkSession._active_session.session = self


def open_session(settings: ConnectSettings, *, is_in_haste: bool = False) -> ConnectSession:
    """A session that the server has answered to, with the profile's confs."""
    _become_remote()
    session = ConnectSession(settings, tag=f"dbt-{uuid.uuid4().hex}")
    try:
        if is_in_haste:
            session.client.set_retry_policies([hasty_policy()])
        session.apply_confs()
    except BaseException:
        session.release()
        raise
    return session


def patient_policy() -> DefaultPolicy:
    return _policy(RETRIES)


def hasty_policy() -> DefaultPolicy:
    """For questions after a loss: enough for a wire that is back, not for a server that is not."""
    return _policy(3)


def _policy(retries: int) -> DefaultPolicy:
    return DefaultPolicy(
        max_retries=retries,
        initial_backoff=100,
        backoff_multiplier=2.0,
        max_backoff=MAX_BACKOFF_MS,
        jitter=50,
        max_server_retry_delay=MAX_BACKOFF_MS,
    )


def is_lost(error: BaseException) -> bool:
    """Whether the answer to a statement was lost, so that nobody here knows what became of it."""
    if isinstance(error, ConnectionLostError):
        return True
    code = getattr(error, "_grpc_status_code", None)
    if code is None and isinstance(error, grpc.RpcError):
        code = getattr(error, "code", lambda: None)()
    if code == grpc.StatusCode.UNAVAILABLE:
        return True
    text = str(error)
    return any(word in text for word in _LOST)


def has_no_session(error: BaseException) -> bool:
    """Whether the server has forgotten the session: it was restarted, or has dropped it."""
    text = str(error)
    return any(word in text for word in _LOST if "OPERATION" not in word)


class _Tagging(SparkSession.Hook):
    """Tags of pyspark's own belong to a thread; ours belong to the session, whoever uses it."""

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def on_execute_plan(self, request: Any) -> Any:
        if self._tag not in request.tags:
            request.tags.append(self._tag)
        return request


class _SentOnce(grpc.UnaryStreamClientInterceptor):
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: deque[str] = deque(maxlen=REMEMBERED_OPERATIONS)

    def __deepcopy__(self, memo: Any) -> _SentOnce:
        return _SentOnce()

    def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        if isinstance(request, ExecutePlanRequest) and request.operation_id:
            with self._lock:
                if request.operation_id in self._sent:
                    raise ConnectionLostError(
                        "The connection broke after a statement was sent, and the server does not "
                        "know it any more."
                    )
                self._sent.append(request.operation_id)
        return continuation(details, request)


def _become_remote() -> None:
    """`pyspark.sql.functions` builds remote columns from here on, in dbt and in Python models."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    quiet_python_loggers()
    logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
