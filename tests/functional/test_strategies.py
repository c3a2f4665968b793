"""Every strategy and merge option on real Delta: each test fails when its option is left out."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from dbt.tests.util import run_dbt, write_file

Rows = list[tuple[Any, ...]]

# The first run gives FIRST, the second SECOND: key 1 changes, 3 is new, 2 is gone, NULL stays NULL.
FIRST = "(1, 'old', 1), (2, 'old', 2), (cast(null as int), 'old', 9)"
SECOND = "(1, 'new', 10), (3, 'new', 30), (cast(null as int), 'new', 90)"
MODEL = """
{{{{ config(materialized='incremental', {config}) }}}}
select * from values {{% if is_incremental() %}} {second} {{% else %}} {first} {{% endif %}}
as t(id, name, amount)
"""

MERGED = [(None, "new", 90), (1, "new", 10), (2, "old", 2), (3, "new", 30)]
CASES: dict[str, tuple[str, Rows]] = {
    "merge_is_the_default_with_a_key": ("unique_key='id'", MERGED),
    "append_is_the_default_without": (
        "",
        [
            (None, "new", 90),
            (None, "old", 9),
            (1, "new", 10),
            (1, "old", 1),
            (2, "old", 2),
            (3, "new", 30),
        ],
    ),
    "several_keys": (
        "unique_key=['id', 'name']",
        [
            (None, "new", 90),
            (None, "old", 9),
            (1, "new", 10),
            (1, "old", 1),
            (2, "old", 2),
            (3, "new", 30),
        ],
    ),
    "merge_update_columns": (
        "unique_key='id', merge_update_columns=['AMOUNT']",
        [(None, "old", 90), (1, "old", 10), (2, "old", 2), (3, "new", 30)],
    ),
    "merge_exclude_columns": (
        "unique_key='id', merge_exclude_columns='amount'",
        [(None, "new", 9), (1, "new", 1), (2, "old", 2), (3, "new", 30)],
    ),
    "merge_exclude_columns_in_quotes": (
        "unique_key='`id`', merge_exclude_columns=['`Amount`']",
        [(None, "new", 9), (1, "new", 1), (2, "old", 2), (3, "new", 30)],
    ),
    "matched_condition_and_aliases": (
        "unique_key='id', source_alias='s', target_alias='t', matched_condition='s.amount > 50'",
        [(None, "new", 90), (1, "old", 1), (2, "old", 2), (3, "new", 30)],
    ),
    "not_matched_condition": (
        "unique_key='id', not_matched_condition='DBT_INTERNAL_SOURCE.amount > 50'",
        [(None, "new", 90), (1, "new", 10), (2, "old", 2)],
    ),
    "not_matched_by_source_delete": (
        "unique_key='id', not_matched_by_source_action='delete'",
        [(None, "new", 90), (1, "new", 10), (3, "new", 30)],
    ),
    "not_matched_by_source_update": (
        "unique_key='id', target_alias='t', not_matched_by_source_condition='t.amount = 2', "
        "not_matched_by_source_action=\"update set name = 'gone'\"",
        [(None, "new", 90), (1, "new", 10), (2, "gone", 2), (3, "new", 30)],
    ),
    "skip_matched_step": (
        "unique_key='id', skip_matched_step=true",
        [(None, "old", 9), (1, "old", 1), (2, "old", 2), (3, "new", 30)],
    ),
    "skip_not_matched_step": (
        "unique_key='id', skip_not_matched_step=true",
        [(None, "new", 90), (1, "new", 10), (2, "old", 2)],
    ),
    "incremental_predicates": (
        "unique_key='id', incremental_predicates=['DBT_INTERNAL_DEST.amount < 5 or false']",
        [
            (None, "new", 90),
            (None, "old", 9),
            (1, "new", 10),
            (2, "old", 2),
            (3, "new", 30),
        ],
    ),
    "delete_insert": ("unique_key='ID', incremental_strategy='delete+insert'", MERGED),
    "insert_overwrite_of_partitions": (
        "incremental_strategy='insert_overwrite', partition_by='id'",
        MERGED,
    ),
    "insert_overwrite_of_everything": (
        "incremental_strategy='insert_overwrite', "
        "pre_hook='set spark.sql.sources.partitionOverwriteMode = dynamic'",
        [(None, "new", 90), (1, "new", 10), (3, "new", 30)],
    ),
    "replace_where": (
        "incremental_strategy='replace_where', "
        "incremental_predicates=['id is null or id in (1, 3)', 'amount > 0 or false']",
        MERGED,
    ),
    "a_strategy_of_the_users": (
        "incremental_strategy='replace_all'",
        [(None, "new", 90), (1, "new", 10), (3, "new", 30)],
    ),
}
USERS_STRATEGY = """
{% macro get_incremental_replace_all_sql(arg_dict) %}
  insert overwrite {{ arg_dict['target_relation'] }} select * from {{ arg_dict['temp_relation'] }}
{% endmacro %}
"""


@pytest.mark.portable
class TestStrategies:
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"replace_all.sql": USERS_STRATEGY}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            f"{name}.sql": MODEL.format(config=config, first=FIRST, second=SECOND)
            for name, (config, _) in CASES.items()
        }

    @pytest.fixture(scope="class", autouse=True)
    def run_twice(self, project: Any) -> None:
        run_dbt(["run", "--threads", "4"])
        run_dbt(["run", "--threads", "4"])

    @pytest.mark.parametrize("name", CASES)
    def test_the_second_run_leaves(self, project: Any, name: str) -> None:
        found = project.run_sql(
            f"select * from {project.test_schema}.{name} order by id, name", fetch="all"
        )
        assert [tuple(row) for row in found] == CASES[name][1]

    @pytest.mark.parametrize("name", ["delete_insert", "replace_where"])
    def test_replacing_rows_is_one_commit(self, project: Any, name: str) -> None:
        history = project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all")
        assert [row[0] for row in history] == [1, 0]


ODD_COLUMNS = "`order`, `Mixed Case`, `dotted.name`, `tick``ed`"
ODD = """
{{{{ config(materialized='incremental', unique_key=['order', 'Mixed Case', 'dotted.name', 'tick`ed'],
            incremental_strategy='{strategy}',
            tblproperties={{'delta.columnMapping.mode': 'name'}}) }}}}
