"""DeltaMaintAdapter: what dbt and the macros ask for, each in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, PythonJobHelper, available
from dbt.adapters.base.impl import AdapterTrackingRelationInfo, ConstraintSupport
from dbt.adapters.base.relation import InformationSchema
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig, RelationType
from dbt.adapters.delta_maint.after_write import (
    history_response,
    observed_settings,
    session_response,
)
from dbt.adapters.delta_maint.auto_compaction import Report
from dbt.adapters.delta_maint.catalog_rows import Description, catalog_rows, catalog_table
from dbt.adapters.delta_maint.column import DeltaMaintColumn
from dbt.adapters.delta_maint.compaction_requests import DbtCompaction
from dbt.adapters.delta_maint.connections import (
    DeltaMaintConnectionManager,
    project_root,
    session_environment,
)
from dbt.adapters.delta_maint.constraints import constraint_properties
from dbt.adapters.delta_maint.conversion import ConversionRun
from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.errors import DeltaMaintError
from dbt.adapters.delta_maint.core.statements import split_statements
from dbt.adapters.delta_maint.core.table_settings import (
    TableSettings,
    changes,
    refuse_other_partitions,
)
from dbt.adapters.delta_maint.credentials import ConnectionMethod, DeltaMaintCredentials
from dbt.adapters.delta_maint.model_config import DeltaMaintConfig
from dbt.adapters.delta_maint.python_models import SessionPythonJob
from dbt.adapters.delta_maint.relation import DeltaMaintRelation
from dbt.adapters.delta_maint.response import DeltaMaintResponse
from dbt.adapters.delta_maint.seeds import column_type, seed_rows, seed_select
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import (
    SCHEMA_NOT_FOUND_MESSAGES,
    TABLE_OR_VIEW_NOT_FOUND_MESSAGES,
    SparkAdapter,
)
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("DeltaMaint")


class DeltaMaintAdapter(SparkAdapter):
    ConnectionManager = DeltaMaintConnectionManager
    Relation = DeltaMaintRelation
    Column = DeltaMaintColumn
    AdapterSpecificConfigs = DeltaMaintConfig

    CONSTRAINT_SUPPORT = {
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    _capabilities = CapabilityDict(
        {Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full)}
    )

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> AdapterTrackingRelationInfo:
        # The parent derives a module name from the class name, which has no underscore.
        return AdapterTrackingRelationInfo(
            adapter_name="delta_maint",
            base_adapter_version=import_module("dbt.adapters.__about__").version,
            adapter_version=import_module("dbt.adapters.delta_maint.__version__").version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )

    @property
    def _credentials(self) -> DeltaMaintCredentials:
        return self.config.credentials  # type: ignore[no-any-return]

    @property
    def _spark(self) -> Any:
        """The Spark session of this thread's connection."""
        return self.connections.get_thread_connection().handle.spark

    # -- connection ---------------------------------------------------------------------------

    def debug_query(self) -> None:
        from dbt.events.types import DebugCmdOut
        from dbt_common.events.functions import fire_event

        if self._credentials.method == ConnectionMethod.SESSION:
            settings = self._credentials.session_settings(project_root(self._credentials))
            for verdict in session_environment(settings).inspect():
                fire_event(DebugCmdOut(msg=f"  {verdict}"))
        self.execute("select 1 as id", fetch=True)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Spark takes one statement at a time: those before the last, a header's say, run first."""
        return super().execute(self._run_all_but_last(sql), auto_begin, fetch, limit)

    @available.parse(lambda *a, **k: [])
    def get_column_schema_from_query(self, sql: str) -> list[DeltaMaintColumn]:
        return super().get_column_schema_from_query(self._run_all_but_last(sql))

    def _run_all_but_last(self, sql: str) -> str:
        *before, last = split_statements(sql) or [sql]
        for statement in before:
            self.connections.execute(statement)
        return last

    # -- relations ----------------------------------------------------------------------------

    def quote(self, identifier: str) -> str:
        return sql_text.identifier(identifier)

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
        for index, row in enumerate(raw_rows):
            name = row["col_name"]
            if not name or (name.startswith("# ") and not row["data_type"]):
                break
            columns.append(
                DeltaMaintColumn(
                    table_database=relation.database,
                    table_schema=relation.schema,
                    table_name=relation.name,
                    table_type=relation.type,
                    column=name,
                    column_index=index,
                    dtype=row["data_type"],
                )
            )
        return columns

    def check_schema_exists(self, database: str, schema: str) -> bool:
        rows = self.execute_macro("list_schemas", kwargs={"database": database})
        return schema.lower() in {row[0].lower() for row in rows}

    @available.parse(lambda *a, **k: "delta")
    def table_provider(self, relation: BaseRelation) -> str | None:
        """The format a table has now, asked of the catalog, never of the cache."""
        try:
            rows = self.execute_macro(
                "delta_maint_describe_extended", kwargs={"relation": relation}
            )
        except DbtRuntimeError as exc:
            if any(text in str(exc) for text in TABLE_OR_VIEW_NOT_FOUND_MESSAGES):
                return None
            raise
        return Description.of(rows).details.get("Provider", "").lower() or None

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

    # -- SQL text -----------------------------------------------------------------------------

    @available
    def sql_string(self, text: Any) -> str:
        return sql_text.string_literal(str(text))

    @available
    def sql_properties(self, pairs: dict[str, Any]) -> str:
        return sql_text.properties(pairs)

    @available
    def sql_identifiers(self, names: str | Sequence[str]) -> str:
        return sql_text.identifier_list([names] if isinstance(names, str) else names)

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge", "insert_overwrite", "delete+insert", "microbatch"]

    # -- tables -------------------------------------------------------------------------------

    @available.parse_none
    def commit_response(self, relation: BaseRelation, response: Any) -> DeltaMaintResponse:
        """What the statement behind `response` did to the table: one small read."""
        if self._credentials.method == ConnectionMethod.SESSION:
            return session_response(self._spark, relation, response)
        _, table = self.execute(f"describe history {relation} limit 1", fetch=True)
        return history_response(table.rows[0], response)

    @available.parse(lambda *a, **k: TableSettings())
    def wanted_settings(self, config: Any) -> TableSettings:
        if (config.get("file_format") or "delta") != "delta":
            return TableSettings()
        return TableSettings.wanted(
            properties=config.get("tblproperties"),
            clustered_by=config.get("liquid_clustered_by"),
            partitioned_by=config.get("partition_by"),
        )

    @available.parse_none
    def observed_settings(self, relation: BaseRelation, wanted: TableSettings) -> TableSettings:
        """Reads the table only when the model has something to compare; refuses other partitions."""
        if not wanted.says_anything:
            return TableSettings()
        _, table = self.execute(f"describe detail {relation}", fetch=True)
        observed = observed_settings(table.rows[0])
        try:
            refuse_other_partitions(relation.render(), wanted, observed)
        except DeltaMaintError as exc:
            raise DbtRuntimeError(str(exc)) from exc
        return observed

    @available.parse_none
    def bring_up_settings(
        self, relation: BaseRelation, wanted: TableSettings, observed: TableSettings
    ) -> None:
        for statement in changes(relation.render(), wanted, observed):
            self.execute(statement)

    @available.parse(lambda *a, **k: {})
    def constraint_properties(self, model: dict[str, Any], file_format: str) -> dict[str, str]:
        properties, remarks = constraint_properties(model)
        if properties and file_format != "delta":
            raise DbtRuntimeError(
                f"{model['name']} has constraints, which {file_format} tables do not enforce: use "
                "file_format delta, or remove them."
            )
        for remark in remarks:
            logger.debug("{}: {}", model["name"], remark)
        return properties

    @available.parse_none
    def allow_dropping_columns(self, relation: BaseRelation) -> None:
        """Delta drops a column by forgetting it, which needs column mapping by name."""
        _, table = self.execute(f"show tblproperties {relation}", fetch=True)
        properties = {row["key"]: row["value"] for row in table.rows}
        if properties.get("delta.columnMapping.mode", "none") != "none":
            return
        self.execute(
            f"alter table {relation} set tblproperties ('delta.columnMapping.mode' = 'name')"
        )
        logger.info(
            "{} was upgraded to column mapping by name, so that columns can be dropped: readers "
            "older than Delta 1.2 can no longer open it.",
            relation.render(),
        )

    # -- compaction -----------------------------------------------------------------------------

    def pre_model_hook(self, config: Any) -> Any:
        """Marks the commits that the model is about to make."""
        return self._compaction.begin_node(self)

    def post_model_hook(self, config: Any, context: Any) -> None:
        self._compaction.end_node(self, context)

    @property
    def _compaction(self) -> DbtCompaction:
        return DbtCompaction.of_invocation(self.config)

    @available.parse_none
    def auto_compact(
        self,
        relation: BaseRelation,
        model: dict[str, Any],
        *,
        switch: Any = None,
        overrides: dict[str, Any] | None = None,
    ) -> Report | None:
        """After a model's write, or in a hook, where `overrides` are the hook's arguments."""
        return self._compaction.after_write(self, relation, model, switch, overrides)

    @available.parse(lambda *a, **k: False)
    def warns_of_missing_deferred_hook(self, graph: dict[str, Any]) -> bool:
        return self._compaction.warns_of_missing_deferred_hook(graph)

    @available.parse(lambda *a, **k: [])
    def compact_deferred(self, budget: Any = None, switch: Any = None) -> list[Report]:
        return self._compaction.run_deferred(self, budget, switch)

    @available.parse(lambda *a, **k: [])
    def compact(self, graph: dict[str, Any], arguments: dict[str, Any]) -> list[Report]:
        return self._compaction.run_operation(self, graph, arguments)

    # -- conversion ---------------------------------------------------------------------------

    @available.parse(lambda *a, **k: [])
    def convert_to_delta(
        self, arguments: dict[str, Any], sources: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Parquet becomes Delta; what was planned and done comes back, target by target."""
        return ConversionRun.of_adapter(self).convert(arguments, sources)

    @available.parse(lambda *a, **k: {})
    def undo_convert(self, arguments: dict[str, Any], sources: dict[str, Any]) -> dict[str, Any]:
        return ConversionRun.of_adapter(self).undo(arguments, sources)

    # -- seeds --------------------------------------------------------------------------------

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return column_type(agate_table, col_idx)

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return column_type(agate_table, col_idx)

    @available.parse_none
    def seed_query(self, agate_table: agate.Table, view_name: str, types: dict[str, str]) -> str:
        """A query whose rows are exactly the seed's, typed; a value that does not fit is an error."""
        try:
            names, rows = seed_rows(agate_table)
            if self._credentials.method == ConnectionMethod.SESSION:
                return seed_select(self._spark, names, rows, types, view_name=view_name)
        except DeltaMaintError as exc:
            raise DbtRuntimeError(str(exc)) from exc
        raise DbtRuntimeError(
            f"Seeds are loaded through a DataFrame, which method {self._credentials.method.value} "
            "does not have: use `method: session`."
        )

    # -- Python models ------------------------------------------------------------------------

    @property
    def default_python_submission_method(self) -> str:
        return "session"

    @property
    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        return {"session": SessionPythonJob}

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        method = self._credentials.method
        if method != ConnectionMethod.SESSION:
            raise DbtRuntimeError(
                f"Python models need a DataFrame session, which method {method.value} does not "
                "have: use `method: session`."
            )
        submission = parsed_model["config"].get("submission_method", "session")
        if submission != "session":
            raise DbtRuntimeError(
                f"submission_method is {submission!r}: this adapter runs Python models in its own "
                "session; remove the config or set it to session."
            )
        handle = self.connections.get_thread_connection().handle
        handle.mark_thread()
        try:
            SessionPythonJob(parsed_model, self._credentials, spark=handle.spark).submit(
                compiled_code
            )
        except DeltaMaintError as exc:
            raise DbtDatabaseError(str(exc)) from exc
        return AdapterResponse(_message="OK")
