"""Real processes: one that is killed with -9 at a phase of a conversion, two that convert at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.functional.convert.source_folders import by_value
from tests.functional.convert.test_same_as_native import everything

PHASES = [
    "resolved",
    "listed",
    "read",
    "schema",
    "planned",
    "before_commit",
    "committed",
    "verified",
]
QUICK = ["before_commit", "committed"]
CHOSEN = PHASES if os.environ.get("DELTA_MAINT_TEST_ALL") else QUICK


def start(folder: Path, home: Path, *arguments: str) -> subprocess.Popen[str]:
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.convert_process", str(folder), str(home), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=240)
    return output


@pytest.mark.parametrize("phase", CHOSEN)
def test_a_killed_conversion_leaves_parquet_or_a_whole_table_and_a_rerun_finishes(
    spark: Any, tmp_path: Path, phase: str
) -> None:
    folder = tmp_path / "data"
    by_value(folder, "k", ["1", "2"])
    before = everything(folder)
    process = start(folder, tmp_path / "home", "--die", phase)
    output = finish(process)
    assert process.returncode == -9, output
    if phase in ("committed", "verified"):
        assert spark.sql(f"select count(*) from delta.`{folder}`").collect()[0][0] == 6
        expected = "already_delta"
    else:
        assert everything(folder) == before
        assert spark.read.parquet(str(folder)).count() == 6
        expected = "converted"
    assert f"outcome: {expected}" in finish(start(folder, tmp_path / "home"))


def test_of_two_processes_one_wins_and_the_other_says_so(spark: Any, tmp_path: Path) -> None:
    folder, marks = tmp_path / "data", tmp_path / "marks"
    marks.mkdir()
    by_value(folder, "k", ["1", "2"])
    processes = [
        start(folder, tmp_path / f"home{number}", "--meet", str(marks)) for number in range(2)
    ]
    outputs = [finish(process) for process in processes]
    assert sum("outcome: converted" in output for output in outputs) == 1, outputs
    assert sum("outcome: lost: [DELTA_CONCURRENT_WRITE]" in output for output in outputs) == 1
    assert sorted(p.name for p in (folder / "_delta_log").glob("*.json")) == [f"{0:020}.json"]
    assert spark.sql(f"select count(*) from delta.`{folder}`").collect()[0][0] == 6
