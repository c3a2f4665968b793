"""`catalog: thrift://...`: what several dbt processes on one warehouse need."""

from __future__ import annotations

import json
from pathlib import Path

from tests.functional.dbt_process import DbtFolder
from tests.functional.hive_metastore import free_port, hive_metastore

ONE = "{{ config(materialized='incremental', unique_key='id') }} select 1 as id, 'x' as name"
TWO = "{{ config(materialized='table') }} select count(*) as n from {{ source('lake', 'one') }}"
SOURCES = "sources: [{name: lake, schema: analytics, tables: [{name: one}]}]"


def test_two_processes_share_a_warehouse_through_a_metastore(tmp_path: Path) -> None:
    with hive_metastore(tmp_path / "metastore") as uri:
        keys = {"catalog": uri, "warehouse": str(tmp_path / "lake")}
        first = DbtFolder.create(tmp_path / "first", {"one.sql": ONE}, **keys)
        second = DbtFolder.create(
            tmp_path / "second", {"two.sql": TWO, "sources.yml": SOURCES}, **keys
        )
        assert "PASS=1" in first.run("run")
        again = first.start("run")
        assert "PASS=1" in second.run("run")
        output, _ = again.communicate(timeout=300)
        assert "PASS=1" in output
    results = json.loads((second.root / "target" / "run_results.json").read_text())["results"]
    assert results[0]["adapter_response"]["rows_affected"] == 1
    assert (tmp_path / "lake/analytics.db/one/_delta_log").is_dir()
    assert not (tmp_path / "lake/_catalog").exists()


def test_a_metastore_that_does_not_answer_is_named(tmp_path: Path) -> None:
    uri = f"thrift://127.0.0.1:{free_port()}"
    folder = DbtFolder.create(tmp_path / "shop", {"one.sql": ONE}, catalog=uri)
    output = folder.run("run", expect=2)
    assert uri in output
    assert "does not answer" in output
    assert "\tat " not in output
