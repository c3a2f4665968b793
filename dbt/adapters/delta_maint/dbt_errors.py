"""Our errors as dbt shows them: one sentence under the model's name, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dbt.adapters.delta_maint.core.errors import ConfigError, DeltaMaintError
from dbt.adapters.delta_maint.lake.spark_errors import error_class
from dbt_common.exceptions import CompilationError, DbtRuntimeError

# What Delta or Spark advises in their own terms, in those of a dbt project.
_WAYS_OUT = {
    "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES": (
        "In dbt that is the config `tblproperties: {delta.columnMapping.mode: name}`; for a table "
        "that is there already, run once with --full-refresh."
    ),
    "INVALID_SCHEMA_OR_RELATION_NAME": (
        "Spark's catalog takes no other character: choose another name or `alias`."
    ),
}


def with_way_out(sentence: str) -> str:
    """
    >>> with_way_out("[INVALID_SCHEMA_OR_RELATION_NAME] `a b` is not valid.").endswith("`alias`.")
    True
    >>> with_way_out("[PARSE_SYNTAX_ERROR] near 'x'")
    "[PARSE_SYNTAX_ERROR] near 'x'"
    """
    way = _WAYS_OUT.get(error_class(sentence) or "")
    return f"{sentence} {way}" if way else sentence


@contextmanager
def told_to_dbt() -> Iterator[None]:
    try:
        yield
    except ConfigError as exc:
        raise CompilationError(str(exc)) from exc
    except DeltaMaintError as exc:
        raise DbtRuntimeError(str(exc)) from exc
