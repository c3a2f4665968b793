"""The rule of the log, line by line: the last action for a path and its deletion vector wins."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.delta_maint.core.live_files import (
    added_files,
    data_files,
    live_adds,
    num_records,
)
from dbt.adapters.delta_maint.core.table import AddedFiles, PartitionColumn

VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "cardinality": 3}
A: dict[str, Any] = {"path": "a", "size": 1}
B: dict[str, Any] = {"path": "b", "size": 2}
A_WITH_VECTOR = {**A, "deletionVector": VECTOR}
DAY = PartitionColumn("day", "col-1", "date")


@pytest.mark.parametrize(
    ("checkpoint", "commits", "live"),
    [
        ([], [], []),
        ([A, B], [], [A, B]),
        ([A], [{"remove": {"path": "a"}}], []),
        ([A], [{"remove": {"path": "a"}}, {"add": A}], [A]),
        ([A], [{"remove": {"path": "a"}}, {"add": A_WITH_VECTOR}], [A_WITH_VECTOR]),
        ([A_WITH_VECTOR], [{"remove": A_WITH_VECTOR}, {"add": A}], [A]),
        ([A_WITH_VECTOR], [{"remove": {"path": "a"}}], [A_WITH_VECTOR]),
        ([A], [{"add": {**A, "size": 9}}], [{**A, "size": 9}]),
        ([A], [{"commitInfo": {}}, {"add": B}], [A, B]),
        ([A], [{"remove": {"path": "never seen"}}], [A]),
    ],
)
def test_what_is_live(checkpoint: list[Any], commits: list[Any], live: list[Any]) -> None:
    assert live_adds(checkpoint, commits) == live


@pytest.mark.parametrize(
    ("add", "rows"),
    [
        ({}, None),
        ({"stats": None}, None),
        ({"stats": "{}"}, None),
        ({"stats": '{"numRecords":7}'}, 7),
        ({"stats": "not json"}, None),
        ({"stats": "[]"}, None),
        ({"stats_parsed": {"numRecords": 5}}, 5),
        ({"stats": '{"numRecords":0}', "stats_parsed": {"numRecords": 5}}, 0),
    ],
)
def test_rows_of_a_file(add: dict[str, Any], rows: int | None) -> None:
    assert num_records(add) == rows


def test_a_file_is_told_by_the_physical_names_of_its_partition_and_empty_is_null() -> None:
    adds = [
        {**A_WITH_VECTOR, "partitionValues": {"col-1": "2026-01-01"}, "tags": {"ZCUBE_ID": "z"}},
        {**B, "partitionValues": {"col-1": ""}},
    ]
    first, second = data_files(adds, [DAY], with_paths=True)
    assert (first.partition, first.deleted_rows, first.deletion_vector_id) == (
        ("2026-01-01",),
        3,
        "ux@1",
    )
    assert (first.zcube_id, first.has_deletion_vector) == ("z", True)
    assert (second.partition, second.has_deletion_vector, second.path) == ((None,), False, "b")
    assert next(data_files(adds, [DAY], with_paths=False)).path is None


def test_added_files_are_counted_by_commit_partition_and_kind() -> None:
    one = {**A, "partitionValues": {"col-1": "x"}}
    actions = [
        (4, {"add": one}),
        (4, {"add": {**one, "size": 5, "dataChange": True}}),
        (4, {"remove": {"path": "b"}}),
        (5, {"add": {**one, "dataChange": False}}),
    ]
    assert added_files(actions, [DAY]) == [
        AddedFiles(4, ("x",), 2, 6, True),
        AddedFiles(5, ("x",), 1, 1, False),
    ]
