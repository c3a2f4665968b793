"""Partition columns of a conversion: their names, their types, and every value checked against them."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import PartitionLayoutError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.partition_types import infer_type, stored_value
from dbt.adapters.delta_maint.core.schema_merge import INVALID_NAME_CHARACTERS, type_text
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogEntry
from dbt.adapters.delta_maint.lake.conversion_listing import Listing

RawValues = tuple["str | None", ...]


def expected_columns(request: ConvertRequest, entry: CatalogEntry | None) -> list[str] | None:
    """The columns the folders must show; None where the folders decide."""
    given = request.partition_by
    if entry is None:
        return None if given is None else [name for name, _ in given]
    catalog = [name.lower() for name in entry.partition_columns]
    if given is not None and [name.lower() for name, _ in given] != catalog:
        raise _differs_from_catalog(entry, ", ".join(name for name, _ in given))
    return list(entry.partition_columns)


def partition_columns(
    request: ConvertRequest,
    entry: CatalogEntry | None,
    listing: Listing,
    *,
    zone: str,
    infers: bool,
) -> list[PartitionColumn]:
    """Types from the catalog, else from the request, else inferred where that is safe."""
    declared = {name.lower(): kind for name, kind in request.partition_by or ()}
    known = _catalog_types(entry)
    distinct = set(listing.values)
    columns = []
    for place, name in enumerate(listing.columns):
        if set(name) & set(INVALID_NAME_CHARACTERS):
            raise PartitionLayoutError(
                f"[DELTA_INVALID_PARTITION_COLUMN_NAME] The partition column {name!r} has an "
                "invalid character, one of ' ,;{}()\\n\\t=': rename its folders."
            )
        wanted, catalog_type = declared.get(name.lower()), known.get(name.lower())
        if catalog_type is not None:
            if entry is not None and wanted is not None and wanted != catalog_type:
                raise _differs_from_catalog(entry, f"{name} {type_text(wanted)}")
            kind = catalog_type
        elif wanted is not None:
            kind = wanted
        else:
            texts = {values[place] for values in distinct}
            kind = infer_type(texts, zone=zone) if infers else "string"
        columns.append(PartitionColumn(name, kind))
    return columns


def stored_values(
    listing: Listing,
    partitions: Sequence[PartitionColumn],
    *,
    zone: str,
    ignores_cast_failures: bool,
) -> list[RawValues]:
    """The values as Delta keeps them, file by file; equal folders are worked out once."""
    known: dict[RawValues, RawValues] = {}
    for raw in sorted(set(listing.values), key=lambda values: [text or "" for text in values]):
        values = []
        for text, column in zip(raw, partitions, strict=True):
            try:
                value = stored_value(text, column.type_name, column=column.name, zone=zone)
            except PartitionLayoutError:
                if not ignores_cast_failures:
                    raise
                value = None
            values.append(value)
        known[raw] = tuple(values)
    return [known[raw] for raw in listing.values]


def _catalog_types(entry: CatalogEntry | None) -> dict[str, str]:
    if entry is None:
        return {}
    names = {name.lower() for name in entry.partition_columns}
    return {
        field["name"].lower(): field["type"]
        for field in entry.schema["fields"]
        if field["name"].lower() in names
    }


def _differs_from_catalog(entry: CatalogEntry, given: str) -> PartitionLayoutError:
    return PartitionLayoutError(
        "[DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER] CONVERT TO DELTA was called with a "
        f"partition schema different from the catalog's: given {given}, the catalog has "
        f"{', '.join(entry.partition_columns) or 'none'}: leave partition_by out."
    )
