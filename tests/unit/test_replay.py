"""Which files of a log make up its newest version."""

from __future__ import annotations

import fnmatch

import pytest
from dbt.adapters.delta_maint.core.errors import LogError
from dbt.adapters.delta_maint.core.replay import (
    Checkpoint,
    choose_segment,
    complete_checkpoints,
    read_head,
    version_patterns,
)
from hypothesis import given
from hypothesis import strategies as st


def commit(version: int) -> str:
    return f"{version:020d}.json"


CASES = [
    ("only commits", [commit(0), commit(1)], 1, None, 0),
    ("checkpoint and commits", [*map(commit, range(4)), f"{2:020d}.checkpoint.parquet"], 3, 2, 3),
    ("checkpoint is newest", [*map(commit, range(3)), f"{2:020d}.checkpoint.parquet"], 2, 2, 3),
    ("old commits cleaned up", [commit(7), commit(8), f"{6:020d}.checkpoint.parquet"], 8, 6, 7),
    (
        "an incomplete multi-part checkpoint is no checkpoint",
        [*map(commit, range(3)), f"{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet"],
        2,
        None,
        0,
    ),
    ("a compacted log file is not a commit", [commit(0), f"{0:020d}.{0:020d}.compacted.json"], 0, None, 0),
    ("strangers are ignored", [commit(0), "_last_checkpoint", "x.json", ".tmp", f"{0:020d}.crc"], 0, None, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "version", "checkpoint", "first"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_least_to_read_for_the_newest_version(
    names: list[str], version: int, checkpoint: int | None, first: int
) -> None:
    segment = choose_segment(names, location="t")
    found = segment.checkpoint.version if segment.checkpoint else None
    assert (segment.version, found, segment.first_commit) == (version, checkpoint, first)


def test_every_form_of_checkpoint_is_known() -> None:
    names = [
        f"{1:020d}.checkpoint.parquet",
        f"{2:020d}.checkpoint.{2:010d}.{2:010d}.parquet",
        f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet",
        f"{3:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        f"{4:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet",
    ]
    assert complete_checkpoints(names) == [
        Checkpoint(1, (names[0],)),
        Checkpoint(2, (names[2], names[1])),
        Checkpoint(3, (names[3],), "json"),
        Checkpoint(4, (names[4],)),
    ]


@pytest.mark.parametrize("names", [[], [commit(0), commit(2)], [commit(1)]])
def test_a_log_that_is_not_whole_is_refused(names: list[str]) -> None:
    with pytest.raises(LogError):
        choose_segment(names, location="t")


@given(st.integers(0, 10**6), st.integers(0, 3000), st.integers(-5, 3005))
def test_patterns_match_exactly_their_range(first: int, count: int, offset: int) -> None:
    last = first + count
    candidate = max(0, first + offset)
    matches = [
        p for p in version_patterns(first, last) if fnmatch.fnmatchcase(commit(candidate), p)
    ]
    assert len(matches) == (1 if first <= candidate <= last else 0)
    assert len(version_patterns(first, last)) < 60


def test_of_every_action_the_newest_counts() -> None:
    head = read_head(
        [
            (3, '{"metaData": {"id": "x", "partitionColumns": ["p"], "configuration": {"a": "2"}, '
                '"schemaString": "{\\"fields\\": [{\\"name\\": \\"P\\", \\"type\\": \\"integer\\", '
                '\\"metadata\\": {\\"delta.columnMapping.physicalName\\": \\"col-1\\"}}]}"}}'),
            (1, '{"metaData": {"id": "x", "configuration": {"a": "1"}}}'),
            (0, '{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}'),
            (2, '{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}}'),
            (2, '{"domainMetadata": {"domain": "delta.clustering", "configuration": "{\\"clusteringColumns\\": [[\\"col-1\\"]]}"}}'),
            (2, '{"txn": {"appId": "s", "version": 4, "lastUpdated": 9}}'),
            (2, '{"cdc": {"path": "ignored"}}'),
        ]
    )  # fmt: skip
    assert head.properties == {"a": "2"}
    assert head.protocol.features == {"deletionVectors"}
    column = head.partition_columns[0]
    assert (column.name, column.physical_name, column.sql_type) == ("P", "col-1", "int")
    assert head.clustering_names() == ("P",)
    assert head.stream_writers["s"].version == 4


def test_a_table_that_gave_up_clustering_is_not_clustered() -> None:
    metadata = (0, '{"metaData": {"id": "x"}}')
    domain = '{"domainMetadata": {"domain": "delta.clustering", "configuration": "{\\"clusteringColumns\\": [[\\"a\\"]]}", "removed": %s}}'
    assert read_head([metadata, (1, domain % "false")]).clustering_columns == ("a",)
    assert (
        read_head([metadata, (1, domain % "false"), (2, domain % "true")]).clustering_columns == ()
    )
