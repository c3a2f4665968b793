"""delta_optimized and optimized_write in dbt: every strategy, first build to incremental run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

SOURCE = """
{{ config(materialized='table') }}
select id, cast(id % 5 as int) as part, concat('name ', id) as name, id * 1.5 as amount
from range(0, 2000, 1, 4)
"""
MODEL = """
{{{{ config(materialized='{materialized}', partition_by='part', {config}) }}}}
select * from {{{{ ref('source') }}}}
{{% if is_incremental() %}} where id >= 1000 {{% endif %}}
"""
SCATTERED = """
{{ config(materialized='delta_optimized', partition_by='day') }}
select id, cast(id % 250 as int) as day from {{ ref('source') }}
"""
PYTHON = """
def model(dbt, spark):
    dbt.config(materialized="delta_optimized", partition_by="part", unique_key="id")
    frame = dbt.ref("source")
    if dbt.is_incremental:
        return frame.where("id >= 1000").withColumn("name", frame.part.cast("string"))
    return frame
"""


def model(config: str = "", materialized: str = "delta_optimized") -> str:
    return MODEL.format(config=config, materialized=materialized)


def rows(project: Any, name: str, what: str = "count(*)") -> Any:
    return project.run_sql(f"select {what} from {project.test_schema}.{name}", fetch="one")[0]


def history(project: Any, name: str) -> list[Any]:
    """Newest first."""
    return list(
        project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all") or []
    )


def response(results: Any, name: str) -> dict[str, Any]:
    found = {result.node.name: result for result in results}[name]
    return dict(found.adapter_response)


@pytest.mark.portable
class TestMaterialization:
    @pytest.fixture(scope="class")
    def models(self, runs_python: bool) -> dict[str, str]:
        return {
            "source.sql": SOURCE,
            "appended.sql": model(),
            "merged.sql": model("unique_key='id'"),
            "overwritten.sql": model("incremental_strategy='insert_overwrite'"),
            "replaced.sql": model(
                "incremental_strategy='replace_where', incremental_predicates=['id >= 1000']"
            ),
            "deleted.sql": model("incremental_strategy='delete+insert', unique_key='id'"),
            "by_strategy.sql": model(
                "incremental_strategy='optimized_write', unique_key='id'", "incremental"
            ),
            "by_strategy_append.sql": model(
                "incremental_strategy='optimized_write'", "incremental"
            ),
            "by_config.sql": model("optimized_write='exact'", "table"),
            "switched_off.sql": model("optimized_write='off'"),
            # Built by its own test.
            "scattered.sql": SCATTERED,
            **({"in_python.py": PYTHON} if runs_python else {}),
        }

    @pytest.fixture(scope="class")
    def built(self, project: Any) -> Any:
        first = run_dbt(["run", "--exclude", "scattered"])
        second = run_dbt(["run", "--exclude", "scattered"])
        return first, second

    @pytest.mark.parametrize(
        ("name", "expected", "mode"),
        [
            ("appended", 3000, "rebalance"),
            ("merged", 2000, "delta"),
            ("overwritten", 1000, "rebalance"),
            ("replaced", 2000, "rebalance"),
            ("deleted", 2000, "delta"),
            ("by_strategy", 2000, "delta"),
            ("by_strategy_append", 3000, "rebalance"),
            ("by_config", 2000, "exact"),
            ("in_python", 2000, "delta"),
        ],
    )
    def test_every_strategy_writes_what_it_promises(
        self, project: Any, built: Any, runs_python: bool, name: str, expected: int, mode: str
    ) -> None:
        if name == "in_python" and not runs_python:
            pytest.skip("this method runs no Python models")
        first, second = built
        assert rows(project, name) == expected
        told = response(second, name)["optimized_write"]
        assert told["mode"] == mode
        assert response(first, name)["optimized_write"]["files"] == 5
        assert "wrote 5 files" in response(first, name)["_message"]
        assert "target, one file per partition value)" in response(first, name)["_message"]

    def test_off_is_a_plain_write(self, project: Any, built: Any) -> None:
        assert rows(project, "switched_off") == 3000
        assert "wrote" not in response(built[0], "switched_off")["_message"]

    def test_the_commit_says_who_wrote_it_and_what_was_expected(
        self, project: Any, built: Any
    ) -> None:
        mark = json.loads(history(project, "by_config")[0][13])
        assert mark["tool"] == "dbt-delta-maint"
        assert mark["node"] == "model.test.by_config"
        assert mark.get("mode") == "exact", history(project, "by_config")
        # The second build believed the files of the first.
        assert mark["source"] in ("recent commits", "partition values")

    def test_over_partitioning_is_told_with_its_numbers(self, project: Any) -> None:
        results, output = run_dbt_and_capture(["run", "--select", "source", "scattered"])
        assert response(results, "scattered")["optimized_write"]["files"] == 250
        assert "250 partition values got less than 1 MiB each" in output
        assert "which 1 file of 128 MiB would hold: consider a coarser" in output

    def test_a_plan_can_be_read_without_writing(self, project: Any, built: Any) -> None:
        before = len(history(project, "by_config"))
        for name, sentences in {
            "by_config": [
                "exact (asked for",
                "5 files",
                "bytes per row, from:",
                "0: 400 rows, 1 x",
            ],
            "merged": ["delta (merge is written by Delta)"],
        }.items():
            _, output = run_dbt_and_capture(
                ["run-operation", "plan_write", "--args", f"{{model: {name}}}"]
            )
            for sentence in sentences:
                assert sentence in output
        assert len(history(project, "by_config")) == before

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [("nobody", "no model named 'nobody'"), ("in_python", "in_python is a Python model")],
    )
    def test_a_plan_of_what_cannot_be_planned_is_refused(
        self, project: Any, built: Any, runs_python: bool, name: str, sentence: str
    ) -> None:
        if name == "in_python" and not runs_python:
            pytest.skip("this method runs no Python models")
        _, output = run_dbt_and_capture(
            ["run-operation", "plan_write", "--args", f"{{model: {name}}}"], expect_pass=False
        )
        assert sentence in output

    def test_a_full_refresh_keeps_the_history(self, project: Any, built: Any) -> None:
        run_dbt(["run", "--full-refresh", "--select", "appended"])
        assert rows(project, "appended") == 2000
        assert len(history(project, "appended")) == 3


@pytest.mark.portable(in_all=True)
class TestRefusals:
    """A config that cannot work stops the model before anything is written."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "source.sql": SOURCE,
            "mode.sql": model("optimized_write='fast'"),
            "size.sql": model("target_file_size='many'"),
            "small.sql": model("target_file_size='1k'"),
            "order.sql": model("write_order='nobody'"),
            "sorted.sql": model("sorted_query='maybe'"),
            "factor.sql": model("small_partition_factor=3"),
            "parquet.sql": model("file_format='parquet'"),
        }

    @pytest.fixture(scope="class", autouse=True)
    def built(self, project: Any) -> None:
        run_dbt(["run", "--select", "source"])

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("mode", "optimized_write is 'fast': use one of auto, exact, rebalance, delta, off."),
            ("size", "target_file_size is 'many': write a number of bytes or a size such as"),
            ("small", "target_file_size is '1k': files below 64 KiB are all footer"),
            ("order", "write_order names 'nobody', which order does not select"),
            ("sorted", "sorted_query is 'maybe': use one of skip, within."),
            ("factor", "small_partition_factor is 3: use a number from 0 to 1."),
            ("parquet", "optimized_write places rows for Delta, but file_format is 'parquet'"),
        ],
    )
    def test_the_sentence_names_the_way_out(self, project: Any, name: str, sentence: str) -> None:
        results, _ = run_dbt_and_capture(["run", "--select", name], expect_pass=False)
        assert sentence in results[0].message
        assert not Path(project.project_root, "target", "run", "test", f"{name}.sql").exists()
