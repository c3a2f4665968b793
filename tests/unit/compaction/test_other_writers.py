"""Whose partitions are left alone for a while, and whose are not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.compaction_policy import AvoidWriters, CompactionPolicy
from dbt.adapters.delta_maint.core.other_writers import commits_of_others, partitions_of_others
from dbt.adapters.delta_maint.core.replay import CHECKPOINT_TXN, read_head
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.sizes import MIB
from dbt.adapters.delta_maint.core.table import AddedFiles, Commit, DataFile

from tests.unit.compaction.test_decision import keys, snapshot

NOW = 1_000_000_000
STREAMS = CompactionPolicy()
ALL = replace(STREAMS, avoid_writers=AvoidWriters.ALL)
NONE = replace(STREAMS, avoid_writers=AvoidWriters.NONE)


def commit(operation: str = "MERGE", **facts: Any) -> Commit:
    known: dict[str, Any] = {"timestamp_ms": NOW - 5_000, "is_blind_append": False}
    return Commit(version=7, operation=operation, **{**known, **facts})


STREAM = commit(app_id="ingest")
CASES = [
    ("a stream that merges", STREAMS, STREAM, True),
    ("a stream in complete mode", STREAMS, commit("STREAMING UPDATE"), True),
    ("a stream that appends", STREAMS, commit("STREAMING UPDATE", is_blind_append=True), False),
    ("a stream of an hour ago", STREAMS, replace(STREAM, timestamp_ms=NOW - 3_600_000), False),
    ("anybody else, by default", STREAMS, commit("DELETE"), False),
    ("anybody else, when the policy says so", ALL, commit("DELETE"), True),
    ("an append of anybody", ALL, commit("WRITE", is_blind_append=True), False),
    (
        "an append of an engine that does not say so",
        ALL,
        commit("WRITE", is_blind_append=None, parameters={"mode": "Append"}),
        False,
    ),
    ("a delete of such an engine", ALL, commit("DELETE", is_blind_append=None), True),
    ("a compaction", ALL, commit("OPTIMIZE"), False),
    ("nobody, when the policy says so", NONE, STREAM, False),
    ("this run itself", ALL, commit(user_metadata="ours"), False),
]


@pytest.mark.parametrize(
    ("policy", "found", "is_avoided"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_who_is_avoided(policy: CompactionPolicy, found: Commit, is_avoided: bool) -> None:
    others = commits_of_others(
        [found], policy, is_ours=lambda c: c.user_metadata == "ours", now_ms=NOW
    )
    assert bool(others) is is_avoided


def decide(layout: Any, **asked: Any) -> CompactionPlan:
    table = snapshot(layout, added=(AddedFiles(7, ("a",), 1, MIB, True),), commits=(STREAM,))
    asked.setdefault("partitions_added_to", None)
    return prepare_auto_compact_request(
        table,
        STREAMS,
        table="`t`",
        reservations=Reservations(),
        busy_partitions=partitions_of_others(table, [STREAM], now_ms=NOW),
        **asked,
    )


def test_the_partition_of_a_stream_waits_and_the_others_do_not() -> None:
    layout = {"a": [MIB] * 9, "b": [MIB] * 9}
    plan = decide(layout)
    assert plan.reserved == keys("b")
    assert [skip.label for skip in plan.skipped] == ["p=a"]
    assert plan.skipped[0].reason == (
        "the stream ingest changed rows here 5 s ago (MERGE, version 7): left for the next time"
    )
    alone = decide(layout, partitions_added_to=keys("a"))
    assert alone.outcome is Outcome.OTHER_WRITERS
    assert decide(layout, force=True).reserved == keys("a", "b")


def test_a_touched_partition_is_found_in_either_notation_of_its_timestamp() -> None:
    from dbt.adapters.delta_maint.core.table import PartitionColumn

    utc, local = ("2026-01-01T10:00:00.000000Z",), ("2026-01-01 10:00:00",)
    table = replace(
        snapshot([]),
        partition_columns=(PartitionColumn("t", "t", "timestamp"),),
        files=[DataFile(MIB, utc)] * 5 + [DataFile(MIB, local)] * 5,
    )
    plan = prepare_auto_compact_request(
        table,
        STREAMS,
        table="`t`",
        partitions_added_to=frozenset({local}),
        reservations=Reservations(),
    )
    assert plan.input_files == 10


def test_a_checkpoint_tells_who_has_written_but_not_in_which_commit() -> None:
    info = {"commitInfo": {"timestamp": 1, "operation": "WRITE"}}
    meta = {"metaData": {"id": "t", "schemaString": '{"fields":[]}'}}
    txn = {"appId": "ingest", "version": 3}
    actions = [(5, info), (5, meta), (5, {CHECKPOINT_TXN: txn})]
    head = read_head([(version, json.dumps(action)) for version, action in actions])
    assert head.commits[5].app_id is None
    assert head.stream_writers["ingest"].version == 3
    head = read_head([(5, json.dumps({"txn": txn})), *((v, json.dumps(a)) for v, a in actions)])
    assert head.commits[5].app_id == "ingest"
