"""adapter_response says what the model's own commit did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

TABLE = "{{ config(materialized='table') }} select id, id % 3 as part from range(30)"
MERGED = """
{{ config(materialized='incremental', unique_key='id') }}
{% if is_incremental() %}
  select id, 'new' as name from range(8, 12)
{% else %}
  select id, 'old' as name from range(10)
{% endif %}
"""
UNCHANGED = """
{{ config(materialized='incremental', unique_key='id') }}
select id from range(10) {% if is_incremental() %} where false {% endif %}
"""
REPLACED = """
{{ config(materialized='incremental', incremental_strategy='replace_where',
          incremental_predicates=["part = 1"]) }}
{% if is_incremental() %} select 100 as id, 1 as part
{% else %} select id, id % 3 as part from range(30) {% endif %}
"""
PYTHON = """
def model(dbt, spark):
    dbt.config(materialized="table")
    return spark.range(7)
"""
SNAPSHOT = """
snapshots:
  - name: kept
    relation: ref('base')
    config: {strategy: check, unique_key: id, check_cols: all}
"""


def responses(project: Any) -> dict[str, dict[str, Any]]:
    results = json.loads((Path(project.project_root) / "target/run_results.json").read_text())
    return {
        result["unique_id"].split(".")[2]: result["adapter_response"]
        for result in results["results"]
    }


@pytest.mark.portable(in_all=True)
class TestResponse:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "base.sql": TABLE,
            "merged.sql": MERGED,
            "unchanged.sql": UNCHANGED,
            "replaced.sql": REPLACED,
            "from_python.py": PYTHON,
            "seen.sql": "select 1 as id",
            "plain.sql": "{{ config(materialized='table', file_format='parquet') }} select 1 as id",
        }

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"kept.yml": SNAPSHOT}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"stock.csv": "id,name\n1,a\n2,b\n"}

    @pytest.fixture(scope="class")
    def first(self, project: Any) -> dict[str, dict[str, Any]]:
        run_dbt(["build"])
        return responses(project)

    @pytest.fixture(scope="class")
    def second(self, project: Any, first: Any) -> dict[str, dict[str, Any]]:
        run_dbt(["build"])
        return responses(project)

    def test_a_new_table_tells_rows_files_and_bytes(self, first: Any) -> None:
        told = first["base"]
        assert told["rows_affected"] == 30
        assert told["table_version"] == 0
        assert told["files_added"] >= 1
        assert told["bytes_added"] > 100
        assert told["files_removed"] == told["bytes_removed"] == 0
        assert told["_message"] == "30 rows"

    def test_a_replaced_table_tells_what_went(self, first: Any, second: Any) -> None:
        assert second["base"]["files_removed"] == first["base"]["files_added"]
        assert second["base"]["bytes_removed"] == first["base"]["bytes_added"]
        assert second["base"]["table_version"] == 1

    def test_a_merge_tells_inserted_and_updated_rows(self, second: Any) -> None:
        told = second["merged"]
        assert (told["rows_inserted"], told["rows_updated"], told["rows_deleted"]) == (2, 2, 0)
        assert told["rows_affected"] == 4
        assert told["table_version"] == 1
        assert told["files_added"] >= 1
        assert told["files_removed"] >= 1

    def test_a_merge_without_commit_tells_no_version(self, second: Any) -> None:
        assert second["unchanged"] == {"_message": "0 rows", "rows_affected": 0}

    def test_replace_where_tells_both_sides(self, second: Any) -> None:
        told = second["replaced"]
        assert (told["rows_affected"], told["rows_deleted"]) == (1, 10)

    @pytest.mark.parametrize(
        ("name", "rows"), [("from_python", 7), ("stock", 2), ("kept", 30), ("merged", 10)]
    )
    def test_python_models_seeds_and_snapshots_count_too(
        self, first: Any, name: str, rows: int
    ) -> None:
        assert first[name]["rows_affected"] == rows
        assert first[name]["table_version"] == 0

    @pytest.mark.parametrize("name", ["seen", "plain"])
    def test_what_is_not_a_delta_table_tells_nothing(self, first: Any, name: str) -> None:
        assert first[name] == {"_message": "OK"}
