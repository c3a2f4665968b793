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
ZONELESS = FIRST + ", timestamp_ntz'2024-01-01 12:00:00' as at"
WIDE = (
    FIRST
    + ", named_struct("
    + ", ".join(f"'f{number}', {number}" for number in range(30))
    + ") as wide, named_struct('a b', 1, 'c.d', 2, 'e`f', 3) as odd"
)
STRUCT = "select cast({id} as int) as id, named_struct({fields}) as s"
SMALL = STRUCT.format(id=1, fields="'a', 1, 'b', 2")
GROWN = STRUCT.format(id=2, fields="'a', 1, 'b', 2, 'c', named_struct('d', 3)")
MIXED = STRUCT.format(id=2, fields="'b', 2, 'a', 1")
APPENDED = ", incremental_strategy='append'"
MAPPED = ", tblproperties={'delta.columnMapping.mode': 'name'}"
REPLACE = ", incremental_strategy='replace_where', incremental_predicates='id = 2'"
NARROWER = "select cast(2 as int) as id, 'b' as gone, cast(2 as smallint) as grows, 'y' as kept"


def columns(project: Any, name: str) -> dict[str, str]:
    rows = project.run_sql(f"describe table {project.test_schema}.{name}", fetch="all")
    return {row[0]: row[1] for row in rows if row[0] and not row[0].startswith("#")}


@pytest.mark.portable(in_all=True)
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
            "replaced.sql": model("append_new_columns", SECOND, REPLACE),
            "zoneless.sql": model("append_new_columns", ZONELESS),
            "evolved_zoneless.sql": model("ignore", ZONELESS, ", merge_with_schema_evolution=true"),
            "wide.sql": model("sync_all_columns", WIDE, MAPPED),
            "grown.sql": model("sync_all_columns", GROWN).replace(FIRST, SMALL),
            "grown_by_insert.sql": model("append_new_columns", GROWN, APPENDED).replace(
                FIRST, SMALL
            ),
            "mixed.sql": model("ignore", MIXED, APPENDED).replace(FIRST, SMALL),
            "spaced.sql": model("append_new_columns", FIRST + ", 1 as `a b`"),
            "unparted.sql": model("sync_all_columns", SECOND, ", partition_by='gone'"),
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

    def test_replaced_rows_have_null_where_the_model_has_no_column(self, project: Any) -> None:
        rows = project.run_sql(
            f"select * from {project.test_schema}.replaced order by id", fetch="all"
        )
        assert [tuple(row) for row in rows] == [(1, "a", 1, "x", None), (2, None, 2, "y", 7)]

    def test_a_new_type_gives_the_table_the_feature_it_needs_and_says_so(
        self, project: Any, outcome: dict[str, Any]
    ) -> None:
        for name in ("zoneless", "evolved_zoneless"):
            assert columns(project, name)["at"] == "timestamp_ntz"
        assert "was upgraded to timestamps without time zone" in outcome["output"]
        assert "was upgraded to Delta's table feature timestampNtz" in outcome["output"]

    def test_a_new_structure_keeps_all_its_fields_and_their_names(self, project: Any) -> None:
        row = project.run_sql(
            f"select wide.f29, odd.`a b`, odd.`c.d`, odd.`e``f` from {project.test_schema}.wide",
            fetch="one",
        )
        assert tuple(row) == (29, 1, 2, 3)

    def test_structures_grow_and_their_fields_are_never_mixed_up(
        self, project: Any, outcome: dict[str, Any]
    ) -> None:
        for name in ("grown", "grown_by_insert"):
            rows = project.run_sql(
                f"select id, s.a, s.b, s.c.d from {project.test_schema}.{name} order by id",
                fetch="all",
            )
            assert [tuple(row) for row in rows] == [(1, 1, 2, None), (2, 1, 2, 3)]
        assert "s.a of `spark_catalog`" in outcome["mixed"]
        assert "stands at another place in the model" in outcome["mixed"]

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("failed", "new: fresh; missing: gone; other type: grows bigint"),
            ("ignored", "The model no longer has gone, which"),
            ("narrowed", "grows of `spark_catalog`"),
            ("spaced", "`tblproperties: {delta.columnMapping.mode: name}`"),
            ("unparted", "The model no longer has gone, by which"),
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
                # Where the rows are added to, the schema itself says NOT NULL.
                in_schema = constraint == "id_not_null" and kind == "incremental"
                expected = (
                    "NOT NULL constraint violated for column: id" if in_schema else constraint
                )
                assert expected in results[0].message
                rows = project.run_sql(f"select * from {project.test_schema}.guarded", fetch="all")
                assert [tuple(row) for row in rows] == [(1, 1)]


