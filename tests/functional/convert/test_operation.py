"""`dbt run-operation convert_to_delta` and `undo_convert` as a project uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.functional.convert.source_folders import by_value, ids, put

SOURCES = """
sources:
  - name: raw
    schema: raw_landing
    tables:
      - name: events
        tags: [landing]
        external: {{location: {root}/events}}
      - name: rides
        tags: [landing]
        meta: {{delta_maint: {{location: {root}/rides, partition_by: "day string"}}}}
      - name: declared
"""


class TestOperation:
    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        root = tmp_path_factory.mktemp("landing")
        put(root / "events" / "a.parquet", {"id": ids()})
        by_value(root / "rides", "day", ["2024-01-01", "2024-01-02"])
        put(root / "table" / "a.parquet", {"id": ids()})
        put(root / "bad" / "a.parquet", {"id": ids()})
        (root / "bad" / "b.parquet").write_text("not parquet at all, whatever its name says")
        return root

    @pytest.fixture(scope="class")
    def models(self, landing: Path) -> dict[str, str]:
        return {"sources.yml": SOURCES.format(root=landing)}

    def convert(
        self, expect_pass: bool = True, operation: str = "convert_to_delta", **keys: Any
    ) -> str:
        _, output = run_dbt_and_capture(
            ["run-operation", operation, "--args", yaml.safe_dump(keys)], expect_pass=expect_pass
        )
        return output

    def test_a_dry_run_shows_the_plan_and_writes_only_the_report(
        self, project: Any, landing: Path
    ) -> None:
        output = self.convert(path=str(landing / "rides"), dry_run=True)
        assert "would become a Delta table (2 files" in output
        assert "2 by day date" in output
        assert not (landing / "rides" / "_delta_log").exists()
        (report,) = (Path(project.project_root) / "target" / "delta_maint").glob("convert_*.json")
        assert json.loads(report.read_text())["rows"] == 6

    def test_sources_are_converted_by_tag_and_a_second_run_finds_nothing_to_do(
        self, project: Any, landing: Path
    ) -> None:
        output = self.convert(select="tag:landing")
        assert output.count(": converted: ") == 2
        assert "dbt run-operation undo_convert" in output
        found = project.run_sql(
            f"select day, count(*) from delta.`{landing}/rides` group by day order by day",
            fetch="all",
        )
        assert [tuple(row) for row in found] == [("2024-01-01", 3), ("2024-01-02", 3)]
        again = self.convert(select="tag:landing")
        assert again.count("The table you are trying to convert is already a delta table") == 2
        undone = self.convert(operation="undo_convert", source="raw.events")
        assert "is parquet again (1 files)" in undone
        assert [path.name for path in (landing / "events").iterdir()] == ["a.parquet"]

    def test_a_table_is_converted_by_name_and_taken_back(self, project: Any, landing: Path) -> None:
        name = f"{project.test_schema}.landed"
        project.run_sql(f"create table {name} (id bigint) using parquet location '{landing}/table'")
        assert "catalog entry" in self.convert(table="landed")
        assert "already a delta table" in self.convert(table=name)
        assert "is parquet again" in self.convert(operation="undo_convert", table=name)
        found = project.run_sql(f"select count(*) from {name}", fetch="one")
        assert found[0] == 3

    def test_the_native_engine_is_chosen_by_name(self, project: Any, landing: Path) -> None:
        put(landing / "native" / "k=1" / "a.parquet", {"id": ids()})
        output = self.convert(path=str(landing / "native"), engine="native", dry_run=True)
        assert "engine       native: as asked" in output
        assert "1 by k int" in output
        assert ": converted: 1 files" in self.convert(path=str(landing / "native"), engine="native")
        assert "already a delta table" in self.convert(
            path=str(landing / "native"), engine="native"
        )

    def test_a_native_failure_leaves_nothing_either(self, project: Any, landing: Path) -> None:
        put(landing / "drift" / "a.parquet", {"v": [1]})
        put(landing / "drift" / "b.parquet", {"v": ["x"]})
        for folder, words in (
            ("bad", "DELTA_FAILED_READ_FILE_FOOTER"),
            ("drift", "Delta's own command did not convert"),
        ):
            output = self.convert(expect_pass=False, path=str(landing / folder), engine="native")
            assert words in output
            found = sorted(path.name for path in (landing / folder).iterdir())
            assert found == ["a.parquet", "b.parquet"]

    @pytest.mark.parametrize(
        ("keys", "words"),
        [
            ({"path": "{root}/bad"}, "b.parquet: not a parquet file"),
            ({"pth": "x"}, "did you mean `path`?"),
            ({"source": "raw.nothing"}, "its sources are raw.declared, raw.events, raw.rides"),
            ({"source": "raw.declared"}, "There is no table raw_landing.declared"),
            ({"path": "{root}/`; drop table x; --"}, "doesn't exist"),
        ],
    )
    def test_what_cannot_work_is_one_sentence(
        self, project: Any, landing: Path, keys: dict[str, str], words: str
    ) -> None:
        keys = {name: value.format(root=landing) for name, value in keys.items()}
        output = self.convert(expect_pass=False, **keys)
        assert words in output
        assert "Traceback" not in output
        assert not (landing / "bad" / "_delta_log").exists()

    def test_the_project_still_parses(self, project: Any) -> None:
        run_dbt(["parse"])
