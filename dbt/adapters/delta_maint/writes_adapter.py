"""How a model's rows get into its table: what is checked before, what is told and settled after."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.delta_maint import optimized_writes, write_plans
from dbt.adapters.delta_maint.after_write import (
    history_response,
    observed_settings,
    session_response,
)
from dbt.adapters.delta_maint.column import DeltaMaintColumn
from dbt.adapters.delta_maint.constraints import (
    constraint_changes,
    constraint_properties,
    not_null_columns,
    not_null_property,
)
from dbt.adapters.delta_maint.core.column_defaults import (
    default_changes,
    observed_defaults,
    wanted_defaults,
)
from dbt.adapters.delta_maint.core.merge_options import check_options, names
from dbt.adapters.delta_maint.core.schema_change import Field, SchemaChange, manual_features
from dbt.adapters.delta_maint.core.sql_text import properties
from dbt.adapters.delta_maint.core.table_settings import (
    TableSettings,
    changes,
    refuse_other_partitions,
)
from dbt.adapters.delta_maint.dbt_errors import told_to_dbt
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.environments.catalog import IN_MEMORY
from dbt.adapters.delta_maint.incremental_writes import (
    DUPLICATES,
    apply_schema_change,
    duplicates_query,
    duplicates_sentence,
    plan_columns,
)
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.session_catalog import forget_layout, table_location
from dbt.adapters.delta_maint.relations_adapter import RelationsAdapter
from dbt.adapters.delta_maint.response import DeltaMaintResponse
from dbt.adapters.delta_maint.turns import Turns
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("DeltaMaint")

# Other writers may have committed since our statement did.
COMMITS_BESIDE = 10


class WritesAdapter(RelationsAdapter):
    """The half of the adapter that writes models."""

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._turns = Turns()
        self._thread = threading.local()

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        merged, self._thread.merged = getattr(self._thread, "merged", None), None
        try:
            with self._turns.taken():
                return super().execute(sql, auto_begin, fetch, limit)
        except DbtDatabaseError as exc:
            if self._enabled_features(str(exc)):
                return super().execute(sql, auto_begin, fetch, limit)
            if merged is None or DUPLICATES not in str(exc):
                raise
            source, keys = merged
            _, found = super().execute(duplicates_query(source, keys), fetch=True)
            if not found.rows:
                raise
            raise DbtDatabaseError(duplicates_sentence(keys, found.rows[0])) from exc

    @available.parse_none
    def writes_to(
        self, relation: BaseRelation | None, *, replaced: BaseRelation | None = None
    ) -> None:
        """The table that this thread's next statements write, until another is named."""
        self._thread.target = relation
        if relation is None or replaced is None or self._credentials.catalog != IN_MEMORY:
            return
        if self.table_provider(relation) != "delta":
            return
        schema, name = str(relation.schema), str(relation.identifier)
        try:
            forget_layout(self._spark, schema=schema, name=name)
        except Exception as exc:
            logger.debug("{}: its catalog entry stays as it is: {}", relation.render(), exc)

    def _enabled_features(self, message: str) -> bool:
        """Whether the table was given what Delta refused to write without.

        Delta gives a new table the features that its columns need; a table that is there keeps its
        protocol until somebody asks, a version of it with other columns included.
        """
        target = getattr(self._thread, "target", None)
        features = manual_features(message)
        if target is None or not features:
            return False
        self._thread.target = None
        super().execute(f"alter table {target} set tblproperties ({properties(features)})")
        names = ", ".join(feature.rpartition(".")[2] for feature in features)
        logger.info(
            f"{target.render()} was upgraded to Delta's table feature {names}, which its new "
            "columns need: older readers can no longer open it."
        )
        return True

    @available.parse_none
    def commit_response(self, relation: BaseRelation, response: Any) -> DeltaMaintResponse:
        """What the statement behind `response` did to the table: one small read."""
        if self._credentials.capabilities.has(Feature.DRIVER):
            return session_response(self._spark, relation, response)
        _, table = self.execute(f"describe history {relation} limit {COMMITS_BESIDE}", fetch=True)
        return history_response(table.rows, response)

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
        observed = self._settings_of(relation)
        with told_to_dbt():
            refuse_other_partitions(relation.render(), wanted, observed)
        return observed

    @available.parse_none
    def bring_up_settings(
        self, relation: BaseRelation, wanted: TableSettings, observed: TableSettings
    ) -> None:
        for statement in changes(relation.render(), wanted, observed):
            self.execute(statement)

    def check_defaults(self, config: Any) -> None:
        columns = getattr(config.model, "columns", None) or {}
        with told_to_dbt():
            wanted_defaults(column.to_dict() for column in columns.values())

    @available.parse_none
    def bring_up_defaults(
        self, relation: BaseRelation, model: dict[str, Any], *, rebuilt: bool
    ) -> None:
        """Reads the table only when the model declares a default."""
        with told_to_dbt():
            wanted = wanted_defaults((model.get("columns") or {}).values())
        if not wanted:
            return
        _, described = self.execute(f"describe table extended {relation}", fetch=True)
        statements = default_changes(relation.render(), wanted, observed_defaults(described.rows))
        for statement in statements:
            self.execute(statement)
        if statements and not rebuilt:
            logger.info(
                f"{relation.render()}: the defaults of {', '.join(wanted)} are for rows to come; "
                "rows that were there keep what they have, NULL in a column that is new."
            )

    @available.parse_none
    def tighten_schema(self, relation: BaseRelation, model: dict[str, Any]) -> None:
        """NOT NULL in the schema of a table that was just rebuilt, where Delta's classes are at hand."""
        enforced = (model.get("config") or {}).get("contract", {}).get("enforced")
        columns = not_null_columns(model) if enforced else []
        if not columns or not self._asks_session_catalog(relation):
            return
        schema, name = str(relation.schema), str(relation.identifier)
        checks = {column: not_null_property(column) for column in columns}
        try:
            location = table_location(self._spark, schema=schema, name=name)
            JvmDelta(self._spark).tighten(location, checks)
        except Exception as exc:
            # The CHECK constraints hold all the same.
            logger.debug("{}: its columns stay nullable: {}", relation.render(), exc)

    @available.parse_none
    def bring_up_constraints(
        self, relation: BaseRelation, model: dict[str, Any], observed: TableSettings
    ) -> None:
        """What a model was given since its table was built holds from this run on, old rows included."""
        config = model.get("config") or {}
        if not config.get("contract", {}).get("enforced"):
            return
        with told_to_dbt():
            wanted, _ = constraint_properties(model, config.get("file_format") or "delta")
        if not wanted:
            return
        properties = (observed if observed.properties else self._settings_of(relation)).properties
        for column in self._never_null(relation):
            wanted.pop(not_null_property(column), None)
        statements = constraint_changes(relation.render(), wanted, properties)
        for statement in statements:
            self.execute(statement)
        if statements:
            self.tighten_schema(relation, model)

    def _never_null(self, relation: BaseRelation) -> list[str]:
        """Columns whose schema says NOT NULL, as far as it can be seen without a statement."""
        if not self._credentials.capabilities.has(Feature.DRIVER):
            return []
        schema = json.loads(self._schema_of(relation))
        return [field["name"] for field in schema["fields"] if not field["nullable"]]

    @available.parse(lambda *a, **k: {})
    def constraint_properties(self, model: dict[str, Any], file_format: str) -> dict[str, str]:
        with told_to_dbt():
            properties, unenforced = constraint_properties(model, file_format)
        for constraint in unenforced:
            self.process_parsed_constraint(constraint, lambda _: None)
        return properties

    # -- files of the right size --------------------------------------------------------------

    @available.parse_none
    def plan_write(self, **request: Any) -> optimized_writes.PlannedWrite | None:
        """The rows of a model as a view that gives files of the right size; None: write plainly."""
        return optimized_writes.plan(self, optimized_writes.WriteRequest(**request))

    @available.parse_none
    def run_write(self, planned: optimized_writes.PlannedWrite, sql: str) -> DeltaMaintResponse:
        """Runs the statement of a planned write; its settings end with it."""
        return optimized_writes.run(self, planned, sql)

    @available.parse(lambda *a, **k: [])
    def write_plan(self, ref: Any, model: str) -> list[str]:
        return write_plans.plan_lines(self, ref, model)

    # -- incremental models -------------------------------------------------------------------

    @available.parse_none
    def check_incremental(self, strategy: str, config: Any) -> None:
        """Options against each other, before anything runs."""
        with told_to_dbt():
            check_options(strategy, config)

    @available.parse(lambda *a, **k: [])
    def settle_columns(
        self, strategy: str, mode: str, config: Any, source: BaseRelation, target: BaseRelation
    ) -> list[DeltaMaintColumn]:
        """Brings the table's columns to the model's as `mode` says; returns those to write."""
        model = self.get_columns_in_relation(source)
        table = self.get_columns_in_relation(target)
        with told_to_dbt():
            change = plan_columns(strategy, mode, config, model=model, table=table, relation=target)
            self._apply(change, target)
        known = {column.name.lower(): column for column in (*model, *table)}
        return [known[name.lower()] for name in change.written]

    @available.parse_none
    def alter_columns(
        self, relation: BaseRelation, added: Sequence[Any] | None, dropped: Sequence[Any] | None
    ) -> None:
        change = SchemaChange(
            added=tuple(Field(column.name, column.data_type) for column in added or []),
            dropped=tuple(column.name for column in dropped or []),
        )
        with told_to_dbt():
            self._apply(change, relation)

    def _apply(self, change: SchemaChange, relation: BaseRelation) -> None:
        apply_schema_change(
            change,
            relation,
            execute=self.execute,
            settings=lambda: self._settings_of(relation),
            tell=logger.info,
        )

    def _settings_of(self, relation: BaseRelation) -> TableSettings:
        _, table = self.execute(f"describe detail {relation}", fetch=True)
        if self._spark is not None:
            return observed_settings(table.rows[0])
        # Maps come without their quotes escaped: a constraint says "x" in one.
        _, shown = self.execute(f"show tblproperties {relation}", fetch=True)
        return observed_settings(table.rows[0], properties={row[0]: row[1] for row in shown.rows})

    @available.parse_none
    def explain_duplicates(self, source: BaseRelation, unique_key: Any) -> None:
        """If the next write fails because of duplicate keys, the error will show one of them."""
        self._thread.merged = (source.render(), names(unique_key))

    @available.parse_none
    def wait_for_turn(self, relation: BaseRelation) -> None:
        self._turns.wait_before_next_statement(relation.render())
