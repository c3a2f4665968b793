"""kill -9 in the middle of compaction: the table is as it was, and the next run needs no repair."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.sql_text import identifier

from tests.functional.compaction.small_table import SmallTable

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["delta", "arrow"])
@pytest.mark.parametrize("moment", ["during rewrite", "before commit"])
def test_a_killed_compaction_leaves_the_table_as_it_was(
    spark: Any, tmp_path: Path, moment: str, engine: str
) -> None:
    folder = tmp_path / "t"
    table = SmallTable(spark.newSession(), f"delta.{identifier(str(folder))}", engine)
    table.run("create table {t} (id bigint, p int) using delta")
    table.append(12, rows=50)
    rows, version = table.rows(), table.snapshot().version
    files = set(folder.glob("*.parquet"))
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.compaction_victim", str(folder), moment, engine],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline().strip() == "READY"
    finally:
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait(30)
    if moment == "before commit":
        assert set(folder.glob("*.parquet")) > files, "the rewrite had written nothing yet"
    assert table.snapshot().version == version
    assert table.rows() == rows
    assert table.compact().errors == []
    assert table.files() == {(): 1}
    assert table.rows() == rows
    assert not table.compact().did_something
