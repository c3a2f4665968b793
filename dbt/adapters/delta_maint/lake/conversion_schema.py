"""The schema of the table to be: from the files or the catalog, with its partition columns in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import SchemaMergeError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.schema_merge import (
    FileSchema,
    as_nullable,
    check_table_schema,
    merge_file_schemas,
    with_partition_columns,
)
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogEntry


def table_schema(
    request: ConvertRequest,
    entry: CatalogEntry | None,
    schemas: Sequence[FileSchema],
    partitions: Sequence[PartitionColumn],
    *,
    prefers_catalog: bool,
) -> tuple[dict[str, Any], list[str]]:
    """The schema and what a person should know of it; `prefers_catalog` counts where the request is silent."""
    warnings: list[str] = []
    by_catalog = entry is not None and prefers_catalog
    if (request.schema_mode or ("catalog" if by_catalog else "files")) == "files":
        columns = merge_file_schemas(schemas, widen_types=request.widen_types)
    elif entry is None:
        raise SchemaMergeError(
            "schema_mode: catalog needs a table, but a path was given: leave it out."
        )
    else:
        columns = as_nullable(entry.schema)
        unknown = _names(schemas) - {found["name"].lower() for found in columns["fields"]}
        if unknown:
            warnings.append(
                "the files hold column(s) that the catalog does not know: "
                f"{', '.join(sorted(unknown))}; set schema_mode: files to take them"
            )
    if partitions and not columns["fields"]:
        raise SchemaMergeError(
            "[DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION] The files hold no column at all, so "
            "every column would be a partition column: a table needs one in its files."
        )
    schema = with_partition_columns(columns, partitions)
    check_table_schema(schema)
    return schema, warnings


def _names(schemas: Sequence[FileSchema]) -> set[str]:
    return {field["name"].lower() for schema in schemas for field in schema.struct["fields"]}
