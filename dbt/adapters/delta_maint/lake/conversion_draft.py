"""The table as Delta will have it, checked by Delta before anything exists: properties, protocol, refusals."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.log_actions import metadata_line
from dbt.adapters.delta_maint.core.schema_merge import widened_columns
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogEntry
from dbt.adapters.delta_maint.lake.jvm_delta import DraftTable, JvmDelta
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence


def table_properties(request: ConvertRequest, entry: CatalogEntry | None) -> dict[str, str]:
    """Those of the catalog entry, and over them those that were asked for."""
    found = dict(entry.properties) if entry is not None else {}
    return found | dict(request.properties)


def draft_table(
    delta: JvmDelta,
    location: str,
    schema: Mapping[str, Any],
    partitions: Sequence[PartitionColumn],
    *,
    properties: Mapping[str, str],
    asked: Mapping[str, str],
    statistics: str,
    label: str,
) -> DraftTable:
    """`asked` are the properties a person wrote, among all `properties`; `label` names the source."""
    configuration = dict(properties)
    if widened_columns(dict(schema)):
        configuration["delta.enableTypeWidening"] = "true"
    line = metadata_line(
        table_id=str(uuid.uuid4()),
        schema=schema,
        partition_columns=[column.name for column in partitions],
        configuration=configuration,
        created_ms=int(time.time() * 1000),
    )
    try:
        draft = delta.draft(location, line, asked=dict(asked))
    except Exception as exc:
        raise ConversionError(
            f"Delta does not take {label} as a table: {telling_sentence(exc)}"
        ) from exc
    _refuse_what_files_cannot_have(draft.configuration, statistics)
    return draft


def _refuse_what_files_cannot_have(configuration: Mapping[str, str], statistics: str) -> None:
    mapping = configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise ConversionError(
            "[DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING] The configuration "
            f"'delta.columnMapping.mode' cannot be set to `{mapping}` when converting to "
            "Delta: convert first, enable it afterwards."
        )
    for name, value in configuration.items():
        if name.lower().startswith("delta.enableicebergcompat") and value.lower() == "true":
            raise ConversionError(
                f"The property {name} needs column mapping, which files that exist cannot have: "
                "convert without it, and enable both afterwards."
            )
    if configuration.get("delta.enableRowTracking") == "true" and statistics == "none":
        raise ConversionError(
            "[DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS] Row tracking needs the number "
            "of rows of every file: set statistics: footer, or enable it afterwards."
        )
