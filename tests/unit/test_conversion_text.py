"""What a person reads about a conversion."""

from __future__ import annotations

from dbt.adapters.delta_maint.core.conversion import (
    ColumnCoverage,
    ConversionPlan,
    RejectedFile,
)
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.report.conversion_text import conversion_lines

SCHEMA = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long"}, {"name": "day", "type": "date"}],
}
PLAN = ConversionPlan(
    target="raw.events",
    root="/data/events",
    log_root="/data/events",
    engine="footer",
    engine_reason="statistics from footers, files from the folder",
    files=1_200,
    bytes=3 * 1024**2,
    rows=70_000,
    distinct_schemas=2,
    schema=SCHEMA,
    partition_columns=(PartitionColumn("day", "date"),),
    partitions=30,
    coverage=(ColumnCoverage("id", "bigint", 1_199),),
    log_bytes=2048,
    min_reader_version=1,
    min_writer_version=2,
    warnings=("the files are small",),
    rejected=tuple(RejectedFile(f"{n}.txt", "not a parquet file") for n in range(25)),
    seconds={"listed": 0.5, "committed": 1.0},
)


def told(**changes: object) -> str:
    return "\n".join(conversion_lines(ConversionPlan(**{**PLAN.__dict__, **changes})))  # type: ignore[arg-type]


def test_a_dry_run_tells_everything_in_the_order_it_is_asked() -> None:
    text = told()
    for words in (
        "raw.events: would become a Delta table (1,200 files, 3 MiB, 70,000 rows); nothing was",
        "warning: the files are small",
        "partitions   30 by day date",
        "protocol     reader 1, writer 2",
        "min/max for 1,199 of 1,200 files",
        "left out: 25 file(s)",
        "and 5 more",
    ):
        assert words in text


def test_a_conversion_tells_its_time_and_what_it_left_out() -> None:
    text = told(outcome="converted", catalog_entry="raw.events")
    assert "raw.events: converted: 1,200 files, 3 MiB, 70,000 rows in 1.5 s" in text
    assert "catalog entry raw.events is Delta now" in text
    assert "min/max of 0 of 1 indexed columns in every file" in text


def test_what_is_delta_already_says_so_in_the_words_people_know() -> None:
    text = told(outcome="already_delta", warnings=())
    assert text == "raw.events: The table you are trying to convert is already a delta table"
