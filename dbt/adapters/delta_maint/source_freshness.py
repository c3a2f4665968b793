"""When the data of a Delta table last changed, for `dbt source freshness` without a loaded_at_field."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.core.data_change import MAINTENANCE, changed_data_at
from dbt.adapters.delta_maint.core.errors import NotDeltaError
from dbt.adapters.delta_maint.lake.last_commit import commit_lines

FIRST_LOOK = 20
Rows = Iterable[Mapping[str, Any]]


def last_data_change(
    relation: BaseRelation, rows: Callable[[str], Rows], *, spark: Any
) -> dt.datetime | None:
    """The newest commit that changed data: a few are looked at first, all of them if none did."""
    detail = next(iter(rows(f"describe detail {relation}")))
    if str(detail["format"]).lower() != "delta":
        raise NotDeltaError(
            f"{relation} is {detail['format']}, whose log says nothing about its freshness: set "
            "loaded_at_field on the source."
        )
    seen = 0
    for limit in (f" limit {FIRST_LOOK}", ""):
        history = list(rows(f"describe history {relation}{limit}"))
        for commit in history[seen:]:
            found = _changed_at(commit, str(detail["location"]), spark)
            if found is not None:
                return found
        if len(history) < FIRST_LOOK:
            return None
        seen = len(history)
    return None


def _changed_at(commit: Mapping[str, Any], location: str, spark: Any) -> dt.datetime | None:
    if commit["operation"] in MAINTENANCE:
        return None
    if spark is None:
        stamp: dt.datetime = commit["timestamp"]
        return stamp.astimezone(dt.timezone.utc)
    millis = changed_data_at(commit_lines(spark, location, int(commit["version"])))
    return None if millis is None else dt.datetime.fromtimestamp(millis / 1000, dt.timezone.utc)
