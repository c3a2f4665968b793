"""DeltaMaintAdapter: what dbt and the macros ask for, each in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, PythonJobHelper, available
from dbt.adapters.base.impl import AdapterTrackingRelationInfo, ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.delta_maint.column import DeltaMaintColumn
from dbt.adapters.delta_maint.compaction_reports import Report
from dbt.adapters.delta_maint.compaction_requests import DbtCompaction
from dbt.adapters.delta_maint.connections import (
    OWN_ENVIRONMENT,
    DeltaMaintConnectionManager,
    environment_of,
)
from dbt.adapters.delta_maint.conversion import ConversionRun
from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.errors import DeltaMaintError
from dbt.adapters.delta_maint.core.statements import split_statements
from dbt.adapters.delta_maint.credentials import ConnectionMethod, DeltaMaintCredentials
from dbt.adapters.delta_maint.dbt_errors import told_to_dbt
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.model_config import DeltaMaintConfig
from dbt.adapters.delta_maint.python_models import SessionPythonJob
from dbt.adapters.delta_maint.seeds import column_type, literal_seed_select, seed_rows, seed_select
from dbt.adapters.delta_maint.writes_adapter import WritesAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

if TYPE_CHECKING:
    import agate


class DeltaMaintAdapter(WritesAdapter):
    ConnectionManager = DeltaMaintConnectionManager
    AdapterSpecificConfigs = DeltaMaintConfig

    CONSTRAINT_SUPPORT = {
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full),
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full),
            Capability.TableLastModifiedMetadata: CapabilitySupport(support=Support.Full),
        }
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
        """The Spark session of this thread's connection; None where there is only SQL."""
        return self.connections.get_thread_connection().handle.spark

    # -- connection ---------------------------------------------------------------------------

    def debug_query(self) -> None:
        from dbt.events.types import DebugCmdOut
        from dbt_common.events.functions import fire_event

        if self._credentials.method in OWN_ENVIRONMENT:
            for verdict in environment_of(self._credentials).inspect():
                fire_event(DebugCmdOut(msg=f"  {verdict}"))
        self.execute("select 1 as id", fetch=True)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Spark takes one statement at a time: those before the last, a header's say, run first."""
        return super().execute(self._run_all_but_last(sql), auto_begin, fetch, limit)

    @available.parse(lambda *a, **k: [])
    def get_column_schema_from_query(self, sql: str) -> list[DeltaMaintColumn]:
        last = self._run_all_but_last(sql)
        if self._credentials.method != ConnectionMethod.THRIFT:
            return super().get_column_schema_from_query(last)
        # The protocol says decimal, and not which: DESCRIBE does, without running the query.
        _, described = self.execute(f"describe query {last}", fetch=True)
        return [self.Column.create(row["col_name"], row["data_type"]) for row in described.rows]

    def _run_all_but_last(self, sql: str) -> str:
        *before, last = split_statements(sql) or [sql]
        for statement in before:
            self.connections.execute(statement)
        return last

    # -- SQL text -----------------------------------------------------------------------------

    def quote(self, identifier: str) -> str:
        return sql_text.identifier(identifier)

    @available
    def sql_string(self, text: Any) -> str:
        return sql_text.string_literal(str(text))

    @available
    def names_need_quotes(self, names: Sequence[str]) -> bool:
        """Whether one of the names is neither plain nor quoted already; an expression is neither."""
        return not all(sql_text.is_plain(name) or name.startswith("`") for name in names)

    @available
    def sql_properties(self, pairs: dict[str, Any]) -> str:
        return sql_text.properties(pairs)

    @available
    def sql_identifiers(self, names: str | Sequence[str]) -> str:
        return sql_text.identifier_list([names] if isinstance(names, str) else names)

    def valid_incremental_strategies(self) -> list[str]:
        rows = ["append", "insert_overwrite", "microbatch"]
        return [*rows, "merge", "delete+insert", "optimized_write"]

    # -- compaction -----------------------------------------------------------------------------

    def pre_model_hook(self, config: Any) -> Any:
        """Refuses what the model could not be given; marks the commits it is about to make."""
        self.writes_to(None)
        self.check_defaults(config)
        return self._compaction.begin_node(self)

    def post_model_hook(self, config: Any, context: Any) -> None:
        self._compaction.end_node(self, context)

    @property
    def _compaction(self) -> DbtCompaction:
        return DbtCompaction.of_invocation(self.config)

    @available.parse_none
    def auto_compact(
        self,
        relation: BaseRelation | str,
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

    @available.parse_none
    def fail_compaction(self, reports: list[Report]) -> None:
        self._compaction.fail_if_wanted(reports)

    @available.parse(lambda *a, **k: "")
    def compaction_log(self) -> str:
        """The JSON file of this invocation."""
        return str(self._compaction.log_path)

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
    def refuse_names_that_need_quotes(self, names: Sequence[str]) -> None:
        for name in names:
            if not sql_text.is_plain(name):
                raise DbtRuntimeError(
                    f"Syntax error in the seed's header: {name} is not a plain column name. Set "
                    "`delimiter` to the one the file has, or `quote_columns: true` to keep the name."
                )

    @available.parse_none
    def seed_query(self, agate_table: agate.Table, view_name: str, types: dict[str, str]) -> str:
        """A query whose rows are exactly the seed's, typed; a value that does not fit is an error."""
        with told_to_dbt():
            self._credentials.capabilities.require(Feature.SEEDS)
        try:
            names, rows = seed_rows(agate_table)
            if self._spark is None:
                sql = self.connections.get_thread_connection().handle.sql
                return literal_seed_select(sql, names, rows, types, view_name=view_name)
            return seed_select(self._spark, names, rows, types, view_name=view_name)
        except DeltaMaintError as exc:
            raise DbtRuntimeError(str(exc)) from exc

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
        with told_to_dbt():
            self._credentials.capabilities.require(Feature.PYTHON_MODELS)
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
