"""The decision, step by step, in the order of Delta's AutoCompactUtils.

Delta's own behaviour rests on counters of one JVM; ours on the snapshot. Cases that assert the counters
in Delta's suite appear here as what ours does instead, marked `differs`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core import compaction
from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
from dbt.adapters.delta_maint.core.compaction_plan import Action, CompactionPlan, Outcome
from dbt.adapters.delta_maint.core.compaction_policy import (
    Budget,
    Clustered,
    CompactionPolicy,
    PolicyKind,
)
from dbt.adapters.delta_maint.core.output_ratio import learnt_output_ratio, recent_merges
from dbt.adapters.delta_maint.core.reservation import Reservations
from dbt.adapters.delta_maint.core.run_trace import (
    RunTrace,
    is_qualified_for_auto_compact,
    partitions_added_to,
)
from dbt.adapters.delta_maint.core.sizes import GIB, MIB
from dbt.adapters.delta_maint.core.table import (
    AddedFiles,
    Commit,
    DataFile,
    PartitionColumn,
    PartitionKey,
    Protocol,
    Snapshot,
)

P = PartitionColumn("p", "p", "int")
COUNT = CompactionPolicy(kind=PolicyKind.COUNT, min_num_files=30)
BINS = CompactionPolicy()


def snapshot(layout: dict[str, list[int]] | list[int], **facts: Any) -> Snapshot:
    """Sizes of files, by partition or of a table without partitions; `facts` override the rest."""
    if isinstance(layout, list):
        data = [DataFile(size) for size in layout]
        columns: tuple[PartitionColumn, ...] = ()
    else:
        data = [DataFile(size, (key,)) for key, sizes in layout.items() for size in sizes]
        columns = (P,)
    known: dict[str, Any] = {
        "version": 5,
        "location": "/t",
        "table_id": "id",
        "protocol": Protocol(),
        "partition_columns": columns,
        "properties": {},
        "schema_json": "{}",
        "clustering_columns": (),
        "files": data,
    }
    return Snapshot(**{**known, **facts})


def decide(table: Snapshot, policy: CompactionPolicy = BINS, **asked: Any) -> CompactionPlan:
    asked.setdefault("partitions_added_to", None)
    asked.setdefault("reservations", Reservations())
    return prepare_auto_compact_request(table, policy, table="`t`", **asked)


def keys(*names: str) -> frozenset[PartitionKey]:
    return frozenset((name,) for name in names)


# -- qualified -------------------------------------------------------------------------------------

BLIND, NOT_BLIND = (Commit(1, 0, "WRITE", is_blind_append=blind) for blind in (True, False))
ONLY_OTHERS = replace(BINS, non_blind_append=True)
QUALIFIED = [
    ("nothing was committed", BINS, [], False),
    ("blind appends count by default", BINS, [BLIND], True),
    ("blind appends do not count when the policy says so", ONLY_OTHERS, [BLIND], False),
    ("other commits do", ONLY_OTHERS, [NOT_BLIND], True),
    ("one of them is enough", ONLY_OTHERS, [BLIND, NOT_BLIND], True),
    (
        "the whole table: always",
        replace(ONLY_OTHERS, modified_partitions_only=False),
        [BLIND],
        True,
    ),
]


@pytest.mark.parametrize(
    ("policy", "commits", "expected"), [c[1:] for c in QUALIFIED], ids=[c[0] for c in QUALIFIED]
)
def test_a_run_is_qualified(
    policy: CompactionPolicy, commits: list[Commit], expected: bool
) -> None:
    assert is_qualified_for_auto_compact(policy, commits) is expected


# -- the partitions of a run -----------------------------------------------------------------------


def added(version: int, key: str, data_change: bool = True) -> AddedFiles:
    return AddedFiles(version, (key,), 1, 10, data_change)


def commit(version: int, mark: str | None = None) -> Commit:
    return Commit(version, timestamp_ms=version * 10, operation="WRITE", user_metadata=mark)


def test_touched_are_the_partitions_of_marked_commits_whoever_wrote_between() -> None:
    table = snapshot(
        {"1": [1]},
        commits=(commit(3), commit(4, "ours"), commit(5), commit(6, "ours")),
        added=(added(4, "a"), added(5, "b"), added(6, "c"), added(6, "d", data_change=False)),
    )
    trace = RunTrace(lambda c: c.user_metadata == "ours", started_ms=0)
    touched, commits, written = partitions_added_to(table, trace)
    assert touched == keys("a", "c")
    assert [c.version for c in commits or ()] == [4, 6]
    assert written == 20
    assert trace.version_before(table.commits) == 3


def test_without_marks_the_commits_since_the_node_started_count() -> None:
    table = snapshot({"1": [1]}, commits=(commit(3), commit(4), commit(5)), added=(added(5, "b"),))
    touched, _, _ = partitions_added_to(table, RunTrace(lambda c: False, started_ms=45))
    assert touched == keys("b")


@pytest.mark.parametrize("started_ms", [None, 0])
def test_where_the_run_cannot_be_told_every_partition_counts(started_ms: int | None) -> None:
    table = snapshot({"1": [1]}, commits=(commit(3), commit(4)))
    assert partitions_added_to(table, RunTrace(lambda c: False, started_ms))[0] is None


# -- free ------------------------------------------------------------------------------------------


def test_nothing_added_is_an_outcome_of_its_own() -> None:
    plan = decide(snapshot({"1": [1] * 99}), partitions_added_to=frozenset())
    assert plan.outcome is Outcome.EMPTY_INGESTION


def test_reserved_partitions_are_left_to_the_other_thread() -> None:
    reservations = Reservations()
    table = snapshot({"1": [1] * 9, "2": [1] * 9})
    assert reservations.reserve("id", keys("1")) == keys("1")
    plan = decide(table, reservations=reservations)
    assert plan.reserved == keys("2")
    again = decide(table, reservations=reservations)
    assert again.outcome is Outcome.ALL_RESERVED
    reservations.release("id", keys("1", "2"))
    assert decide(table, reservations=reservations).reserved == keys("1", "2")


def test_reservation_can_be_switched_off() -> None:
    reservations = Reservations()
    reservations.reserve("id", keys("1"))
    plan = decide(
        snapshot({"1": [1] * 9}), replace(BINS, reserve_partitions=False), reservations=reservations
    )
    assert plan.runs
    # What it did not reserve is not its own to give back.
    reservations.release("id", plan.reserved)
    assert reservations.filter_free_partitions("id", keys("1")) == frozenset()


class TakenBetween(Reservations):
    """Another thread takes partitions after ours has found them free."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._names = names

    def filter_free_partitions(
        self, table_id: str, partitions: Iterable[PartitionKey]
    ) -> frozenset[PartitionKey]:
        free = super().filter_free_partitions(table_id, partitions)
        super().reserve(table_id, keys(*self._names))
        return free


