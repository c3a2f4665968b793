"""What happens once a model's rows are in its table: its commit is told, its settings are brought up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.core.commit_metrics import CommitMetrics
from dbt.adapters.delta_maint.core.table_settings import TableSettings
from dbt.adapters.delta_maint.lake.last_commit import commit_metrics
from dbt.adapters.delta_maint.lake.session_catalog import SESSION_CATALOG, table_location
from dbt.adapters.delta_maint.lake.sql_runner import has_driver
from dbt.adapters.delta_maint.response import DeltaMaintResponse, enlarged


def session_response(spark: Any, relation: BaseRelation, response: Any) -> DeltaMaintResponse:
    """The response of a statement with the numbers of the commit it made, if it made one."""
    told = enlarged(response)
    if told.table_version is None or (relation.database or SESSION_CATALOG) != SESSION_CATALOG:
        return told
    if told.files_added is not None:  # an optimized write has read its commit already
        return told
    location = location_of(spark, relation)
    metrics = commit_metrics(spark, location, told.table_version)
    return told if metrics is None else told.with_metrics(metrics)


def location_of(spark: Any, relation: BaseRelation) -> str:
    is_in_session = (relation.database or SESSION_CATALOG) == SESSION_CATALOG
    if is_in_session and has_driver(spark):
        return table_location(spark, schema=str(relation.schema), name=str(relation.identifier))
    return str(spark.sql(f"describe detail {relation.render()}").first()["location"])


def history_response(rows: Sequence[Mapping[str, Any]], response: Any) -> DeltaMaintResponse:
    """The same from rows of DESCRIBE HISTORY, for servers; of the commit that is known to be ours, if one is."""
    told = enlarged(response)
    ours = [row for row in rows if int(row["version"]) == told.table_version]
    newest = ours[0] if ours else rows[0]
    told.table_version = int(newest["version"])
    metrics = _structure(newest["operationMetrics"]) or {}
    return told.with_metrics(CommitMetrics.of(newest["operation"], metrics))


def observed_settings(
    detail: Mapping[str, Any], *, properties: Mapping[str, str] | None = None
) -> TableSettings:
    """From the one row of DESCRIBE DETAIL; `properties` where they are known from elsewhere."""
    features = _structure(detail["tableFeatures"]) or ()
    if properties is None:
        properties = dict(_structure(detail["properties"]) or {})
    return TableSettings(
        properties={
            **properties,
            **{f"delta.feature.{name}": "supported" for name in features},
        },
        clustered_by=tuple(_structure(detail["clusteringColumns"]) or ()),
        partitioned_by=tuple(_structure(detail["partitionColumns"]) or ()),
    )


def _structure(cell: Any) -> Any:
    """dbt's tables hold maps and arrays as JSON."""
    return json.loads(cell) if isinstance(cell, str) else cell
