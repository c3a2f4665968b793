"""What a server sends as columns becomes rows, nulls where its bits say so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.literal_rows import batches, rows_query
from dbt.adapters.delta_maint.core.murmur3 import murmur3, values_for_tasks
from dbt.adapters.delta_maint.environments.thrift_rows import ThriftColumn, rows_of
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("thrift")


class Sent:
    """One column as it comes: values with something in the place of nulls, and a bit for each null."""

    __slots__ = ("nulls", "stringVal", "values")

    def __init__(self, values: list[str | None]) -> None:
        bits = bytearray((len(values) + 7) // 8)
        for index, value in enumerate(values):
            if value is None:
                bits[index // 8] |= 1 << (index % 8)
        inside = SimpleNamespace(values=[value or "" for value in values], nulls=bytes(bits))
        self.stringVal: Any = inside
        self.values = self.nulls = None


@given(st.lists(st.none() | st.text(max_size=3), max_size=40))
def test_nulls_stay_where_they_are(values: list[str | None]) -> None:
    found = rows_of(SimpleNamespace(columns=[Sent(values)]), [ThriftColumn("c", 7)], None)
    assert [row[0] for row in found] == values


@given(st.lists(st.tuples(st.none() | st.text(max_size=20)), max_size=40), st.integers(1, 60))
def test_batches_are_all_rows_in_their_order(rows: list[tuple[str | None]], most: int) -> None:
    assert [row for batch in batches(rows, most) for row in batch] == rows


@given(st.text())
def test_nothing_in_a_literal_ends_it_or_is_substituted(text: str) -> None:
    query = rows_query([(text,)], ["c0"])
    literal = query.split("from_json('", 1)[1].rsplit("', 'array<array<string>>'", 1)[0]
    assert "$" not in literal
    assert "\n" not in literal
    assert "'" not in literal.replace("\\\\", "").replace("\\'", "")


@pytest.mark.parametrize("tasks", [1, 2, 7, 200, 1999])
def test_every_task_has_a_number_that_goes_there(tasks: int) -> None:
    values = values_for_tasks(tasks)
    assert [murmur3(value) % tasks for value in values] == list(range(tasks))
