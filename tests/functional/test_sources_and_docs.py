"""Source freshness counts data, never maintenance; documentation counts without reading data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    freshness: {warn_after: {count: 1, period: day}}
    tables:
      - name: landed
      - name: plain
"""


class TestSourcesAndDocs:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": SOURCES,
            "copied.sql": "{{ config(materialized='table') }} select * from range(5)",
        }

    @pytest.fixture(scope="class", autouse=True)
    def landed(self, project: Any) -> None:
        project.run_sql(f"create table {project.test_schema}.landed as select * from range(3)")
        project.run_sql(f"create table {project.test_schema}.plain using parquet as select 1 as id")
        run_dbt(["run"])

    def freshness(self, project: Any, name: str) -> dict[str, Any]:
        run_dbt(["source", "freshness", "--select", f"source:raw.{name}"])
        found = json.loads((Path(project.project_root) / "target/sources.json").read_text())
        return dict(found["results"][0])

    def test_freshness_is_the_newest_commit_that_changed_data(self, project: Any) -> None:
        table = f"{project.test_schema}.landed"
        first = self.freshness(project, "landed")["max_loaded_at"]
        project.run_sql(f"optimize {table}")
        project.run_sql(f"alter table {table} set tblproperties ('team' = 'bikes')")
        project.run_sql(f"delete from {table} where id > 100")
        assert self.freshness(project, "landed")["max_loaded_at"] == first
        project.run_sql(f"insert into {table} values (7)")
        assert self.freshness(project, "landed")["max_loaded_at"] > first

    def test_a_source_that_is_not_delta_needs_a_field(self, project: Any) -> None:
        command = ["source", "freshness", "--select", "source:raw.plain"]
        results = run_dbt(command, expect_pass=False)
        assert "set loaded_at_field on the source" in results[0].message

    @pytest.mark.parametrize("counted", [True, False])
    def test_statistics_can_be_switched_off(self, project: Any, counted: bool) -> None:
        variables = json.dumps({"delta_maint_docs_statistics": counted})
        run_dbt(["docs", "generate", "--vars", variables])
        catalog = json.loads((Path(project.project_root) / "target/catalog.json").read_text())
        statistics = catalog["nodes"]["model.test.copied"]["stats"]
        assert statistics["has_stats"]["value"] is counted
        if counted:
            assert statistics["num_rows"]["value"] == 5
            assert statistics["bytes"]["value"] > 0
