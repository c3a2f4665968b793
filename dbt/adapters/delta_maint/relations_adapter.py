"""What exists: relations, their columns, and what dbt's catalog says about them."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.base.relation import InformationSchema
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.delta_maint.catalog_rows import Description, catalog_rows, catalog_table
from dbt.adapters.delta_maint.column import DeltaMaintColumn
from dbt.adapters.delta_maint.core.spark_types import columns_of
from dbt.adapters.delta_maint.dbt_errors import told_to_dbt
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.lake.session_catalog import SESSION_CATALOG, table_provider
from dbt.adapters.delta_maint.relation import DeltaMaintRelation
from dbt.adapters.delta_maint.source_freshness import last_data_change
from dbt.adapters.spark.impl import (
    SCHEMA_NOT_FOUND_MESSAGES,
    TABLE_OR_VIEW_NOT_FOUND_MESSAGES,
    SparkAdapter,
)
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    import agate


class RelationsAdapter(SparkAdapter):
    """The half of the adapter that only looks."""

    Relation = DeltaMaintRelation
    Column = DeltaMaintColumn

    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:
        # Not the parent's, which throws the database away.
        return super(SparkAdapter, self).get_relation(database, schema, identifier)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Three listings, whatever the number of tables; temporary views are not relations."""
        kwargs = {"schema_relation": schema_relation}
        try:
            tables = self.execute_macro("list_relations_without_caching", kwargs=kwargs)
            views = self.execute_macro("delta_maint_list_views", kwargs=kwargs)
            functions = self.execute_macro("delta_maint_list_functions", kwargs=kwargs)
        except DbtRuntimeError as exc:
            if any(text in str(exc) for text in SCHEMA_NOT_FOUND_MESSAGES):
                return []
            raise
        view_names = {row["viewName"] for row in views if not row["isTemporary"]}
        found = {
            row["tableName"]: (
                RelationType.View if row["tableName"] in view_names else RelationType.Table
            )
            for row in tables
            if not row["isTemporary"]
        }
        prefix = f"{schema_relation.database}.{schema_relation.schema}.".lower()
        for (name,) in functions:
            # Built-in functions are listed too, without a schema. A table of that name goes first.
            if name.lower().startswith(prefix):
                found.setdefault(name[len(prefix) :], RelationType.Function)
        return [
            self.Relation.create(
                database=schema_relation.database,
                schema=schema_relation.schema,
                identifier=name,
                type=kind,
            )
            for name, kind in found.items()
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[DeltaMaintColumn]:
        if self.config.credentials.capabilities.has(Feature.DRIVER):
            # Without a statement, and with the types whole. What Spark cannot resolve, a view over a
            # table that is gone say, can still be described.
            with contextlib.suppress(Exception):
                return self._columns(relation, columns_of(self._schema_of(relation)))
        try:
            rows = self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})
        except DbtRuntimeError as exc:
            if any(text in str(exc) for text in TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return []
            raise
        return self.parse_describe_extended(relation, rows)

    def parse_describe_extended(
        self, relation: BaseRelation, raw_rows: Any
    ) -> list[DeltaMaintColumn]:
        columns = []
        for row in raw_rows:
            name = row["col_name"]
            if not name or (name.startswith("# ") and not row["data_type"]):
                break
            columns.append((name, row["data_type"]))
        return self._columns(relation, columns)

    def _schema_of(self, relation: BaseRelation) -> str:
        handle = self.connections.get_thread_connection().handle
        handle.mark_thread()
        return str(handle.spark.table(relation.render())._jdf.schema().json())

    @staticmethod
    def _columns(
        relation: BaseRelation, found: Iterable[tuple[str, str]]
    ) -> list[DeltaMaintColumn]:
        return [
            DeltaMaintColumn(
                table_database=relation.database,
                table_schema=relation.schema,
                table_name=relation.name,
                table_type=relation.type,
                column=name,
                column_index=index,
                dtype=data_type,
            )
            for index, (name, data_type) in enumerate(found)
        ]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        rows = self.execute_macro("list_schemas", kwargs={"database": database})
        return schema.lower() in {row[0].lower() for row in rows}

    @available.parse(lambda *a, **k: "delta")
    def table_provider(self, relation: BaseRelation) -> str | None:
        """The format a table has now, asked of the catalog, never of the cache."""
        if self._asks_session_catalog(relation):
            return table_provider(
                self._spark, schema=str(relation.schema), name=str(relation.identifier)
            )
        try:
            rows = self.execute_macro(
                "delta_maint_describe_extended", kwargs={"relation": relation}
            )
        except DbtRuntimeError as exc:
            if any(text in str(exc) for text in TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return None
            raise
        return Description.of(rows).details.get("Provider", "").lower() or None

    def _asks_session_catalog(self, relation: BaseRelation) -> bool:
        has_driver = self.config.credentials.capabilities.has(Feature.DRIVER)
        return has_driver and (relation.database or SESSION_CATALOG) == SESSION_CATALOG

    @available.parse(lambda *a, **k: Description([]))
    def table_description(self, relation: BaseRelation) -> Description:
        rows = self.execute_macro("delta_maint_describe_extended", kwargs={"relation": relation})
        return Description.of(rows)

    @available.parse(lambda *a, **k: {})
    def other_comments(
        self, found: Description, wanted: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Mapping[str, Any]]:
        """The documented columns whose comment in the table is another."""
        present = {column.name.lower(): column.comment or "" for column in found.columns}
        return {
            key: column
            for key, column in wanted.items()
            if present.get(column["name"].lower()) != column["description"]
        }

    # -- catalog ------------------------------------------------------------------------------

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        return catalog_table(relation, *self._describe(relation))

    def _get_one_catalog(
        self,
        information_schema: InformationSchema,
        schemas: set[str],
        used_schemas: frozenset[tuple[str, str]],
    ) -> agate.Table:
        database = information_schema.database
        return self._catalog_of(
            relation for schema in schemas for relation in self.list_relations(database, schema)
        )

    def _get_one_catalog_by_relations(
        self,
        information_schema: InformationSchema,
        relations: list[BaseRelation],
        used_schemas: frozenset[tuple[str, str]],
    ) -> agate.Table:
        found = (self.get_relation(r.database, r.schema, r.identifier) for r in relations)
        return self._catalog_of(relation for relation in found if relation is not None)

    def _catalog_of(self, relations: Iterable[BaseRelation]) -> agate.Table:
        from dbt_common.clients.agate_helper import table_from_data_flat

        rows: list[dict[str, Any]] = []
        for relation in relations:
            if relation.type != RelationType.Function:
                rows.extend(catalog_rows(relation, *self._describe(relation)))
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return table_from_data_flat([dict.fromkeys(columns) | row for row in rows], columns)

    def _describe(self, relation: BaseRelation) -> tuple[Description, dict[str, Any]]:
        kwargs = {"relation": relation}
        rows = self.execute_macro("delta_maint_describe_extended", kwargs=kwargs)
        description = Description.of(rows)
        if description.details.get("Provider") != "delta":
            return description, {}
        return description, self.execute_macro("delta_maint_statistics", kwargs=kwargs) or {}

    # -- freshness ----------------------------------------------------------------------------

    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        now = dt.datetime.now(dt.timezone.utc)
        spark = self._spark if self.config.credentials.capabilities.has(Feature.DRIVER) else None
        found = {}
        for source in sources:
            with told_to_dbt():
                changed = last_data_change(source, self._rows_of, spark=spark)
            found[source] = self._create_freshness_response(changed, now)
        return [], found

    def _rows_of(self, sql: str) -> Iterable[Mapping[str, Any]]:
        _, table = self.execute(sql, fetch=True)
        return table.rows  # type: ignore[no-any-return]
