"""Random schemas and rows through both rewriters: equal tables, and statistics that are true of them."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from dbt.adapters.delta_maint.core.sql_text import identifier
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functional.compaction.small_table import SmallTable

EXAMPLES = 60 if os.environ.get("DELTA_MAINT_TEST_ALL") else 6
UTC = dt.timezone.utc

LEAVES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "byte": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(max_size=50)),
    "bytes": (pa.binary(), st.binary(max_size=8)),
    "day": (pa.date32(), st.dates()),
    # Other readers hold INT96, which Spark writes, as nanoseconds: 1677 to 2262.
    "at": (
        pa.timestamp("us", "UTC"),
        st.datetimes(dt.datetime(1678, 1, 1), dt.datetime(2262, 1, 1), timezones=st.just(UTC)),
    ),
    "d5": (pa.decimal128(5, 2), st.decimals(-999, 999, places=2)),
    "d38": (pa.decimal128(38, 6), st.decimals(-(10**20), 10**20, places=6)),
}  # fmt: skip


@st.composite
def a_type(draw: Any, depth: int = 0) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kind, values = LEAVES[draw(st.sampled_from(sorted(LEAVES)))]
    shape = (
        draw(st.sampled_from(["leaf", "leaf", "list", "struct", "map"])) if depth < 2 else "leaf"
    )
    if shape == "list":
        inner, values = draw(a_type(depth + 1))
        return pa.list_(inner), st.lists(st.none() | values, max_size=3)
    if shape == "struct":
        inner, values = draw(a_type(depth + 1))
        fields = [("x", inner), ("yz", kind)]
        own = LEAVES[next(n for n, (k, _) in LEAVES.items() if k == kind)][1]
        made = st.fixed_dictionaries({"x": st.none() | values, "yz": st.none() | own})
        return pa.struct(fields), made
    if shape == "map":
        inner, values = draw(a_type(depth + 1))
        pairs = st.dictionaries(st.text(max_size=3), st.none() | values, max_size=2)
        return pa.map_(pa.string(), inner), pairs.map(lambda found: list(found.items()))
    return kind, values


@st.composite
def tables(draw: Any) -> list[pa.Table]:
    """Two to four files' worth of rows of one random schema."""
    kinds = draw(st.lists(a_type(), min_size=1, max_size=5))
    schema = pa.schema(
        [("id", pa.int64()), *((f"c{n}", kind) for n, (kind, _) in enumerate(kinds))]
    )
    found, start = [], 0
    for _ in range(draw(st.integers(2, 4))):
        count = draw(st.integers(1, 8))
        columns: list[Any] = [range(start, start + count)]
        columns += [
            draw(st.lists(st.none() | values, min_size=count, max_size=count))
            for _, values in kinds
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        found.append(pa.table(arrays, schema=schema))
        start += count
    return found


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
@given(files=tables())
def test_both_rewriters_make_the_same_table_and_true_statistics(
    spark: Any, tmp_path_factory: Any, files: list[pa.Table]
) -> None:
    folder: Path = tmp_path_factory.mktemp("random")
    for file in files:
        deltalake.write_deltalake(str(folder / "arrow"), file, mode="append")
    shutil.copytree(folder / "arrow", folder / "delta")
    wanted = repr(pa.concat_tables(files).to_pylist())
    rows = {}
    for engine in ("arrow", "delta"):
        path = folder / engine
        table = SmallTable(spark.newSession(), f"delta.{identifier(str(path))}", engine)
        result = table.compact(verifies_rows=True)
        assert (result.errors, result.notes, table.files()) == ([], (), {(): 1})
        rows[engine] = str(table.run("select * from {t} order by id"))
        read = deltalake.DeltaTable(str(path)).to_pyarrow_table().sort_by("id")
        assert repr(read.cast(files[0].schema).to_pylist()) == wanted
    assert rows["arrow"] == rows["delta"]
    newest = max((folder / "arrow" / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    stats = json.loads(
        next(line["add"]["stats"] for line in lines if "add" in line), parse_float=decimal.Decimal
    )
    everything = pa.concat_tables(files)
    assert stats["numRecords"] == everything.num_rows
    for name in everything.column_names:
        values = everything[name].to_pylist()
        is_single = everything.schema.field(name).type == pa.float32()
        refuse_untrue_bounds(name, values, stats, is_single=is_single)


def refuse_untrue_bounds(
    name: str, values: list[Any], stats: dict[str, Any], *, is_single: bool
) -> None:
    nulls = stats["nullCount"].get(name)
    if isinstance(nulls, int):
        assert nulls == sum(value is None for value in values)
    low, high = stats.get("minValues", {}).get(name), stats.get("maxValues", {}).get(name)
    present = [value for value in values if value is not None]
    for bound, is_low in ((low, True), (high, False)):
        if bound is None or isinstance(bound, dict):
            continue
        if is_single:  # the shortest text of a float, which only a float reads as the same number
            bound = pa.scalar(float(bound), pa.float32()).as_py()
        for value in present:
            assert holds(value, bound, is_low=is_low), (name, value, bound, is_low)


def holds(value: Any, bound: Any, *, is_low: bool) -> bool:
    """NaN is above everything for Spark; bounds of timestamps are cut to milliseconds."""
    if isinstance(value, dt.datetime):
        limit: Any = dt.datetime.fromisoformat(bound.replace("Z", "+00:00"))
        if not is_low:
            limit = limit + dt.timedelta(milliseconds=1) if limit.year < 9999 else value
    elif isinstance(value, dt.date):
        limit = dt.date.fromisoformat(bound)
    elif isinstance(value, str):
        value, limit = value.encode(), bound.encode()
    elif isinstance(value, float):
        if math.isnan(value):
            return is_low
        limit = float(bound)
    else:
        limit = bound
    return bool(limit <= value if is_low else value <= limit)
