"""`dbt clone` copies no data and shares no fate; functions are SQL with typed arguments and defaults."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

TABLE = (
    "{{ config(materialized='table', alias='order', "
    "tblproperties={'delta.columnMapping.mode': 'name'}) }} "
    "select id, 'a' as `Mixed Case` from range(5)"
)
VIEW = "select count(*) as n from {{ ref('base') }}"
MERGED = (
    "{{ config(materialized='incremental', unique_key='id', on_schema_change='fail') }} "
    "select 1 as id, 'x' as name"
)
CONTRACT = """
models:
  - name: merged
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: int, constraints: [{type: not_null}]}
      - {name: name, data_type: string}
"""


class TestClone:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"base.sql": TABLE, "seen.sql": VIEW, "merged.sql": MERGED, "contract.yml": CONTRACT}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"stock.csv": "id,name\n1,a\n"}

    @pytest.fixture(scope="class")
    def other_schema(self, unique_schema: str) -> str:
        return unique_schema + "_clone"

    @pytest.fixture(scope="class")
    def profiles_config_update(
        self, dbt_profile_target: dict[str, Any], unique_schema: str, other_schema: str
    ) -> dict[str, Any]:
        outputs = {
            "default": {**dbt_profile_target, "schema": unique_schema},
            "other": {**dbt_profile_target, "schema": other_schema},
        }
        return {"test": {"outputs": outputs, "target": "default"}}

    def test_a_clone_has_the_rows_and_the_rules_and_goes_its_own_way(
        self, project: Any, other_schema: str
    ) -> None:
        def rows(sql: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in project.run_sql(sql, fetch="all")]

        mine = project.test_schema
        run_dbt(["build"])
        state = Path(project.project_root) / "state"
        state.mkdir()
        shutil.copy(Path(project.project_root) / "target/manifest.json", state)
        clone = ["clone", "--state", "state", "--target", "other"]
        results = run_dbt(clone)
        assert {str(result.status) for result in results} == {"success"}

        assert len(rows(f"select * from {other_schema}.`order`")) == 5
        assert rows(f"select n from {other_schema}.seen") == [(5,)]
        assert rows(f"select * from {other_schema}.stock") == [(1, "a")]
        history = rows(f"describe history {other_schema}.`order`")
        assert history[-1][4] == "CLONE"
        with pytest.raises(Exception, match="NOT_NULL_CONSTRAINT_VIOLATED"):
            project.run_sql(f"insert into {other_schema}.merged values (null, 'y')")

        project.run_sql(f"delete from {other_schema}.`order` where id < 3")
        assert len(rows(f"select * from {mine}.`order`")) == 5
        _, output = run_dbt_and_capture(clone)
        assert "already exists" in output
        assert len(rows(f"select * from {other_schema}.`order`")) == 2
        run_dbt([*clone, "--full-refresh"])
        assert len(rows(f"select * from {other_schema}.`order`")) == 5

        # The clone is a table like any other: models are built on it and into it.
        run_dbt(["run", "--target", "other"])
        assert rows(f"select * from {other_schema}.merged") == [(1, "x")]
        assert rows(f"select * from {mine}.merged") == [(1, "x")]
        project.run_sql(f"drop schema {other_schema} cascade")


FUNCTIONS = """
functions:
  - name: with_tax
    description: "What it's worth; 'net' plus tax"
    config: {volatility: deterministic}
    arguments:
      - {name: "order", data_type: "decimal(10,2)"}
      - {name: rate, data_type: "decimal(4,2)", default_value: "0.25"}
      - {name: label, data_type: string, default_value: "'it''s'"}
    returns: {data_type: string}
"""
BODY = "concat(label, ': ', cast(cast(`order` * (1 + rate) as decimal(10,2)) as string))"
USER = """
select {{ function('with_tax') }}(cast(2 as decimal(10,2))) as both_defaults,
       {{ function('with_tax') }}(cast(2 as decimal(10,2)), cast(0 as decimal(4,2))) as one_default,
       {{ function('with_tax') }}(cast(2 as decimal(10,2)), label => 'net') as named
"""


class TestFunctions:
    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {"with_tax.sql": BODY, "functions.yml": FUNCTIONS}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"priced.sql": "{{ config(materialized='table') }}" + USER}

    def test_defaults_are_used_and_a_function_is_replaced_in_place(self, project: Any) -> None:
        found = f"select * from {project.test_schema}.priced"
        for _ in range(2):
            run_dbt(["build"])
            row = project.run_sql(found, fetch="one")
            assert tuple(row) == ("it's: 2.50", "it's: 2.00", "net: 2.50")
        write_file(
            BODY.replace("concat(", "concat('now ', "),
            project.project_root,
            "functions",
            "with_tax.sql",
        )
        run_dbt(["build"])
        assert project.run_sql(found, fetch="one")[2] == "now net: 2.50"
