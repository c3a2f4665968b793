"""on_schema_change in all modes: columns come, go and grow as the mode says, or nothing changes."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

MODEL = """
{{{{ config(materialized='incremental', unique_key='id', on_schema_change='{mode}' {config}) }}}}
{{% if is_incremental() %}} {second} {{% else %}} {first} {{% endif %}}
"""
FIRST = "select cast(1 as int) as id, 'a' as gone, cast(1 as int) as grows, 'x' as Kept"
SECOND = "select cast(2 as int) as ID, cast(2 as bigint) as grows, 'y' as kept, 7 as fresh"
NARROWER = "select cast(2 as int) as id, 'b' as gone, cast(2 as smallint) as grows, 'y' as kept"


def columns(project: Any, name: str) -> dict[str, str]:
    rows = project.run_sql(f"describe table {project.test_schema}.{name}", fetch="all")
    return {row[0]: row[1] for row in rows if row[0] and not row[0].startswith("#")}


class TestSchemaChange:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        def model(mode: str, second: str, config: str = "") -> str:
            return MODEL.format(mode=mode, first=FIRST, second=second, config=config)

        return {
            "appended.sql": model("append_new_columns", SECOND),
            "synced.sql": model("sync_all_columns", SECOND),
            "evolved.sql": model("ignore", SECOND, ", merge_with_schema_evolution=true"),
            "failed.sql": model("fail", SECOND),
            "ignored.sql": model("ignore", SECOND),
            "narrowed.sql": model("sync_all_columns", NARROWER),
        }

    @pytest.fixture(scope="class", autouse=True)
    def outcome(self, project: Any) -> dict[str, Any]:
        run_dbt(["run", "--threads", "4"])
        results, output = run_dbt_and_capture(["run", "--threads", "4"], expect_pass=False)
        told = {result.node.name: " ".join(result.message.split()) for result in results}
        return {"output": " ".join(output.split()), **told}

    def test_append_adds_new_columns_and_keeps_the_old(self, project: Any) -> None:
        found = columns(project, "appended")
        assert found == {
            "id": "int", "gone": "string", "grows": "int", "Kept": "string", "fresh": "int",
        }  # fmt: skip
        rows = project.run_sql(
            f"select * from {project.test_schema}.appended order by id", fetch="all"
        )
        assert [tuple(row) for row in rows] == [(1, "a", 1, "x", None), (2, None, 2, "y", 7)]

    def test_sync_drops_adds_and_widens_and_says_the_table_was_upgraded(
        self, project: Any, outcome: dict[str, Any]
    ) -> None:
        assert columns(project, "synced") == {
            "id": "int", "grows": "bigint", "Kept": "string", "fresh": "int",
        }  # fmt: skip
        assert "was upgraded to column mapping by name" in outcome["output"]
        assert "was upgraded to type widening" in outcome["output"]

    def test_a_merge_may_evolve_the_schema_itself(self, project: Any) -> None:
        assert set(columns(project, "evolved")) == {"id", "gone", "grows", "Kept", "fresh"}

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("failed", "new: fresh; missing: gone; other type: grows bigint"),
            ("ignored", "The model no longer has gone, which"),
            ("narrowed", "grows of `spark_catalog`"),
        ],
    )
    def test_what_the_mode_does_not_allow_is_named_and_nothing_changes(
        self, project: Any, outcome: dict[str, Any], name: str, sentence: str
    ) -> None:
        assert sentence in outcome[name]
        assert columns(project, name) == {
            "id": "int", "gone": "string", "grows": "int", "Kept": "string",
        }  # fmt: skip
        history = project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all")
        assert len(history) == 1


CONTRACT = """
models:
  - name: guarded
    config: {contract: {enforced: true}}
    constraints:
      - {type: check, expression: "amount >= 0", name: not_negative}
      - {type: primary_key, columns: [id]}
      - {type: foreign_key, columns: [id], expression: "elsewhere (id)", warn_unenforced: false}
    columns:
      - {name: id, data_type: int, constraints: [{type: not_null}]}
      - {name: amount, data_type: int}
"""
GUARDED = "{{{{ config(materialized='{kind}') }}}} select {id} as id, {amount} as amount"


class TestConstraints:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "guarded.sql": GUARDED.format(kind="table", id="cast(1 as int)", amount="1"),
            "contract.yml": CONTRACT,
        }

    def test_a_violating_model_leaves_the_old_table_and_keys_only_warn(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["run"])
        told = " ".join(output.split())
        assert "constraint type primary_key is not enforced" in told
        assert "constraint type foreign_key is not enforced" not in told
        cases = [
            ("cast(null as int)", "1", "id_not_null"),
            ("cast(2 as int)", "-1", "not_negative"),
        ]
        for kind in ("table", "incremental"):
            for id_, amount, constraint in cases:
                model = GUARDED.format(kind=kind, id=id_, amount=amount)
                if kind == "incremental":
                    model = model.replace("'incremental'", "'incremental', on_schema_change='fail'")
                write_file(model, project.project_root, "models", "guarded.sql")
                results = run_dbt(["run"], expect_pass=False)
                assert constraint in results[0].message
                rows = project.run_sql(f"select * from {project.test_schema}.guarded", fetch="all")
                assert [tuple(row) for row in rows] == [(1, 1)]


DEFAULTED = """
models:
  - name: defaulted
    columns:
      - {name: id}
      - {name: fresh, constraints: [{type: custom, expression: "default 'it''s new'"}]}
"""
ODD = """
models:
  - name: defaulted
    columns:
      - {name: fresh, constraints: [{type: custom, expression: "mask by me"}]}
"""


class TestDefaults:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        model = MODEL.format(
            mode="append_new_columns",
            first="select 1 as id",
            second="select 2 as id, 'given' as fresh",
            config="",
        )
        return {"defaulted.sql": model}

    def test_a_new_column_gets_its_default_for_rows_to_come(self, project: Any) -> None:
        name = f"{project.test_schema}.defaulted"
        run_dbt(["run"])
        write_file(DEFAULTED, project.project_root, "models", "defaults.yml")
        _, output = run_dbt_and_capture(["run"])
        assert "the defaults of fresh are for rows to come" in " ".join(output.split())
        project.run_sql(f"insert into {name} (id) values (3)")
        rows = project.run_sql(f"select id, fresh from {name} order by id", fetch="all")
        assert [tuple(row) for row in rows] == [(1, None), (2, "given"), (3, "it's new")]

        before = project.run_sql(f"describe history {name}", fetch="all")
        _, output = run_dbt_and_capture(["run"])
        after = project.run_sql(f"describe history {name}", fetch="all")
        assert len(after) == len(before) + 1  # the merge alone
        assert "rows to come" not in output

        write_file(ODD, project.project_root, "models", "defaults.yml")
        results = run_dbt(["run"], expect_pass=False)
        assert "only `default <expression>` is known" in results[0].message
        assert len(project.run_sql(f"describe history {name}", fetch="all")) == len(after)
