"""An optimized write together with what else a model may ask for: it changes files and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

EVENTS = """
{{ config(materialized='table', event_time='at') }}
select id, cast('2024-01-01' as date) + cast(id % 4 as int) as day,
  timestamp '2024-01-01 06:00:00' + make_dt_interval(id % 4) as at, concat('name ', id) as name
from range(0, 400, 1, 2)
"""
BATCHED = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day',
          begin='2024-01-01', lookback=0, partition_by='day', optimized_write='exact') }}
select * from {{ ref('events') }}
"""
# A contract with constraints; its second run can be made to break them.
AGREED = """
{{ config(materialized='delta_optimized', unique_key='id', partition_by='part', optimized_write='auto',
          liquid_clustered_by=none) }}
select id, cast(id % 3 as int) as part, {{ var('amount', 'id') }} as amount from range(1, 100)
"""
CHANGED = """
{{ config(materialized='delta_optimized', incremental_strategy=var('strategy', 'append'), partition_by='part',
          unique_key='id' if var('strategy', 'append') in ('merge', 'delete+insert') else none,
          incremental_predicates=['part = 1'] if var('strategy', 'append') == 'replace_where' else none,
          on_schema_change='append_new_columns', tags=['changed']) }}
select id, cast(1 as int) as part {% if is_incremental() %}, 'new' as added {% endif %} from range(50)
"""
DRESSED = """
{{ config(materialized='delta_optimized', unique_key='id', liquid_clustered_by=['id'], optimized_write='auto',
          target_file_size='64 KiB', tblproperties={'delta.enableChangeDataFeed': 'true', 'shop.team': 'a'},
          persist_docs={'relation': true, 'columns': true},
          pre_hook="create or replace temporary view hooked as select 40000 as howmany",
          post_hook="alter table {{ this }} set tblproperties ('shop.hook' = 'ran')") }}
select cast(pmod(hash(id), 100000) as bigint) * 100000 + id as id, sha1(cast(id as string)) as name
from {{ ref('numbers') }} where id < (select howmany from hooked)
{% if is_incremental() %} and id < 100 {% endif %}
"""
PYTHON = """
def model(dbt, spark):
    dbt.config(materialized="delta_optimized", incremental_strategy="append", partition_by="part",
               optimized_write="exact", on_schema_change="append_new_columns")
    if dbt.is_incremental:
        newest = spark.sql(f"select max(id) from {dbt.this}").first()[0]
        return spark.range(newest + 1, newest + 11).selectExpr("id", "cast(id % 2 as int) as part", "1 as added")
    return spark.range(100).selectExpr("id", "cast(id % 2 as int) as part")
"""
PROPERTIES = """
models:
  - name: agreed
    config: {contract: {enforced: true}}
    constraints:
      - {type: check, name: positive, expression: "amount > 0"}
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: part, data_type: int}
      - {name: amount, data_type: bigint, constraints: [{type: not_null}]}
  - name: dressed
    description: The dressed one
    columns: [{name: name, description: A digest}]
snapshots:
  - name: kept
    relation: ref('events')
    config:
      strategy: check
      unique_key: id
      check_cols: [name]
      optimized_write: auto
      partition_by: day
"""


