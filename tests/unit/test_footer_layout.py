"""A footer read by the layout of another says what pyarrow says of it, or is left to pyarrow."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dbt.adapters.delta_maint.core import footer_layout, footer_stats
from dbt.adapters.delta_maint.core.footer_bytes import schema_end
from dbt.adapters.delta_maint.lake import footer_reader, footers
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)
VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "l": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "u": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "f": (pa.float32(), FLOATS),
    "d": (pa.float64(), FLOATS),
    "b": (pa.bool_(), st.booleans()),
    "s": (pa.string(), st.text(max_size=200)),
    "y": (pa.binary(), st.binary(max_size=200)),
    "x": (pa.binary(4), st.binary(min_size=4, max_size=4)),
    "n": (pa.decimal128(38, 2), st.integers(-(10**30), 10**30).map(lambda n: Decimal(n) / 100)),
    "t": (
        pa.timestamp("us", "UTC"),
        st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 1, 1)).map(
            lambda moment: moment.replace(tzinfo=dt.timezone.utc)
        ),
    ),
    "day": (pa.date32(), st.dates()),
    "a": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=3)),
    "o": (pa.struct([("k", pa.int32())]), st.fixed_dictionaries({"k": st.integers(0, 9)})),
}


def options() -> dict[str, Any]:
    return {**footers.reader_options({}, [], statistics=True, string_prefix=32), "threads": 1}


def written(table: pa.Table, **how: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, **how)
    return target.getvalue()


def footer(file: bytes) -> bytes:
    return file[-8 - int.from_bytes(file[-8:-4], "little") : -8]


def learned(whole: bytes, wanted: list[int]) -> footer_layout.Layout:
    layout = footer_layout.begin(whole, wanted)
    assert layout is not None
    trial = layout.try_on(whole)
    assert trial is not None
    layout.adopt(trial)
    return layout


def read(files: list[bytes]) -> list[Any]:
    def tail(file: bytes, count: int) -> bytes:
        return file[-count:]

    schemas, rows = footer_reader.read_footers(list(enumerate(files)), options(), tail)
    return [
        (row[1], row[2], schemas[row[3]][0] if row[5] is None else "", *row[4:]) for row in rows
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_files_of_one_writer_read_together_say_what_each_says_alone(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=8))
    how = {
        "use_dictionary": data.draw(st.booleans()),
        "compression": data.draw(st.sampled_from(["snappy", "none", "zstd"])),
        "write_statistics": data.draw(st.sampled_from([True, True, True, False])),
    }
    files = []
    for _ in range(data.draw(st.integers(2, 4))):
        rows = data.draw(st.integers(0, 6))
        columns = {}
        for place, kind in enumerate(kinds):
            type_, values = VALUES[kind]
            drawn = data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
            columns[f"{kind}.{place}"] = pa.array(drawn, type_)
        files.append(written(pa.table(columns), **how))
    assert read(files) == [read([file])[0] for file in files]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_footer_gives_what_pyarrow_makes_of_it_or_no_answer(data: st.DataObject) -> None:
    table = pa.table({"id": [1, 700], "s": ["a", None], "d": [0.5, 2.5], "y": [b"x", b"yz"]})
    whole = footer(written(table))
    layout = learned(whole, [0, 1, 2])
    # Nobody looks at what is behind the last wanted column.
    behind = whole.index(b"\x18\x01y", schema_end(whole) or 0) - 20
    place = data.draw(st.integers(schema_end(whole) or 0, behind))
    damaged = bytearray(whole)
    damaged[place] = data.draw(st.integers(0, 255))
    found = layout.read(bytes(damaged))
    if found is None:
        return
    file = bytes(damaged) + len(damaged).to_bytes(4, "little") + b"PAR1"
    try:
        metadata = footer_reader.footer_of(pa.BufferReader(b"PAR1" + file))
        columns = footer_stats.leaf_columns(metadata.schema)
        expected = footer_stats.footer_leaves(metadata, columns, [0, 1, 2])
    except Exception:
        return
    if metadata.row_group(0).num_rows == 0:
        return
    writer = footer_stats.writer_of(metadata.created_by, metadata.metadata or {})
    assert found[0] == metadata.num_rows
    assert footer_stats.facts_leaves(found[1], columns, [0, 1, 2], writer) == expected


def test_pyarrow_is_asked_once_for_files_that_are_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(16):
        table = pa.table({"id": [number, 10**number], "s": ["a" * number, None]})
        pq.write_table(table, tmp_path / f"{number:02}.parquet")
    asked: list[Any] = []
    open_footer = footer_reader.footer_of
    monkeypatch.setattr(
        footer_reader, "footer_of", lambda source: (asked.append(1), open_footer(source))[1]
    )
    paths = [(n, str(path)) for n, path in enumerate(sorted(tmp_path.iterdir()))]
    _, rows = footer_reader.read_footers(paths, options())
    assert len(asked) == 1
    assert rows[13][4] == [
        ("long", 0, "13", str(10**13)),
        ("string", 1, *['"' + "a" * 13 + '"'] * 2),
    ]


@pytest.mark.parametrize(
    ("other", "how"),
    [
        (pa.table({"id": [1, 2, 3]}), {"row_group_size": 1}),
        (pa.table({"id": pa.array([], pa.int64())}), {}),
        (pa.table({"id": [1]}).replace_schema_metadata({"written": "elsewhere"}), {}),
        (pa.table({"id": pa.array([1], pa.int32())}), {}),
        (pa.table({"id": [1], "more": [2]}), {}),
    ],
    ids=["more row groups", "no rows", "other pairs", "another type", "another column"],
)
def test_a_footer_that_is_not_alike_has_no_answer(other: pa.Table, how: dict[str, Any]) -> None:
    layout = learned(footer(written(pa.table({"id": [5, 6]}))), [0])
    assert layout.read(footer(written(pa.table({"id": [7, 8]})))) == (2, [(0, 7, 8)])
    assert layout.read(footer(written(other, **how))) is None


@pytest.mark.parametrize("cut", [0, 1, 3, 20, 60])
def test_bytes_that_are_no_footer_teach_nothing(cut: int) -> None:
    whole = footer(written(pa.table({"id": [5, 6]})))
    assert footer_layout.begin(whole[:cut], [0]) is None
    assert footer_layout.begin(b"\xff" * cut, [0]) is None


def test_a_column_that_is_not_wanted_is_not_looked_at() -> None:
    table = pa.table({f"c{n}": [n, None] for n in range(5)})
    layout = learned(footer(written(table)), [1, 3])
    assert layout.read(footer(written(table))) == (2, [(1, 1, 1), (1, 3, 3)])


def test_chunks_laid_out_in_another_way_are_learned_when_pyarrow_agrees() -> None:
    files = [
        written(pa.table({"s": pa.array(texts, pa.string()), "n": range(len(texts))}))
        for texts in (["a", "b"], [None, None], ["c", None], [None, None, None])
    ]
    assert read(files) == [read([file])[0] for file in files]
    layout = learned(footer(files[0]), [0, 1])
    assert layout.read(footer(files[1])) is None
    trial = layout.try_on(footer(files[1]))
    assert trial is not None
    layout.adopt(trial)
    assert layout.read(footer(files[3])) == (3, [(3, None, None), (0, 0, 2)])


def test_a_row_group_of_another_type_than_the_schema_is_a_bad_file() -> None:
    """pyarrow ends the process when it is asked for the statistics of such a chunk."""
    whole = written(pa.table({"id": [1, 700]}))
    size = len(footer(whole)) + 8
    start = len(whole) - size + (schema_end(footer(whole)) or 0)
    place = whole.index(b"\x15\x04\x19", start)  # field 1 of the chunk: its type, INT64
    damaged = whole[:place] + b"\x15\x02\x19" + whole[place + 3 :]
    ((_, _, _, _, error),) = read([damaged])
    assert "column 1 is INT64 in its schema and INT32 in a row group" in error
