"""What a Spark server does another way, or not at all: told before anything is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.functional.convert.source_folders import by_value, ids, put

pytestmark = pytest.mark.portable(only_on=["connect", "thrift"])

GROWING = "select id, cast(id % 2 as int) as p from range(0, 40, 1, 4)"
ARROW = "{'policy': 'eager', 'rewrite': 'arrow', 'on_error': 'fail'}"
AUTO = "{'policy': 'eager', 'rewrite': 'auto'}"
PLACED = "partition_by='p', optimized_write='exact', target_file_size='1mb'"
PYTHON = """
def model(dbt, spark):
    return spark.range(3)
"""
WITHOUT_ARROW = {
    "connect": "this connection has no Java virtual machine",
    "thrift": "this connection knows only SQL",
}


class TestOtherWays:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        table = "{{{{ config(materialized='table', {}) }}}}\n" + GROWING
        return {
            "by_arrow.sql": table.format(f"auto_compact={ARROW}"),
            "by_either.sql": table.format(f"auto_compact={AUTO}"),
            "placed.sql": table.format(PLACED),
            "by_chance.sql": table.format(PLACED) + " where rand() >= 0.000001",
            "in_python.py": PYTHON,
        }

    def operation(self, name: str, *, expect_pass: bool = True, **keys: Any) -> str:
        command = ["run-operation", name, "--args", yaml.safe_dump(keys)]
        _, output = run_dbt_and_capture(command, expect_pass=expect_pass)
        return str(output)

    def test_a_folder_is_converted_by_deltas_own_command_behind_our_preflight(
        self, project: Any, tmp_path: Path
    ) -> None:
        by_value(tmp_path / "rides", "day", ["2024-01-01", "2024-01-02"])
        output = self.operation("convert_to_delta", path=str(tmp_path / "rides"), dry_run=True)
        assert "would become a Delta table (2 files" in output
        assert not (tmp_path / "rides" / "_delta_log").exists()
        output = self.operation("convert_to_delta", path=str(tmp_path / "rides"))
        assert "engine       native: this connection goes to a Spark server" in output
        assert "way back, until something is written to it, on `method: session`" in output
        assert (tmp_path / "rides" / "_delta_log" / f"{0:020d}.json").exists()

    def test_what_needs_the_driver_names_the_method_that_has_it(
        self, project: Any, tmp_path: Path
    ) -> None:
        put(tmp_path / "one" / "a.parquet", {"id": ids()})
        path = str(tmp_path / "one")
        output = self.operation("undo_convert", path=path, expect_pass=False)
        assert "undo_convert needs Spark inside dbt" in output
        assert "use `method: session`" in output
        output = self.operation("convert_to_delta", path=path, engine="footer", expect_pass=False)
        assert "use `method: session`" in output
        assert not (tmp_path / "one" / "_delta_log").exists()

    def test_arrow_is_refused_and_auto_says_why_it_takes_optimize(
        self, project: Any, method: str
    ) -> None:
        _, output = run_dbt_and_capture(["run", "--select", "by_arrow"], expect_pass=False)
        assert "cannot be rewritten by Arrow" in output
        _, output = run_dbt_and_capture(["run", "--select", "by_either"])
        assert "compacted 4 -> 1 files" in output
        assert f"rewritten by OPTIMIZE: {WITHOUT_ARROW[method]}" in output

    def test_an_exact_write_says_where_its_plan_came_from(self, project: Any) -> None:
        (result,) = run_dbt(["run", "--select", "placed"]).results
        told = result.adapter_response["optimized_write"]
        assert told["mode"] == "exact"
        assert "EXPLAIN" in told["reason"]
        assert told["files"] == 2

    def test_rows_that_depend_on_chance_are_not_counted_where_nobody_can_keep_them(
        self, project: Any, method: str
    ) -> None:
        (result,) = run_dbt(["run", "--select", "by_chance"]).results
        told = result.adapter_response["optimized_write"]
        assert told["files"] == 2
        if method == "thrift":
            assert told["mode"] == "rebalance"
            assert "SQL alone cannot keep its rows" in told["reason"]
        else:
            assert told["mode"] == "exact"

    @pytest.mark.portable(only_on=["thrift"])
    def test_a_python_model_names_the_methods_that_run_it(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["run", "--select", "in_python"], expect_pass=False)
        assert "Python models: method thrift cannot do this" in output
        assert "use `method: session`, or `method: connect`" in output
