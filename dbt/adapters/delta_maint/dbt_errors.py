"""Our errors as dbt shows them: one sentence under the model's name, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dbt.adapters.delta_maint.core.errors import ConfigError, DeltaMaintError
from dbt_common.exceptions import CompilationError, DbtRuntimeError


@contextmanager
def told_to_dbt() -> Iterator[None]:
    try:
        yield
    except ConfigError as exc:
        raise CompilationError(str(exc)) from exc
    except DeltaMaintError as exc:
        raise DbtRuntimeError(str(exc)) from exc