class TestTogether:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "events.sql": EVENTS,
            "numbers.sql": "{{ config(materialized='table') }} select id from range(0, 60000, 1, 3)",
            "batched.sql": BATCHED,
            "agreed.sql": AGREED,
            "changed.sql": CHANGED,
            "dressed.sql": DRESSED,
            "in_python.py": PYTHON,
            "properties.yml": PROPERTIES,
        }

    def one(self, project: Any, sql: str) -> tuple[Any, ...]:
        return tuple(project.run_sql(sql.replace("{}", project.test_schema), fetch="one"))

    def marks(self, project: Any, name: str) -> list[dict[str, Any]]:
        """What our commits say about themselves, newest first."""
        rows = project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all")
        return [json.loads(row[13]) for row in rows if row[13]]

    @pytest.fixture(scope="class", autouse=True)
    def sources(self, project: Any) -> None:
        run_dbt(["run", "--select", "events", "numbers"])

    def test_every_batch_of_a_microbatch_model_is_placed(self, project: Any) -> None:
        window = ["--event-time-start", "2024-01-01", "--event-time-end", "2024-01-05"]
        for _ in range(2):
            run_dbt(["run", "--select", "batched", *window])
            found = self.one(
                project, "select count(*), count(distinct id), count(distinct day) from {}.batched"
            )
            assert found == (400, 400, 4)
        files = self.one(
            project, "select count(distinct f) from (select input_file_name() as f from {}.batched)"
        )
        assert files == (4,)
        told = self.marks(project, "batched")
        assert len(told) == 8
        assert {mark["mode"] for mark in told} == {"exact"}

    def test_a_snapshot_keeps_its_history_and_is_written_by_both_ways(self, project: Any) -> None:
        run_dbt(["snapshot"])
        schema = project.test_schema
        project.run_sql(f"update {schema}.events set name = 'changed' where id < 10")
        run_dbt(["snapshot"])
        found = self.one(project, "select count(*), count_if(dbt_valid_to is null) from {}.kept")
        assert found == (410, 400)
        assert [mark["mode"] for mark in self.marks(project, "kept")][:1] == ["delta"]
        project.run_sql(f"update {schema}.events set name = concat('name ', id) where id < 10")

    def test_a_contract_and_its_constraints_hold(self, project: Any) -> None:
        run_dbt(["run", "--select", "agreed"])
        for amount, sentence in (("-id", "positive"), ("nullif(id, 5)", "amount : null")):
            results, _ = run_dbt_and_capture(
                ["run", "--select", "agreed", "--vars", f"{{amount: '{amount}'}}"],
                expect_pass=False,
            )
            assert sentence in results[0].message
            results, _ = run_dbt_and_capture(
                [
                    "run",
                    "--full-refresh",
                    "--select",
                    "agreed",
                    "--vars",
                    f"{{amount: '{amount}'}}",
                ],
                expect_pass=False,
            )
            assert sentence in results[0].message
        assert self.one(project, "select count(*), sum(amount) from {}.agreed") == (99, 4950)
        results, _ = run_dbt_and_capture(
            ["run", "--full-refresh", "--select", "agreed", "--vars", "{amount: \"'text'\"}"],
            expect_pass=False,
        )
        assert "contract" in results[0].message

    @pytest.mark.parametrize(
        ("strategy", "rows"),
        [("append", 100), ("merge", 50), ("insert_overwrite", 50), ("replace_where", 50), ("delete+insert", 50)],
    )  # fmt: skip
    def test_every_strategy_takes_new_columns(self, project: Any, strategy: str, rows: int) -> None:
        chosen = ["--select", "changed", "--vars", f"{{strategy: '{strategy}'}}"]
        run_dbt(["run", "--full-refresh", *chosen])
        run_dbt(["run", *chosen])
        found = self.one(project, "select count(*), count_if(added = 'new') from {}.changed")
        assert found == (rows, 50)
        assert self.marks(project, "changed")[0]["node"] == "model.test.changed"

    def test_hooks_docs_properties_and_clustering_are_as_in_incremental(self, project: Any) -> None:
        first = run_dbt(["run", "--select", "dressed"])
        told = dict(first.results[0].adapter_response)["optimized_write"]
        assert told["mode"] == "exact"
        assert "clustering columns" in told["reason"]
        # Every file has a range of its own.
        overlaps = self.one(
            project,
            "select count(*) from (select low, lag(high) over (order by low) as before from (select min(id) "
            "as low, max(id) as high from {}.dressed group by input_file_name())) where low <= before",
        )
        assert overlaps == (0,)
        run_dbt(["run", "--select", "dressed"])
        schema = project.test_schema
        with project.adapter.connection_named("detail"):
            _, table = project.adapter.execute(f"describe detail {schema}.dressed", fetch=True)
        detail = dict(zip(table.column_names, table.rows[0], strict=True))
        assert detail["clusteringColumns"] == '["id"]'
        assert detail["description"] == "The dressed one"
        for text in (
            '"shop.team": "a"',
            '"shop.hook": "ran"',
            '"delta.enableChangeDataFeed": "true"',
        ):
            assert text in detail["properties"]
        columns = {
            row[0]: row[2] for row in project.run_sql(f"describe {schema}.dressed", fetch="all")
        }
        assert columns["name"] == "A digest"
        assert self.one(project, "select count(*), count(distinct id) from {}.dressed") == (
            40000,
            40000,
        )

    def test_a_python_model_knows_when_it_is_incremental(self, project: Any) -> None:
        for expected in (100, 110, 120):
            results = run_dbt(["run", "--select", "in_python"])
            assert (
                self.one(project, "select count(*), count(distinct id) from {}.in_python")
                == (expected,) * 2
            )
            assert dict(results.results[0].adapter_response)["optimized_write"]["mode"] == "exact"
        assert self.one(project, "select sum(added) from {}.in_python") == (20,)
        run_dbt(["run", "--full-refresh", "--select", "in_python"])
        assert self.one(project, "select count(*) from {}.in_python") == (100,)