def test_of_the_chosen_partitions_those_are_dropped_that_were_reserved_meanwhile() -> None:
    table = snapshot({"1": [1] * 9, "2": [1] * 9})
    some = decide(table, reservations=TakenBetween("1"))
    assert some.reserved == keys("2")
    assert some.chunks[0].partitions == (("2",),)
    assert decide(table, reservations=TakenBetween("1", "2")).outcome is Outcome.ALL_RESERVED


def test_two_threads_that_reserve_at_once_get_disjoint_partitions() -> None:
    reservations, start = Reservations(), threading.Barrier(2)
    got: list[frozenset[PartitionKey]] = []

    def reserve() -> None:
        start.wait(10)
        got.append(reservations.reserve("id", keys("1", "2", "3")))

    threads = [threading.Thread(target=reserve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(map(len, got)) == [0, 3]


def test_a_look_at_the_whole_table_reserves_too() -> None:
    """Differs: Delta reserves only with modifiedPartitionsOnly."""
    policy = replace(BINS, modified_partitions_only=False)
    assert decide(snapshot({"1": [1] * 9}), policy).reserved == keys("1")


def test_nothing_stays_reserved_when_building_the_request_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        raise RuntimeError("no predicate")

    monkeypatch.setattr(compaction, "make_chunks", fail)
    reservations = Reservations()
    with pytest.raises(RuntimeError):
        decide(snapshot({"1": [1] * 9}), reservations=reservations)
    assert reservations.filter_free_partitions("id", keys("1")) == keys("1")


# -- chosen by small files -------------------------------------------------------------------------


def test_delta_suite_thirty_files_in_three_partitions() -> None:
    """minNumFiles 30: +1, +10, +20 files in each of three partitions. Differs: Delta runs at once on the
    first file of a JVM (with nothing to merge) and counts from there; ours counts the live files."""
    for count, outcome in (
        (1, Outcome.INSUFFICIENT_FILES),
        (11, Outcome.INSUFFICIENT_FILES),
        (29, Outcome.INSUFFICIENT_FILES),
        (30, Outcome.RUN_ON_MODIFIED_PARTITIONS),
        (93, Outcome.RUN_ON_MODIFIED_PARTITIONS),
    ):
        table = snapshot({key: [100] * count for key in "123"})
        plan = decide(table, COUNT, partitions_added_to=keys("1", "2", "3"))
        assert plan.outcome is outcome, count
    assert (plan.input_files, plan.output_files, len(plan.chosen)) == (279, 3, 3)


def test_old_files_and_those_of_other_writers_count() -> None:
    """Differs: Delta's counters know only what this JVM has seen."""
    assert decide(snapshot([100] * 50), CompactionPolicy(kind=PolicyKind.COUNT)).runs


def test_large_files_are_never_counted_as_small() -> None:
    """Differs: without minFileSize Delta's counter counts every file, compacted ones too."""
    table = snapshot([128 * MIB] * 60)
    assert (
        decide(table, CompactionPolicy(kind=PolicyKind.COUNT)).outcome is Outcome.INSUFFICIENT_FILES
    )


def test_min_num_files_zero_merges_whatever_can_be() -> None:
    policy = CompactionPolicy(kind=PolicyKind.COUNT, min_num_files=0)
    assert decide(snapshot([10, 10]), policy).runs
    assert not decide(snapshot([10]), policy).runs


def test_one_busy_partition_does_not_take_the_others_along() -> None:
    """Differs: without modifiedPartitionsOnly Delta runs on the whole table as soon as one partition has
    enough files."""
    policy = replace(COUNT, modified_partitions_only=False)
    plan = decide(snapshot({"1": [100] * 30, "2": [100] * 29}), policy)
    assert plan.outcome is Outcome.RUN_ON_ALL_PARTITIONS
    assert plan.reserved == keys("1")


def test_an_empty_table_is_nothing_to_compact() -> None:
    plan = decide(snapshot([]), COUNT)
    assert plan.sentence() == "skipped: the table has no files"


def test_modified_partitions_only_leaves_the_others_alone() -> None:
    table = snapshot({"1": [1] * 9, "2": [1] * 9})
    assert decide(table, partitions_added_to=keys("2")).reserved == keys("2")
    assert decide(table).outcome is Outcome.RUN_ON_ALL_PARTITIONS


@pytest.mark.parametrize("large", ["1", "12", "13", "25", "135", "12345"])
def test_partitions_with_one_large_file_are_not_touched(large: str) -> None:
    """Among five partitions, the large ones at the start, between, and at the end."""
    layout = {key: [200 * MIB] if key in large else [1] * 9 for key in "12345"}
    plan = decide(snapshot(layout))
    assert plan.reserved == keys(*(key for key in "12345" if key not in large))
    assert {skip.label: skip.reason for skip in plan.skipped} == {
        f"p={key}": "no small files" for key in large
    }


def test_eager_takes_the_fewest_files_and_force_does_too() -> None:
    table = snapshot([10, 20, 40 * MIB])
    assert not decide(table).runs
    assert decide(table, CompactionPolicy(kind=PolicyKind.EAGER)).input_files == 3
    assert decide(table, force=True).input_files == 3


def test_the_reason_for_skipping_carries_its_numbers() -> None:
    plan = decide(snapshot([MIB, MIB, 2 * MIB]))
    assert plan.sentence() == "skipped: 3 small files, 4 MiB: fewer than 8 inputs and below 96 MiB"
    plan = decide(snapshot([MIB] * 8 + [40 * MIB]))
    assert plan.chosen[0].input_files == 8


def test_a_file_of_96_mib_is_not_rewritten_because_an_adaptive_target_grew() -> None:
    files = [100 * MIB] * 10_500
    assert decide(snapshot(files)).target_bytes == 512 * MIB
    assert not decide(snapshot(files)).runs
    assert decide(snapshot(files), replace(BINS, target_bytes=512 * MIB)).runs


def test_the_ratio_is_learnt_from_the_tables_own_history() -> None:
    merge = Commit(3, 0, "OPTIMIZE", metrics={"numRemovedBytes": "1000", "numAddedBytes": "700"})

    def learnt(*commits: Commit) -> float:
        return learnt_output_ratio(recent_merges(commits))

    assert (learnt(merge), learnt()) == (0.7, 1.0)
    assert learnt(replace(merge, metrics={"numRemovedBytes": "1000", "numAddedBytes": "1"})) == 0.5
    assert learnt(replace(merge, operation="WRITE")) == 1.0
    files = [40 * MIB] * 3
    assert decide(snapshot(files)).runs
    assert not decide(snapshot(files, commits=(merge,))).runs


# -- chosen by deletion vectors --------------------------------------------------------------------


def with_vectors(*deleted: int, size: int = 200 * MIB) -> Snapshot:
    files = [
        DataFile(size, num_records=100, deleted_rows=rows, has_deletion_vector=rows > 0)
        for rows in deleted
    ]
    return snapshot([], files=files)


def test_a_lone_file_with_many_deleted_rows_is_purged() -> None:
    plan = decide(with_vectors(50))
    assert [(work.action, work.input_files) for work in plan.chosen] == [(Action.PURGE, 1)]
    assert "more than 20% of their rows deleted (worst 50%)" in plan.reason


def test_a_purge_is_costed_as_reorg_does_it_every_file_with_a_vector() -> None:
    plan = decide(with_vectors(50, 1, 0))
    assert plan.chosen[0].input_files == 2
    assert plan.input_bytes == 400 * MIB


@pytest.mark.parametrize(("ratio", "runs"), [(0.05, True), (0.06, False), (None, False)])
def test_the_ratio_of_deleted_rows_is_exceeded_strictly(ratio: float | None, runs: bool) -> None:
    assert decide(with_vectors(6), replace(BINS, max_deleted_rows_ratio=ratio)).runs is runs


def test_merging_small_files_purges_them_so_no_purge_is_planned() -> None:
    files = [DataFile(10, num_records=10, deleted_rows=9, has_deletion_vector=True)] * 8
    plan = decide(snapshot([], files=files))
    assert [work.action for work in plan.chosen] == [Action.COMPACT]


def test_a_vector_without_statistics_is_purged_before_anything_is_merged() -> None:
    files = [DataFile(10)] * 9 + [DataFile(10, has_deletion_vector=True, deleted_rows=1)]
    plan = decide(snapshot([], files=files))
    assert [(work.action, work.input_files) for work in plan.chosen] == [(Action.PURGE, 1)]


# -- ranked under a budget -------------------------------------------------------------------------


def test_most_files_removed_per_byte_goes_first() -> None:
    table = snapshot({"dear": [MIB] * 10, "cheap": [1024] * 10})
    plan = decide(table, budget=Budget(max_partitions=1))
    assert plan.reserved == keys("cheap")
    assert (
        plan.skipped[0].reason == "the budget has room for 1 partition, and others are worth more"
    )
    plan = decide(table, budget=Budget(max_bytes=MIB))
    assert plan.reserved == keys("cheap")
    assert "left of the budget of 1 MiB" in plan.skipped[0].reason


def test_what_did_not_fit_goes_first_next_time() -> None:
    old = [DataFile(MIB, ("old",), modified_ms=1)] * 10
    new = [DataFile(1024, ("new",), modified_ms=9)] * 10
    compacted = Commit(3, timestamp_ms=5, operation="OPTIMIZE")
    table = snapshot({"x": [1]}, files=[*old, *new], commits=(compacted,))
    assert decide(table, budget=Budget(max_partitions=1)).reserved == keys("old")


def test_a_byte_budget_takes_the_smallest_files_of_a_table_without_partitions() -> None:
    table = snapshot([*[1000 + n for n in range(8)], *[5000 + n for n in range(8)]])
    whole = decide(table)
    some = decide(table, budget=Budget(max_bytes=20_000))
    assert (whole.input_files, some.input_files) == (16, 10)
    assert some.chunks[0].below_bytes == 5002
    assert some.input_bytes <= 20_000
    none = decide(table, budget=Budget(max_bytes=100))
    assert none.outcome is Outcome.OUT_OF_BUDGET


def test_the_inline_budget_follows_what_the_run_wrote() -> None:
    sizes = (0, 100 * MIB, GIB, 100 * GIB)
    assert [Budget.inline(size).max_bytes for size in sizes] == [GIB, GIB, 4 * GIB, 10 * GIB]


# -- the request -----------------------------------------------------------------------------------


def test_partitions_that_share_a_size_share_a_statement() -> None:
    table = snapshot({str(n): [100 + n] * 8 for n in range(200)})
    plan = decide(table)
    assert [len(chunk.partitions) for chunk in plan.chunks] == [64, 64, 64, 8]
    assert all(chunk.below_bytes > 299 for chunk in plan.chunks)


def test_a_statement_takes_exactly_the_files_of_the_plan() -> None:
    table = snapshot({"1": [1] * 8 + [50], "2": [60] * 8 + [600]})
    plan = decide(table)
    for chunk in plan.chunks:
        for key in chunk.partitions:
            taken = [
                f for f in table.files if f.partition == key and f.size_bytes < chunk.below_bytes
            ]
            assert len(taken) == next(w for w in plan.chosen if w.partition == key).considered_files


REFUSED = [
    ({"clustering_columns": ("k",)}, "clustered by k"),
    ({"protocol": Protocol(3, 7, writer_features=frozenset({"catalogManaged"}))}, "catalogManaged"),
    ({"partition_columns": (PartitionColumn("a.b", "x", "int"),)}, "has a dot in its name"),
]


@pytest.mark.parametrize(("facts", "words"), REFUSED)
def test_what_cannot_be_done_safely_is_skipped_with_its_name(facts: Any, words: str) -> None:
    plan = decide(snapshot({"1": [1] * 99}, **facts))
    assert plan.outcome is Outcome.NOT_SUPPORTED
    assert words in plan.reason
    assert plan.chunks == ()


def test_a_clustered_table_is_clustered_only_when_the_policy_says_so() -> None:
    table = snapshot([1] * 9, clustering_columns=("k",))
    plan = decide(table, replace(BINS, clustered=Clustered.OPTIMIZE))
    assert [chunk.action for chunk in plan.chunks] == [Action.CLUSTER]
    done = [replace(f, clustering_provider="liquid") for f in table.files]
    assert not decide(replace(table, files=done), replace(BINS, clustered=Clustered.OPTIMIZE)).runs


def test_two_notations_of_one_timestamp_are_one_partition() -> None:
    column = PartitionColumn("at", "at", "timestamp")
    files = [
        DataFile(10, (raw,))
        for raw in ("2026-01-01T10:00:00.000000Z", "2026-01-01 11:00:00")
        for _ in range(4)
    ]
    table = snapshot([], files=files, partition_columns=(column,))
    assert decide(table, session_zone="Europe/Paris").input_files == 8
    assert not decide(table, session_zone="UTC").runs


def test_the_plan_as_json_says_the_same() -> None:
    plan = decide(snapshot({"1": [1] * 9, "2": [1]}))
    told = plan.as_dict()
    assert told["schema_version"] == 1
    assert (told["input_files"], told["expected_output_files"]) == (9, 1)
    assert told["chosen"][0]["reason"] == "9 small files, 9 B, become 1 file"
    assert told["skipped"][0]["reason"] == "1 small file, 1 B: nothing to merge it with"