select 1 as `order`, cast(null as int) as `Mixed Case`, 3 as `dotted.name`, 4 as `tick``ed`,
{{% if is_incremental() %}} 'new' {{% else %}} 'old' {{% endif %}} as `select`
"""


@pytest.mark.portable(in_all=True)
class TestOddNames:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "merged.sql": ODD.format(strategy="merge"),
            "deleted.sql": ODD.format(strategy="delete+insert"),
            "select.sql": ODD.format(strategy="merge"),
        }

    def test_reserved_words_case_spaces_dots_and_backticks_are_names_like_others(
        self, project: Any
    ) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        for name in ("merged", "deleted", "`select`"):
            found = project.run_sql(
                f"select {ODD_COLUMNS}, `select` from {project.test_schema}.{name}", fetch="all"
            )
            assert [tuple(row) for row in found] == [(1, None, 3, 4, "new")]


REFUSED: dict[str, tuple[str, str]] = {
    "missing_key": (
        "unique_key='nope'",
        "unique_key names nope, which is not a column of the model: it has id, name, amount",
    ),
    "missing_update_column": (
        "unique_key='id', merge_update_columns=['id', 'price']",
        "merge_update_columns names price, which is not a column of the model",
    ),
    "missing_exclude_column": (
        "unique_key='id', merge_exclude_columns=['price']",
        "merge_exclude_columns names price",
    ),
    "both_lists": (
        "unique_key='id', merge_update_columns=['id'], merge_exclude_columns=['name']",
        "Model cannot specify merge_update_columns and merge_exclude_columns",
    ),
    "option_of_another_strategy": (
        "incremental_strategy='append', matched_condition='true'",
        "matched_condition is set, but incremental_strategy is append",
    ),
    "no_key": ("incremental_strategy='delete+insert'", "delete+insert needs unique_key"),
    "no_predicates": (
        "incremental_strategy='replace_where'",
        "replace_where needs incremental_predicates",
    ),
    "unknown_action": (
        "unique_key='id', not_matched_by_source_action='drop'",
        "not_matched_by_source_action is 'drop': use delete",
    ),
    "condition_without_action": (
        "unique_key='id', not_matched_by_source_condition='true'",
        "needs not_matched_by_source_action",
    ),
    "nothing_to_do": (
        "unique_key='id', skip_matched_step=true, skip_not_matched_step=true",
        "the merge would do nothing",
    ),
    "equal_aliases": (
        "unique_key='id', source_alias='t', target_alias='T'",
        "source_alias and target_alias are both t",
    ),
    "buckets": ("buckets=4, clustered_by='id'", "Delta has no bucketed tables"),
    "unknown_mode": ("on_schema_change='sync'", "on_schema_change is 'sync'"),
    "partitions_and_clusters": (
        "partition_by='id', liquid_clustered_by='name'",
        "liquid_clustered_by and partition_by cannot both be set",
    ),
    "duplicate_keys": (
        "unique_key='id'",
        "The model gives 2 rows with id = 1, and a merge can take only one row per unique_key",
    ),
}


@pytest.mark.portable(in_all=True)
class TestRefusals:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {f"{name}.sql": MODEL.format(config="", first=FIRST, second="") for name in REFUSED}

    @pytest.fixture(scope="class", autouse=True)
    def messages(self, project: Any) -> dict[str, str]:
        run_dbt(["run", "--threads", "4"])
        for name, (config, _) in REFUSED.items():
            second = SECOND + (", (1, 'twice', 11)" if name == "duplicate_keys" else "")
            model = MODEL.format(config=config, first=FIRST, second=second)
            write_file(model, project.project_root, "models", f"{name}.sql")
        full = ["buckets", "partitions_and_clusters"]
        results = [
            *run_dbt(["run", "--threads", "4", "--exclude", *full], expect_pass=False),
            *run_dbt(["run", "--full-refresh", "--select", *full], expect_pass=False),
        ]
        assert {str(result.status) for result in results} == {"error"}
        return {result.node.name: " ".join(result.message.split()) for result in results}

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_cannot_work_is_one_sentence_and_changes_nothing(
        self, project: Any, messages: dict[str, str], name: str
    ) -> None:
        assert REFUSED[name][1] in messages[name]
        history = project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all")
        assert len(history) == 1

    def test_no_temporary_relation_is_left_behind(
        self, project: Any, messages: dict[str, str]
    ) -> None:
        schema = project.test_schema
        tables = project.run_sql(f"show tables in {schema}", fetch="all")
        assert {row[1] for row in tables if not row[2]} == set(REFUSED)


EVENTS = """
{{ config(materialized='table', event_time='at') }}
select id, date_add(date'2024-01-01', cast(id % 4 as int)) as day,
       cast(date_add(date'2024-01-01', cast(id % 4 as int)) as timestamp) as at
