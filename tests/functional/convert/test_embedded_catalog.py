"""Conversions by name in the catalog that a profile has when it says nothing: Hive's, on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_entries_become_delta_and_come_back(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.functional.convert.embedded_process", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("told: "))
    told = json.loads(line.removeprefix("told: "))
    plain = [[None, 3], ["a b", 3], ["c:d", 3]]
    nested = [[None, 3], ["a b", 6], ["c:d", 3]]
    assert told["before"] == plain
    assert told["rides"] == ["converted", "already_delta", "delta", nested]
    assert told["hive"] == ["converted", "already_delta", "delta", [[1, 3], [2, 3]]]
    assert told["managed"] == ["converted", "already_delta", "delta", [[1, 5]]]
    assert told["rides undone"] == ["undone", "parquet", plain]
    assert told["managed undone"] == ["undone", "parquet", [[1, 5]]]
    assert told["columns"] == ["Id", "k"]
    assert "was a Hive table" in told["hive undone"]
