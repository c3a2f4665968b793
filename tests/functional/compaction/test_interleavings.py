"""Random interleavings of writers and compaction against a serial replay of what committed.

Each step starts one operation and lets another one run to its end just before the first one commits.
The rows must be those of the statements that committed, in the order in which they did.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from dbt.adapters.delta_maint.lake.conflicts import Trouble, trouble_of

from tests.functional.compaction.delta_phases import before_commit
from tests.functional.compaction.in_thread import in_thread
from tests.functional.compaction.small_table import SmallTable

STEPS = 200 if os.environ.get("DELTA_MAINT_TEST_ALL") else 30
KINDS = ("append", "delete", "update", "merge", "compact")

Rows = set[int]
Operation = tuple[str, Callable[[SmallTable], None], Callable[[Rows], Rows]]


def make(kind: str, chance: random.Random, next_id: int) -> Operation:
    if kind == "append":
        new = set(range(next_id, next_id + 6))
        return kind, lambda t: t.append(2, start=next_id, rows=3), lambda rows: rows | new
    if kind == "compact":
        return kind, lambda t: _compact(t), lambda rows: rows
    divisor = chance.randint(5, 9)
    rest = chance.randrange(divisor)
    if kind == "delete":
        return (
            f"delete id % {divisor} = {rest}",
            lambda t: t.run(f"delete from {{t}} where id % {divisor} = {rest}"),
            lambda rows: {n for n in rows if n % divisor != rest},
        )
    if kind == "merge":
        new = set(range(next_id, next_id + 3))
        return (
            f"merge id % {divisor} = {rest}",
            lambda t: t.run(
                f"merge into {{t}} using (select id as k from {{t}} where id % {divisor} = {rest} "
                f"union all select id from range({next_id}, {next_id + 3})) on id = k "
                "when matched then delete when not matched then insert (id, p) values (k, 1)"
            ),
            lambda rows: {n for n in rows if n % divisor != rest} | new,
        )
    step = 1_000_000
    return (
        f"update id % {divisor} = {rest}",
        lambda t: t.run(f"update {{t}} set id = id + {step} where id % {divisor} = {rest}"),
        lambda rows: {n + step if n % divisor == rest else n for n in rows},
    )


def _compact(table: SmallTable) -> None:
    result = table.compact()
    gave_way = [e for e in result.errors if "gave way" not in e]
    assert gave_way == []


def attempt(operation: Operation, table: SmallTable) -> bool:
    """Whether it committed; a lost race is an answer, everything else is a fault."""
    try:
        operation[1](table)
    except Exception as exc:
        if trouble_of(exc) is not Trouble.CONFLICT:
            raise
        return False
    return True


def test_rows_are_those_of_a_serial_replay(spark: Any) -> None:
    seed = int(os.environ.get("DELTA_MAINT_TEST_SEED", random.SystemRandom().randrange(10**6)))
    print(f"seed {seed}: repeat with DELTA_MAINT_TEST_SEED={seed}")
    chance = random.Random(seed)
    table = SmallTable.create(spark, properties="'delta.enableDeletionVectors' = 'true'")
    other = SmallTable(spark.newSession(), table.name)
    table.append(3, rows=10)
    rows: Rows = set(range(30))
    script = []
    for step in range(STEPS):
        outer = make(chance.choice(KINDS), chance, 1000 + step * 20)
        inner = make(chance.choice(KINDS), chance, 1010 + step * 20)
        script.append(f"{outer[0]} [{inner[0]}]")
        done: dict[str, bool] = {}

        def let_the_other_run(inner: Operation = inner, done: dict[str, bool] = done) -> None:
            done["inner"] = in_thread(lambda: attempt(inner, other))

        with before_commit(table.spark, let_the_other_run):
            committed = attempt(outer, table)
        if done.get("inner"):
            rows = inner[2](rows)
        if committed:
            rows = outer[2](rows)
        found = [row[0] for row in table.run("select id from {t}")]
        assert sorted(found) == sorted(rows), f"seed {seed}, after {script}"
    table.compact()
    assert table.files() == {(): 1}
    assert not table.compact().did_something
    assert sorted(row[0] for row in table.run("select id from {t}")) == sorted(rows)
