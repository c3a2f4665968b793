"""What a person should know about a plan before it is carried out, or right after."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbt.adapters.delta_maint.core import delta_stats
from dbt.adapters.delta_maint.core.conversion import (
    LARGE_LOG_BYTES,
    MANY_FILES,
    TINY_FILE_BYTES,
    ConversionPlan,
)
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.lake.conversion_listing import Listing
from dbt.adapters.delta_maint.lake.file_access import TableFiles

_EMPTY_VALUE = re.compile(r"(?:^|/)[^/=]+=/")


def advice(plan: ConversionPlan, listing: Listing, files: TableFiles) -> Iterator[str]:
    mean_bytes = plan.bytes / plan.files
    if plan.files >= MANY_FILES and mean_bytes < TINY_FILE_BYTES:
        yield (
            f"the files are small ({format_bytes(mean_bytes)} on average): compact the table "
            "after converting it"
        )
    if plan.log_bytes > LARGE_LOG_BYTES:
        yield (
            f"the log takes {format_bytes(plan.log_bytes)}: a smaller "
            f"{delta_stats.NUM_INDEXED_PROPERTY} in properties makes it smaller"
        )
    if any("=/" in entry.path and _EMPTY_VALUE.search(entry.path) for entry in listing.files):
        yield "a partition folder without a value (`name=`) is read as null"
    if inner := files.tables_inside():
        yield (
            f"{len(inner):,} folder(s) inside are Delta tables of their own ({inner[0]}): all "
            "their files were taken, those they have deleted too"
        )
    if around := files.table_around():
        yield (
            f"the folder lies inside the Delta table {around}, whose VACUUM may delete its files"
        )
    if listing.outside:
        yield (
            f"{len(listing.outside):,} partition(s) lie outside of the table's folder and are "
            "named by absolute path: VACUUM does not clean them"
        )