LATER = (
    "{{ config(materialized='incremental', on_schema_change='fail') }} select 1 as id, %s as amount"
)
LATER_CONTRACT = """
models:
  - name: later
    config: {contract: {enforced: true}}
    constraints: [CHECKS]
    columns:
      - {name: id, data_type: int, constraints: [NULLS]}
      - {name: amount, data_type: int}
"""


class TestConstraintsOfATableThatIsThere:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        contract = LATER_CONTRACT.replace("CHECKS", "").replace("NULLS", "")
        return {"later.sql": LATER % 5, "contract.yml": contract}

    def test_what_a_contract_got_later_holds_from_the_next_run_on(self, project: Any) -> None:
        def wants(check: str, amount: int, *, passes: bool = True) -> Any:
            text = LATER_CONTRACT.replace(
                "CHECKS", f"{{type: check, expression: '{check}', name: Low}}"
            )
            text = text.replace("NULLS", "{type: not_null}")
            write_file(text, project.project_root, "models", "contract.yml")
            write_file(LATER % amount, project.project_root, "models", "later.sql")
            return run_dbt(["run"], expect_pass=passes)[0]

        def found() -> tuple[list[int], int]:
            rows = project.run_sql(f"select amount from {table} order by 1", fetch="all")
            history = project.run_sql(f"describe history {table}", fetch="all")
            return [row[0] for row in rows], len(history)

        table = f"{project.test_schema}.later"
        run_dbt(["run"])
        # The row that is there breaks it: nothing changes, the new row is not added.
        assert "1 rows in" in wants("amount > 5", 9, passes=False).message
        assert found() == ([5], 1)
        assert wants("amount > 4", 6).status == "success"
        assert found()[0] == [5, 6]
        # Wanted again, it is there already: one commit, of the row.
        commits = found()[1]
        assert wants("amount > 4", 7).status == "success"
        assert found() == ([5, 6, 7], commits + 1)
        assert "low" in wants("amount > 4", 3, passes=False).message
        assert wants("amount > 2", 3).status == "success"
        assert found()[0] == [3, 5, 6, 7]
        with pytest.raises(Exception, match="NOT NULL"):
            project.run_sql(f"insert into {table} values (null, 9)")


ODD_CONTRACT = """
models:
  - name: odd
    config: {contract: {enforced: true}}
    constraints:
      - {type: not_null, columns: ["tick`ed"]}
    columns:
      - {name: select, data_type: string, constraints: [{type: check, expression: "`select` <> ''", name: it's odd}]}
      - {name: Mixed Case, data_type: int, constraints: [{type: not_null}]}
      - {name: dotted.name, data_type: "struct<`a b`:int>", constraints: [{type: not_null}]}
      - {name: "tick`ed", data_type: "decimal(10,2)"}
      - {name: free, data_type: int}
"""
ODD_MODEL = """
{{ config(materialized='table', tblproperties={'delta.columnMapping.mode': 'name'}) }}
select 1 as `Mixed Case`, 'a' as `select`, named_struct('a b', 1) as `dotted.name`,
       {{ var('ticked', 'cast(1 as decimal(10,2))') }} as `tick``ed`, 2 as free
"""


class TestOddContract:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"odd.sql": ODD_MODEL, "contract.yml": ODD_CONTRACT}

    def test_not_null_stands_in_the_schema_whatever_the_column_is_called(
        self, project: Any
    ) -> None:
        name = f"{project.test_schema}.odd"
        for _ in range(2):
            run_dbt(["run"])
            with project.adapter.connection_named("look"):
                schema = project.adapter._spark.table(name).schema
            assert {field.name: field.nullable for field in schema} == {
                "select": True,
                "Mixed Case": False,
                "dotted.name": False,
                "tick`ed": False,
                "free": True,
            }
        results = run_dbt(
            ["run", "--vars", "{ticked: 'cast(null as decimal(10,2))'}"], expect_pass=False
        )
        assert "tick_ed" in results[0].message
        assert len(project.run_sql(f"select * from {name}", fetch="all")) == 1
        with pytest.raises(Exception, match="NOT_NULL_CONSTRAINT_VIOLATED"):
            project.run_sql(
                f"insert into {name} select 'x', null, `dotted.name`, `tick``ed`, 1 from {name}"
            )
        with pytest.raises(Exception, match="it's odd"):
            project.run_sql(
                f"insert into {name} select '', `Mixed Case`, `dotted.name`, `tick``ed`, 1 from {name}"
            )


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
