"""`dbt run-operation plan_write`: the files a model's next run would write, without writing."""

from __future__ import annotations

import copy
from typing import Any

from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.core.write_choice import Mode, WritePolicy
from dbt.adapters.delta_maint.lake.prepared_write import PreparedWrite
from dbt.adapters.delta_maint.optimized_writes import WriteRequest, policy_of, prepare

SHOWN_VALUES = 20


def plan_lines(adapter: Any, ref: Any, model: str) -> list[str]:
    """`ref` is the function of the macro context, which knows the project's manifest."""
    with adapter.connections.exception_handler(f"plan_write {model}"):
        return _plan_lines(adapter, ref, model)


def _plan_lines(adapter: Any, ref: Any, model: str) -> list[str]:
    node = _compiled(ref, model)
    credentials = adapter.connections.profile.credentials
    policy = policy_of(node.config, credentials) or WritePolicy(Mode.AUTO)
    relation = adapter.Relation.create_from(ref.config, node)
    existing = adapter.get_relation(relation.database, relation.schema, relation.identifier)
    request = WriteRequest(
        relation=relation,
        placed=relation,
        config=node.config,
        model={"unique_id": node.unique_id, "name": node.name},
        query=node.compiled_code,
        kind=_kind(node, existing),
        existing=existing,
    )
    handle = adapter.connections.get_thread_connection().handle
    handle.mark_thread()
    prepared = prepare(handle, policy, request)
    prepared.release(handle.spark)
    return describe(relation.render(), prepared)


def describe(name: str, prepared: PreparedWrite) -> list[str]:
    """The plan in plain lines; nothing but the plan is needed for it."""
    target = format_bytes(prepared.target_bytes)
    head = f"{name}: {prepared.choice.way.value} ({prepared.choice.reason}), target {target}"
    lines = [head]
    if prepared.calibration is not None:
        told = prepared.calibration
        lines.append(f"  {told.bytes_per_row:.1f} bytes per row, from: {told.source.value}")
    placement = prepared.placement
    if placement is None:
        if prepared.planned_files is not None:
            lines.append(f"  {prepared.planned_files} files")
        else:
            lines.append("  the number of files is known when the rows are shuffled")
        return lines
    lines.append(
        f"  {placement.files} files, {format_bytes(placement.bytes)}, {placement.rows:,} rows, "
        f"{len(placement.values):,} partition values, {placement.tasks} tasks"
    )
    largest = sorted(placement.values, key=lambda value: -value.value.bytes)
    for value in largest[:SHOWN_VALUES]:
        each = format_bytes(value.file_bytes)
        label = value.value.label or "all rows"
        lines.append(f"    {label}: {value.value.rows:,} rows, {value.files} x {each}")
    if len(largest) > SHOWN_VALUES:
        lines.append(f"    and {len(largest) - SHOWN_VALUES:,} smaller values")
    return lines


def _compiled(ref: Any, model: str) -> Any:
    from dbt.compilation import Compiler

    found = [
        node
        for node in ref.manifest.nodes.values()
        if node.resource_type in ("model", "snapshot") and model in (node.name, node.unique_id)
    ]
    if not found:
        raise ConfigError(f"plan_write knows no model named {model!r}: name one of the project.")
    node = found[0]
    if getattr(node, "language", "sql") != "sql":
        raise ConfigError(
            f"{model} is a Python model: its rows exist only when it runs, so plan_write cannot "
            "look at them beforehand."
        )
    if node.config.materialized in ("view", "ephemeral"):
        raise ConfigError(
            f"{model} is materialized as {node.config.materialized}: it writes nothing."
        )
    return Compiler(ref.config).compile_node(copy.deepcopy(node), ref.manifest, {}, write=False)


def _kind(node: Any, existing: Any) -> str:
    from dbt.flags import get_flags

    config = node.config
    is_rebuilt = existing is None or existing.type != "table" or get_flags().FULL_REFRESH
    if config.materialized == "snapshot":
        return "create" if existing is None else "merge"
    if is_rebuilt or config.materialized not in ("incremental", "delta_optimized"):
        return "create"
    strategy = config.get("incremental_strategy")
    if strategy in (None, "optimized_write"):
        return "merge" if config.get("unique_key") else "append"
    return str(strategy)
