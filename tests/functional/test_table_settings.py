"""What a model says about its table holds on every run, and nothing is altered that already fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

MODEL = """
{{{{ config(materialized='incremental', {config}) }}}}
select 1 as id, 'a' as region
"""
FIRST = MODEL.format(
    config="liquid_clustered_by='id', tblproperties={'delta.appendOnly': false, 'team': 'bikes'}"
)
SECOND = MODEL.format(
    config="liquid_clustered_by=['region', 'id'], "
    "tblproperties={'delta.appendOnly': false, 'team': 'boats', 'new': 1}"
)
THIRD = MODEL.format(config="liquid_clustered_by=[]")
PARTITIONED = MODEL.format(config="partition_by='region'")
# The partition column comes first, where the in-memory catalog does not want it.
REBUILT = (
    "{{ config(materialized='table', partition_by=var('by', 'day')) }} "
    "select 1 as day, 2 as shop {% if var('more', false) %}, 3 as more {% endif %}"
)
ZONELESS = "{{ config(materialized='table') }} select {{ var('at', 1) }} as at"
ELSEWHERE = (
    "{{ config(materialized='table', location_root=env_var('ELSEWHERE'), "
    "options={'compression': 'gzip'}) }} select 1 as id"
)
OTHER_PARTITIONS = MODEL.format(config="partition_by='id'")


def detail(project: Any, name: str) -> dict[str, Any]:
    _, table = _execute(project, f"describe detail {project.test_schema}.{name}")
    return dict(zip(table.column_names, table.rows[0], strict=True))


def operations(project: Any, name: str) -> list[str]:
    _, table = _execute(project, f"describe history {project.test_schema}.{name}")
    return [row["operation"] for row in table.rows]


def _execute(project: Any, sql: str) -> Any:
    with project.adapter.connection_named("look"):
        return project.adapter.execute(sql, fetch=True)


@pytest.mark.portable(in_all=True)
class TestTableSettings:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "settled.sql": FIRST,
            "parts.sql": PARTITIONED,
            "elsewhere.sql": ELSEWHERE,
            "rebuilt.sql": REBUILT,
            "zoneless.sql": ZONELESS,
        }

    @pytest.fixture(scope="class", autouse=True)
    def root(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        root = tmp_path_factory.mktemp("it's elsewhere")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ELSEWHERE", str(root))
            yield root

    @pytest.fixture(scope="class", autouse=True)
    def built(self, project: Any, root: Path) -> None:
        run_dbt(["run"])

    def test_location_root_and_options_are_honoured(self, project: Any, root: Path) -> None:
        assert list(root.glob("elsewhere/*.gz.parquet"))

    def test_only_differences_are_altered_and_foreign_properties_stay(self, project: Any) -> None:
        name = f"{project.test_schema}.settled"
        project.run_sql(f"alter table {name} set tblproperties ('foreign' = 'stays')")
        before = len(operations(project, "settled"))
        run_dbt(["run", "--select", "settled"])
        assert len(operations(project, "settled")) == before + 1

        write_file(SECOND, project.project_root, "models", "settled.sql")
        run_dbt(["run", "--select", "settled"])
        found = detail(project, "settled")
        for text in ('"team": "boats"', '"new": "1"', '"foreign": "stays"'):
            assert text in found["properties"]
        assert found["clusteringColumns"] == '["region", "id"]'
        assert operations(project, "settled")[:3] == ["CLUSTER BY", "SET TBLPROPERTIES", "WRITE"]

        write_file(THIRD, project.project_root, "models", "settled.sql")
        run_dbt(["run", "--select", "settled"])
        assert detail(project, "settled")["clusteringColumns"] == "[]"

    def test_other_partitions_are_refused_before_anything_is_written(self, project: Any) -> None:
        before = operations(project, "parts")
        write_file(OTHER_PARTITIONS, project.project_root, "models", "parts.sql")
        results = run_dbt(["run", "--select", "parts"], expect_pass=False)
        assert "partition_by is id, but" in results[0].message
        assert "is partitioned by region: run this model once with --full-refresh" in (
            results[0].message
        )
        assert operations(project, "parts") == before
        run_dbt(["run", "--select", "parts", "--full-refresh"])
        assert detail(project, "parts")["partitionColumns"] == '["id"]'

    def test_a_table_is_rebuilt_with_other_columns_and_partitions(self, project: Any) -> None:
        for variables in ("{more: true}", "{more: true}", "{by: shop, more: true}", "{}", "{}"):
            run_dbt(["run", "--select", "rebuilt", "--vars", variables])
        assert detail(project, "rebuilt")["partitionColumns"] == '["day"]'
        row = project.run_sql(f"select * from {project.test_schema}.rebuilt", fetch="one")
        assert tuple(row) == (1, 2)

    def test_a_new_version_gets_the_features_that_its_columns_need(self, project: Any) -> None:
        at = "timestamp_ntz'2024-01-01 12:00:00'"
        variables = ["--vars", f'{{at: "{at}"}}']
        _, output = run_dbt_and_capture(["run", "--select", "zoneless", *variables])
        assert "was upgraded to Delta's table feature timestampNtz" in " ".join(output.split())
        _, output = run_dbt_and_capture(["run", "--select", "zoneless", *variables])
        assert "was upgraded" not in output
        assert len(operations(project, "zoneless")) == 4
