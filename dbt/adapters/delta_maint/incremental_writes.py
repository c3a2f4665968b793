"""An incremental model before its write: options checked, schema settled, faults explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.column import DeltaMaintColumn
from dbt.adapters.delta_maint.core import sql_text
from dbt.adapters.delta_maint.core.merge_options import check_columns, names
from dbt.adapters.delta_maint.core.schema_change import (
    IGNORE,
    TIMESTAMP_NTZ,
    Field,
    SchemaChange,
    needed_properties,
    plan_schema_change,
    refuse_layout_columns,
    refuse_misplaced_fields,
    statements,
)
from dbt.adapters.delta_maint.core.table_settings import TableSettings

INSERTS = ("append", "insert_overwrite", "replace_where", "microbatch")
DUPLICATES = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
_UPGRADES = {
    "delta.columnMapping.mode": (
        "column mapping by name, so that columns can be dropped: readers older than Delta 1.2 can "
        "no longer open it"
    ),
    TIMESTAMP_NTZ: (
        "timestamps without time zone, which the new columns need: readers older than Delta 2.4 "
        "can no longer open it"
    ),
    "delta.enableTypeWidening": (
        "type widening, so that column types can grow: readers older than Delta 3.2 can no longer "
        "open it"
    ),
}


def plan_columns(
    strategy: str,
    mode: str,
    config: Mapping[str, Any],
    *,
    model: Sequence[DeltaMaintColumn],
    table: Sequence[DeltaMaintColumn],
    relation: BaseRelation,
) -> SchemaChange:
    """Refuses what cannot work; changes nothing."""
    check_columns(
        strategy,
        config,
        model=[column.name for column in model],
        table=[column.name for column in table],
        table_name=relation.render(),
    )
    evolves = bool(config.get("merge_with_schema_evolution"))
    if evolves and mode == IGNORE:
        # MERGE itself adds what is new and leaves alone what the model does not have.
        return SchemaChange(written=tuple(column.name for column in model))
    offered = [Field(column.name, column.dtype) for column in model]
    present = [Field(column.name, column.dtype) for column in table]
    name = relation.render()
    change = plan_schema_change(mode, offered, present, table_name=name)
    if strategy in INSERTS:
        refuse_misplaced_fields(change, offered, present, table_name=name)
    return change


def apply_schema_change(
    change: SchemaChange,
    relation: BaseRelation,
    *,
    execute: Callable[[str], Any],
    settings: Callable[[], TableSettings],
    tell: Callable[[str], None],
) -> None:
    table = relation.render()
    needed = needed_properties(change)
    if needed:
        observed = settings()
        layout = (*(observed.partitioned_by or ()), *(observed.clustered_by or ()))
        refuse_layout_columns(change, layout, table_name=table)
        present = observed.properties
        missing = {
            key: value
            for key, value in needed.items()
            if present.get(key, "none") in ("none", "false")
        }
        if missing:
            execute(f"alter table {table} set tblproperties ({sql_text.properties(missing)})")
            for key in missing:
                tell(f"{table} was upgraded to {_UPGRADES[key]}.")
    for statement in statements(table, change):
        execute(statement)


def duplicates_query(source: str, keys: Sequence[str]) -> str:
    """One key that the source has more than once."""
    columns = sql_text.identifier_list(names(keys))
    return (
        f"select count(*) as dbt_times, {columns} from {source} group by {columns} "
        "having count(*) > 1 limit 1"
    )


def duplicates_sentence(keys: Sequence[str], row: Sequence[Any]) -> str:
    """
    >>> duplicates_sentence(["id"], [2, 7]).split(":")[0]
    'The model gives 2 rows with id = 7, and a merge can take only one row per unique_key'
    """
    key = ", ".join(f"{name} = {value}" for name, value in zip(keys, row[1:], strict=True))
    return (
        f"The model gives {row[0]} rows with {key}, and a merge can take only one row per "
        "unique_key: keep one row per key in the model's query, or add columns to unique_key."
    )
