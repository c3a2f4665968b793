"""What the rest of the package asks of a connection that knows nothing but SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dbt.adapters.delta_maint.environments.thrift_session import Row, ThriftSession


class ThriftSql:
    """`session` is asked for at each use: a connection may have got another one after a loss."""

    spark = None

    def __init__(
        self, session: Callable[[], ThriftSession], beside: Callable[[], ThriftSession]
    ) -> None:
        self._session = session
        self._beside = beside

    @property
    def session(self) -> ThriftSession:
        return self._session()

    @property
    def server(self) -> str:
        return self.session.settings.shown

    def run(self, sql: str) -> None:
        self.session.run(sql).close()

    def rows(self, sql: str) -> Iterator[Row]:
        answer = self.session.run(sql)
        try:
            for batch in answer.batches():
                yield from batch
        finally:
            answer.close()

    def answer(self, sql: str) -> list[Row]:
        return self.session.run(sql).rows()

    def conf(self, key: str) -> str | None:
        return self.session.conf(key)

    def set_conf(self, key: str, value: str | None) -> None:
        self.session.set_conf(key, value)

    @contextmanager
    def fresh(self) -> Iterator[ThriftSql]:
        session = self._beside()
        try:
            yield ThriftSql(lambda: session, self._beside)
        finally:
            session.release()