from range(20)
"""
BATCHED = """
{{{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='{event_time}',
            batch_size='day', begin='2024-01-01', lookback=0, concurrent_batches=true {config}) }}}}
select id, day, at from {{{{ ref('events') }}}}
"""


@pytest.mark.portable(in_all=True)
class TestMicrobatch:
    """Batches at the same time: kept apart by partitions, or taking turns."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "events.sql": EVENTS,
            "by_turns.sql": BATCHED.format(event_time="at", config=""),
            "by_partition.sql": BATCHED.format(event_time="day", config=", partition_by='day'"),
        }

    def test_concurrent_batches_never_conflict(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        window = ["--event-time-start", "2024-01-01", "--event-time-end", "2024-01-05"]
        run_dbt(["run", "--threads", "4", *window])
        run_dbt(["run", "--threads", "4", "--exclude", "events", *window])
        for name in ("by_turns", "by_partition"):
            row = project.run_sql(
                f"select count(*), count(distinct id) from {project.test_schema}.{name}",
                fetch="one",
            )
            assert tuple(row) == (20, 20)


def test_writes_to_one_table_take_turns_and_others_do_not_wait() -> None:
    from dbt.adapters.delta_maint.turns import Turns

    turns, inside, free = Turns(), threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        turns.wait_before_next_statement("t")
        with turns.taken():
            inside.set()
            free.wait(10)
            order.append("first")

    def second() -> None:
        turns.wait_before_next_statement("T")
        inside.wait(10)
        with turns.taken():
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    inside.wait(10)
    turns.wait_before_next_statement("other")
    with turns.taken():
        order.append("other")
    with turns.taken():  # a statement that asked for no turn
        order.append("plain")
    free.set()
    for thread in threads:
        thread.join(10)
    assert order == ["other", "plain", "first", "second"]
