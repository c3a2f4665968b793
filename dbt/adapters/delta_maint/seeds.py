"""Seeds: text in a CSV file -> typed rows, exactly.

Every value travels as text and is cast by Spark to the type of its column, so nothing passes through a
binary float on the way. A value that the type cannot hold is an error that names it: nothing becomes
NULL silently.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.errors import SeedValueError
from dbt.adapters.delta_maint.core.literal_rows import batches, rows_query
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.lake.arrow_frame import frame_of_arrow
from dbt.adapters.delta_maint.lake.sql_runner import SessionSql, SqlConnection

if TYPE_CHECKING:
    import agate
    from pyspark.sql import SparkSession

LARGEST_BIGINT = 2**63 - 1
EXACT_DOUBLE_DIGITS = 15
MAX_DECIMAL_DIGITS = 38


def column_type(agate_table: agate.Table, index: int) -> str:
    """The narrowest of bigint, double and decimal that holds every number of a column exactly."""
    values = [
        Decimal(value)
        for value in agate_table.columns[index].values_distinct()
        if value is not None
    ]
    scale = max((_scale(value) for value in values), default=0)
    if scale == 0:
        fits = all(abs(value) <= LARGEST_BIGINT for value in values)
        return "bigint" if fits else f"decimal({MAX_DECIMAL_DIGITS},0)"
    if all(_digits(value) <= EXACT_DOUBLE_DIGITS for value in values):
        return "double"
    return f"decimal({MAX_DECIMAL_DIGITS},{scale})" if scale <= MAX_DECIMAL_DIGITS else "double"


def seed_rows(agate_table: agate.Table) -> tuple[list[str], list[tuple[str | None, ...]]]:
    rows = [tuple(_text(value) for value in row.values()) for row in agate_table.rows]
    return list(agate_table.column_names), rows


def seed_select(
    spark: SparkSession,
    names: Sequence[str],
    rows: Sequence[tuple[str | None, ...]],
    types: Mapping[str, str],
    *,
    view_name: str,
) -> str:
    """Registers the rows as a temporary view of text and returns the query that types them."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    table = pa.table(
        {
            position: pa.array(column, pa.string())
            for position, column in zip(_positions(names), columns, strict=True)
        }
    )
    frame_of_arrow(spark, table).createOrReplaceTempView(view_name)
    return _typed(SessionSql(spark), names, types, view_name)


def literal_seed_select(
    sql: SqlConnection,
    names: Sequence[str],
    rows: Sequence[tuple[str | None, ...]],
    types: Mapping[str, str],
    *,
    view_name: str,
) -> str:
    """The same where only SQL travels: a view for every batch of literals, and one over them all.

    The table is still written by one statement: a seed that fails half-way leaves the table as it was.
    """
    positions = _positions(names)
    queries = [rows_query(batch, positions) for batch in batches(rows)]
    if len(queries) > 1:
        views = [f"{view_name}_{number}" for number in range(len(queries))]
        for view, query in zip(views, queries, strict=True):
            sql.run(f"create or replace temporary view {identifier(view)} as {query}")
        queries = [f"select * from {identifier(view)}" for view in views]
    together = " union all ".join(queries)
    sql.run(f"create or replace temporary view {identifier(view_name)} as {together}")
    return _typed(sql, names, types, view_name)


def _positions(names: Sequence[str]) -> list[str]:
    return [f"c{index}" for index in range(len(names))]


def _typed(
    sql: SqlConnection, names: Sequence[str], types: Mapping[str, str], view_name: str
) -> str:
    positions = _positions(names)
    _refuse_values_that_do_not_fit(sql, names, positions, types, view_name)
    casts = ", ".join(
        f"cast({position} as {types[name]}) as {identifier(name)}"
        for name, position in zip(names, positions, strict=True)
    )
    return f"select {casts} from {identifier(view_name)}"


def _refuse_values_that_do_not_fit(
    sql: SqlConnection,
    names: Sequence[str],
    positions: Sequence[str],
    types: Mapping[str, str],
    view_name: str,
) -> None:
    checked = [
        (name, position)
        for name, position in zip(names, positions, strict=True)
        if types[name].lower() not in ("string", "text")
    ]
    if not checked:
        return
    wanted = ", ".join(
        f"min(case when try_cast({position} as {types[name]}) is null then {position} end)"
        for name, position in checked
    )
    (offenders,) = sql.rows(f"select {wanted} from {identifier(view_name)}")
    for (name, _), value in zip(checked, offenders, strict=True):
        if value is not None:
            raise SeedValueError(
                f"The seed column {name} has the value {string_literal(value)}, which is not a "
                f"{types[name]}: correct the file, or set another type in `column_types`."
            )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value)


def _scale(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _digits(value: Decimal) -> int:
    return len(value.normalize().as_tuple().digits)
