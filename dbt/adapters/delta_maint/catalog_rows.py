"""What DESCRIBE says about a relation -> what dbt's catalog says about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

STATISTICS = {
    "bytes": ("Size", "Bytes of the data files of the current version"),
    "num_files": ("Files", "Number of data files of the current version"),
    "num_rows": ("Rows", "Number of rows of the current version"),
}


@dataclass(frozen=True)
class DescribedColumn:
    name: str
    data_type: str
    comment: str | None


@dataclass(frozen=True)
class Description:
    """DESCRIBE TABLE EXTENDED, taken apart: the columns, then what is said about the table."""

    columns: list[DescribedColumn]
    details: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Description:
        columns: list[DescribedColumn] = []
        details: dict[str, str] = {}
        in_columns, in_details = True, False
        for row in rows:
            name, data_type = row["col_name"], row["data_type"]
            if in_columns and (not name or (name.startswith("# ") and not data_type)):
                in_columns = False
            if in_columns:
                columns.append(DescribedColumn(name, data_type, row["comment"] or None))
            elif name == "# Detailed Table Information":
                in_details = True
            elif in_details and name:
                details[name] = data_type
        return cls(columns, details)


def relation_kind(relation: BaseRelation, description: Description) -> str:
    is_view = description.details.get("Type") == "VIEW" or relation.type == RelationType.View
    return "view" if is_view else "table"


def catalog_rows(
    relation: BaseRelation, description: Description, statistics: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """One row per column, as `dbt docs generate` wants them."""
    table = {
        "table_database": relation.database,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": relation_kind(relation, description),
        "table_comment": description.details.get("Comment"),
        "table_owner": description.details.get("Owner"),
    }
    for key, value in statistics.items():
        label, explanation = STATISTICS[key]
        table[f"stats:{key}:label"] = label
        table[f"stats:{key}:value"] = value
        table[f"stats:{key}:description"] = explanation
        table[f"stats:{key}:include"] = value is not None
    return [
        {
            **table,
            "column_name": column.name,
            "column_index": index,
            "column_type": column.data_type,
            "column_comment": column.comment,
        }
        for index, column in enumerate(description.columns, start=1)
    ]


def catalog_table(
    relation: BaseRelation, description: Description, statistics: Mapping[str, Any]
) -> CatalogTable:
    stats = {
        key: StatsItem(key, STATISTICS[key][0], value, True, STATISTICS[key][1])
        for key, value in statistics.items()
        if value is not None
    }
    stats["has_stats"] = StatsItem(
        id="has_stats",
        label="Has Stats?",
        value=len(stats) > 0,
        include=False,
        description="Indicates whether there are statistics for this table",
    )
    return CatalogTable(
        metadata=TableMetadata(
            type=relation_kind(relation, description),
            database=relation.database,
            schema=relation.schema,
            name=relation.identifier,
            comment=description.details.get("Comment"),
            owner=description.details.get("Owner"),
        ),
        columns={
            column.name: ColumnMetadata(
                type=column.data_type, index=index, name=column.name, comment=column.comment
            )
            for index, column in enumerate(description.columns, start=1)
        },
        stats=stats,
    )
