"""A conversion for the console: what will happen or happened, in the order a reader asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConversionPlan
from dbt.adapters.delta_maint.core.schema_merge import type_text
from dbt.adapters.delta_maint.core.sizes import format_bytes

SHOWN_FILES = 20
SHOWN_COLUMNS = 40


def conversion_lines(plan: ConversionPlan) -> Iterable[str]:
    yield _headline(plan)
    for warning in plan.warnings:
        yield f"  warning: {warning}"
    if plan.outcome == "planned":
        yield from _details(plan)
    elif plan.outcome == "converted":
        yield from _summary(plan)


def undo_lines(plan: Any) -> Iterable[str]:
    if plan.outcome == "planned":
        yield f"{plan.target}: would be parquet again ({plan.files:,} files); nothing was changed"
    else:
        yield f"{plan.target}: is parquet again ({plan.files:,} files), as before its conversion"
    if plan.restores_entry:
        yield f"  catalog entry {plan.restores_entry}: parquet, with its columns and properties"
    if plan.drops_entry:
        yield f"  catalog entry {plan.drops_entry}: removed, the conversion had made it"


def _headline(plan: ConversionPlan) -> str:
    amount = f"{plan.files:,} files, {format_bytes(plan.bytes)}, {plan.rows:,} rows"
    if plan.engine == "native" and plan.outcome != "already_delta":
        amount = f"{plan.files:,} files, {format_bytes(plan.bytes)}"
    if plan.outcome == "planned":
        return f"{plan.target}: would become a Delta table ({amount}); nothing was written"
    if plan.outcome == "converted":
        took = sum(plan.seconds.values())
        where = "" if plan.log_root == plan.root else f" with its log in {plan.log_root}"
        return f"{plan.target}: converted{where}: {amount} in {took:.1f} s"
    if plan.outcome == "catalog_repaired":
        return f"{plan.target}: the folder was Delta already; the catalog entry now says so too"
    return f"{plan.target}: The table you are trying to convert is already a delta table"


def _details(plan: ConversionPlan) -> Iterable[str]:
    yield f"  folder       {plan.root}"
    if plan.log_root != plan.root:
        yield f"  log          {plan.log_root} (the source stays as it is)"
    yield f"  engine       {plan.engine}: {plan.engine_reason}"
    if plan.partition_columns:
        columns = ", ".join(f"{c.name} {type_text(c.type_name)}" for c in plan.partition_columns)
        yield f"  partitions   {plan.partitions:,} by {columns}"
    else:
        yield "  partitions   none"
    if plan.min_reader_version:
        named = f" with {', '.join(plan.features)}" if plan.features else ""
        yield (
            f"  protocol     reader {plan.min_reader_version}, writer {plan.min_writer_version}"
            f"{named}"
        )
    for key, value in sorted(plan.properties.items()):
        yield f"  property     {key} = {value}"
    if plan.log_bytes:
        yield f"  log size     {format_bytes(plan.log_bytes)}"
    fields = plan.schema.get("fields", [])
    yield f"  columns      {len(fields)}, from {plan.distinct_schemas} distinct file schema(s)"
    covered = {column.name: column.files_with_bounds for column in plan.coverage}
    for field in fields[:SHOWN_COLUMNS]:
        note = ""
        if field["name"] in covered:
            note = f"  min/max for {covered[field['name']]:,} of {plan.files:,} files"
        yield f"    {field['name']:<28} {type_text(field['type'])}{note}"
    if len(fields) > SHOWN_COLUMNS:
        yield f"    and {len(fields) - SHOWN_COLUMNS} more"
    yield from _left_out(plan)


def _summary(plan: ConversionPlan) -> Iterable[str]:
    if plan.engine == "native":
        yield f"  engine       native: {plan.engine_reason}"
    eligible = [column for column in plan.coverage if plan.files]
    if eligible:
        complete = sum(column.files_with_bounds == plan.files for column in eligible)
        yield f"  min/max of {complete} of {len(eligible)} indexed columns in every file"
    if plan.catalog_entry:
        yield f"  catalog entry {plan.catalog_entry} is Delta now"
    yield from _left_out(plan)


def _left_out(plan: ConversionPlan) -> Iterable[str]:
    if plan.rejected:
        yield f"  left out: {len(plan.rejected):,} file(s) that cannot be part of the table"
        for file in plan.rejected[:SHOWN_FILES]:
            yield f"    {file.path}: {file.reason}"
        if len(plan.rejected) > SHOWN_FILES:
            yield f"    and {len(plan.rejected) - SHOWN_FILES:,} more"
    if plan.unlisted:
        yield f"  not part of the table, a later VACUUM removes: {len(plan.unlisted):,} path(s)"
        for path in plan.unlisted[:SHOWN_FILES]:
            yield f"    {path}"
        if len(plan.unlisted) > SHOWN_FILES:
            yield f"    and {len(plan.unlisted) - SHOWN_FILES:,} more"
