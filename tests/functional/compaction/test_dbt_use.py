"""Compaction as dbt users ask for it: a config, a hook, deferred to the end of the run, an operation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.lake.commit_mark import read_mark
from dbt.tests.util import run_dbt, run_dbt_and_capture

GROWING = "select id, cast(id % 2 as int) as p from range({files} * 4, {files} * 8, 1, {files})"
EAGER = "{'policy': 'eager'}"


def model(config: str, *, files: int = 4) -> str:
    return f"{{{{ config(materialized='incremental', {config}) }}}}\n" + GROWING.format(files=files)


def history(project: Any, name: str) -> list[Any]:
    rows = project.run_sql(f"describe history {project.test_schema}.{name}", fetch="all")
    return sorted(rows, key=lambda row: row[0])


def operations(project: Any, name: str) -> list[str]:
    return [row[4] for row in history(project, name)]


def compactions(project: Any) -> list[dict[str, Any]]:
    folder = Path(project.project_root) / "target" / "delta_maint"
    newest = max(folder.glob("compaction-*.json"), key=lambda path: path.stat().st_mtime)
    found: list[dict[str, Any]] = json.loads(newest.read_text())["compactions"]
    return found


@pytest.mark.portable
class TestConfig:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "eager.sql": model(f"auto_compact={EAGER}"),
            "usual.sql": model("auto_compact=true"),
            "silent.sql": model("tags=['quiet']"),
            "by_property.sql": model(
                "tblproperties={'delta.autoOptimize.autoCompact': 'true'}", files=9
            ),
            "odd.sql": model("auto_compact={'polcy': 'eager'}, enabled=var('odd', false)"),
        }

    def test_a_model_is_compacted_when_it_is_worth_it_and_says_so(self, project: Any) -> None:
        results, output = run_dbt_and_capture(["run"])
        by_name = {result.node.name: result for result in results}
        assert "eager`: compacted 4 -> 1 files" in output
        assert "usual`: skipped: 4 small files" in output
        told = [line for line in output.splitlines() if "auto_compact" in line]
        assert len(told) == 3, told
        assert operations(project, "eager")[-1] == "OPTIMIZE"
        assert "OPTIMIZE" not in operations(project, "usual") + operations(project, "silent")
        numbers = by_name["eager"].adapter_response["auto_compact"]
        assert (numbers["files_removed"], numbers["files_added"]) == (4, 1)
        assert by_name["usual"].adapter_response["auto_compact"]["outcome"].startswith("skip")
        assert "auto_compact" not in by_name["silent"].adapter_response
        # The table's own property is enough, with Delta's own hook switched off.
        assert operations(project, "by_property") == [
            "CREATE OR REPLACE TABLE AS SELECT",
            "OPTIMIZE",
        ]
        found = {entry["table"].split("`")[-2]: entry for entry in compactions(project)}
        assert found["eager"]["bytes_removed"] > 0
        assert found["usual"]["skipped"][0]["reason"].startswith("4 small files")

        rewritten = run_dbt(["run", "--select", "eager"])
        numbers = rewritten.results[0].adapter_response["auto_compact"]
        assert numbers["files_removed"] == 5
        commits = history(project, "eager")
        marks = [read_mark(row[-2]) for row in commits]
        assert [mark.action if mark else None for mark in marks] == [
            "write",
            "compact",
            "write",
            "compact",
        ]
        assert marks[0].node == "model.test.eager"

    def test_a_setting_that_is_not_known_is_refused_with_the_nearest(self, project: Any) -> None:
        results = run_dbt(["run", "--select", "odd", "--vars", "odd: true"], expect_pass=False)
        assert "did you mean policy?" in results[0].message

    def test_the_off_switch_wins(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        before = len(operations(project, "eager"))
        run_dbt(["run", "--select", "eager", "--vars", "delta_maint_auto_compact: false"])
        monkeypatch.setenv("DELTA_MAINT_AUTO_COMPACT", "false")
        run_dbt(["run", "--select", "eager"])
        assert operations(project, "eager")[before:] == ["WRITE", "WRITE"]


@pytest.mark.portable(in_all=True)
class TestHookAndOperation:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        hook = "post_hook=\"{{ auto_compact(policy='eager') }}\""
        view = (
            "{{ config(materialized='view', post_hook=\"{{ auto_compact() }}\") }} select 1 as id"
        )
        return {
            "hooked.sql": model(hook),
            "flat.sql": model(f"partition_by='p', {hook}"),
            "seen.sql": view,
            "later.sql": model("auto_compact='deferred', tags=['cold']", files=9),
            "cold.sql": model("partition_by='p', tags=['cold']", files=9),
            "wide_a.sql": model("partition_by='p', tags=['wide']", files=9),
            "wide_b.sql": model("partition_by='p', tags=['wide']", files=9),
        }

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"on-run-end": ["{{ compact_deferred() }}"]}

    def test_hook_deferred_and_operation(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["run"])
        assert "hooked`: compacted 4 -> 1 files" in output
        assert "flat`: compacted 8 -> 2 files" in output
        assert "seen`: skipped: it is a view, not a Delta table" in output
        # deferred: done once, at the end, after the last model
        assert output.index("later`: compacted 9 -> 1 files") > output.rindex("OK created")
        assert operations(project, "later")[-1] == "OPTIMIZE"
        assert "OPTIMIZE" not in operations(project, "cold")

        arguments = "{select: ['tag:cold'], dry_run: true}"
        _, output = run_dbt_and_capture(["run-operation", "compact", "--args", arguments])
        assert "cold`: 18 -> 2 files in 2 partitions" in output
        assert "p=0" in output
        assert "OPTIMIZE" not in operations(project, "cold")
        planned = {entry["table"].split("`")[-2]: entry for entry in compactions(project)}["cold"]

        run_dbt(["run-operation", "compact", "--args", "{select: cold, rewrite: auto}"])
        done = {entry["table"].split("`")[-2]: entry for entry in compactions(project)}["cold"]
        assert operations(project, "cold")[-1] == "OPTIMIZE"
        assert (done["files_removed"], done["files_added"]) == (18, 2)
        assert done["chosen"] == planned["chosen"]
        assert (planned["rewriter"], done["rewriter"]) == ("delta", "arrow")
        assert done["notes"] == ["rewritten by Arrow"]

        # A second time there is nothing left, and nothing is rewritten.
        _, output = run_dbt_and_capture(["run-operation", "compact", "--args", "{select: cold}"])
        assert "cold`: skipped: " in output
        assert operations(project, "cold").count("OPTIMIZE") == 1

    def test_one_budget_for_all_tables_also_in_a_dry_run(self, project: Any) -> None:
        """Two tables of two partitions each, named twice, and three partitions to spend."""
        schema = project.test_schema
        select = f"['tag:wide', wide_a, {schema}.wide_b, spark_catalog.{schema}.`wide_b`]"
        said = f"select: {select}, budget: {{max_partitions: 3}}"
        for dry_run in (True, False):
            arguments = f"{{{said}, dry_run: {str(dry_run).lower()}, format: json}}"
            _, output = run_dbt_and_capture(["run-operation", "compact", "--args", arguments])
            lines = [line[line.index('{"rel') :] for line in output.splitlines() if '{"rel' in line]
            plans = [json.loads(line) for line in lines]
            assert sorted(len(plan["chosen"]) for plan in plans) == [1, 2]
            assert [plan["schema_version"] for plan in plans] == [1, 1]
            left = [skip["reason"] for plan in plans for skip in plan["skipped"]]
            assert left == ["the budget has room for 1 partition, and others are worth more"]
        names = ("wide_a", "wide_b")
        assert [operations(project, name).count("OPTIMIZE") for name in names] == [1, 1]

    def test_a_partition_in_which_a_stream_merges_waits(self, project: Any, spark: Any) -> None:
        name = f"{project.test_schema}.streamed"
        stream = spark.newSession()
        stream.sql(f"create table {name} using delta as select id from range(0, 9, 1, 9)")
        for key, value in {"txnAppId": "ingest", "txnVersion": "1"}.items():
            stream.conf.set(f"spark.databricks.delta.write.{key}", value)
        stream.sql(f"update {name} set id = 100 where id = 3")
        compact = ["run-operation", "compact", "--args"]
        _, output = run_dbt_and_capture([*compact, f"{{select: {name}}}"])
        assert "streamed`: skipped: the stream ingest changed rows here" in output
        settings = "settings: {avoid_writers: none}"
        _, output = run_dbt_and_capture([*compact, f"{{select: {name}, {settings}}}"])
        assert "streamed`: compacted 9 -> 1 files" in output

    def test_trouble_of_an_operation_fails_it_only_when_asked_to(self, project: Any) -> None:
        bad = "zorder: nowhere, policy: eager"
        compact = ["run-operation", "compact", "--args"]
        said = f"select: cold, force: true, zorder: true, settings: {{{bad}}}"
        project.run_sql(
            f"insert into {project.test_schema}.cold select id, 0 from range(0, 4, 1, 4)"
        )
        _, output = run_dbt_and_capture([*compact, f"{{{said}}}"])
        assert "nowhere" in output
        said = said.replace(bad, f"{bad}, on_error: fail")
        run_dbt([*compact, f"{{{said}}}"], expect_pass=False)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ("{select: '+cold'}", "dbt ls"),
            ("{select: nobody}", "matches no table"),
            ("{budget: ten}", "budget is 'ten'"),
            ("{settings: {policy: all}}", "use one of bins, count, eager"),
            ("{rewrite: rust}", "rewrite is 'rust': use one of auto, arrow, delta"),
            ("{dry_run: maybe}", "dry_run is 'maybe'"),
            ("{format: html}", "format is 'html'"),
            ("{settings: eager}", "settings is 'eager'"),
            ("{settings: {quiet_seconds: soon}}", "quiet_seconds is 'soon'"),
        ],
    )
    def test_arguments_that_cannot_be_are_refused_before_anything_runs(
        self, project: Any, arguments: str, sentence: str
    ) -> None:
        _, output = run_dbt_and_capture(
            ["run-operation", "compact", "--args", arguments], expect_pass=False
        )
        assert sentence in output


class TestEdges:
    """Trouble is a warning unless the model says otherwise; batches and deferral wait for the end."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        broken = "{'policy': 'eager', 'zorder': 'nowhere'"
        batches = (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', "
            "event_time='at', batch_size='day', begin='2026-01-01', auto_compact={'policy': 'eager'}"
            ") }} select id, timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id % 2 as int)) "
            "as at from range(0, 8, 1, 2)"
        )
        native = (
            "auto_compact=true, pre_hook='set spark.databricks.delta.autoCompact.enabled = true'"
        )
        return {
            "warned.sql": model(f"auto_compact={broken}}}"),
            "failed.sql": model(f"auto_compact={broken}, 'on_error': 'fail'}}"),
            "batched.sql": batches,
            "native.sql": model(native),
        }

    def test_edges(self, project: Any) -> None:
        results, output = run_dbt_and_capture(
            ["run", "--event-time-start", "2026-01-01", "--event-time-end", "2026-01-03"],
            expect_pass=False,
        )
        statuses = {result.node.name: str(result.status) for result in results}
        assert statuses == {
            "warned": "success",
            "failed": "error",
            "batched": "success",
            "native": "success",
        }
        assert output.count("nowhere") >= 2
        assert "OPTIMIZE" not in operations(project, "warned") + operations(project, "batched")
        # Deferred, because it has batches; and nothing at the end would do it.
        assert output.count('add on-run-end: "{{ compact_deferred() }}"') == 1
        assert "native`: left to Delta's own" in output
        rows = project.run_sql(f"select count(*) from {project.test_schema}.batched", fetch="one")
        assert rows[0] == 8


@pytest.mark.portable(in_all=True)
class TestZorder:
    """The columns wait in the config until a partition is rewritten anyway, or is asked for."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "ordered.sql": model(f"zorder=['p', 'id'], auto_compact={EAGER}"),
            "waiting.sql": model("zorder='id', tags=['waiting']"),
        }

    def test_zorder_columns_are_applied_where_files_are_rewritten(self, project: Any) -> None:
        run_dbt(["run"])
        assert operations(project, "waiting") == ["CREATE OR REPLACE TABLE AS SELECT"]
        optimized = history(project, "ordered")[-1]
        assert (optimized[4], optimized[5]["zOrderBy"]) == ("OPTIMIZE", '["p","id"]')

        plain = "{select: 'tag:waiting', force: true}"
        run_dbt(["run-operation", "compact", "--args", plain])
        assert history(project, "waiting")[-1][5]["zOrderBy"] == "[]"
        run_dbt(["run", "--select", "waiting"])
        ordered = "{select: 'tag:waiting', force: true, zorder: true}"
        run_dbt(["run-operation", "compact", "--args", ordered])
        assert history(project, "waiting")[-1][5]["zOrderBy"] == '["id"]'
