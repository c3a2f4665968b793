"""What happens once a model's rows are in its table: its commit is told, its settings are brought up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.core.commit_metrics import CommitMetrics
from dbt.adapters.delta_maint.core.table_settings import TableSettings
from dbt.adapters.delta_maint.lake.last_commit import commit_metrics
from dbt.adapters.delta_maint.lake.session_catalog import SESSION_CATALOG, table_location
from dbt.adapters.delta_maint.response import DeltaMaintResponse, enlarged


def session_response(spark: Any, relation: BaseRelation, response: Any) -> DeltaMaintResponse:
    """The response of a statement with the numbers of the commit it made, if it made one."""
    told = enlarged(response)
    if told.table_version is None or (relation.database or SESSION_CATALOG) != SESSION_CATALOG:
        return told
    if told.files_added is not None:  # an optimized write has read its commit already
        return told
    location = table_location(spark, schema=relation.schema, name=relation.identifier)
    metrics = commit_metrics(spark, location, told.table_version)
    return told if metrics is None else told.with_metrics(metrics)


def history_response(newest: Mapping[str, Any], response: Any) -> DeltaMaintResponse:
    """The same from a row of DESCRIBE HISTORY, for servers."""
    told = enlarged(response)
    told.table_version = int(newest["version"])
    metrics = _structure(newest["operationMetrics"]) or {}
    return told.with_metrics(CommitMetrics.of(newest["operation"], metrics))


def observed_settings(detail: Mapping[str, Any]) -> TableSettings:
    """From the one row of DESCRIBE DETAIL."""
    features = _structure(detail["tableFeatures"]) or ()
    return TableSettings(
        properties={
            **dict(_structure(detail["properties"]) or {}),
            **{f"delta.feature.{name}": "supported" for name in features},
        },
        clustered_by=tuple(_structure(detail["clusteringColumns"]) or ()),
        partitioned_by=tuple(_structure(detail["partitionColumns"]) or ()),
    )


def _structure(cell: Any) -> Any:
    """dbt's tables hold maps and arrays as JSON."""
    return json.loads(cell) if isinstance(cell, str) else cell
