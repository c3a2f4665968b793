"""A million live files are read in a process with little memory, from commits and from a checkpoint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "bench_inventory.py"
FILES = 1_000_000
DRIVER_MEMORY = "1g"
# What docs/auto_compaction.md promises.
MOST_PYTHON_MIB = 1024
MOST_JVM_MIB = 1600


@pytest.mark.skipif(
    "DELTA_MAINT_TEST_ALL" not in os.environ, reason="minutes and half a gigabyte: `make test-all`"
)
def test_a_million_files_fit_into_a_small_driver() -> None:
    asked = f"--files {FILES} --driver-memory {DRIVER_MEMORY} --rounds 1 --alone"
    run = subprocess.run(
        [sys.executable, PROGRAM, *asked.split()], capture_output=True, text=True, timeout=1200
    )
    assert run.returncode == 0, run.stderr[-2000:]
    lines = [line for line in run.stdout.splitlines() if " files " in line]
    assert [line.split()[0] for line in lines] == ["json", "checkpoint"]
    for line in lines:
        found = re.search(r"(\d+) files .* Python (\d+) MiB  JVM (\d+) MiB", line)
        assert found is not None, line
        files, python, jvm = map(int, found.groups())
        assert files > 0.99 * FILES
        assert python < MOST_PYTHON_MIB, line
        assert jvm < MOST_JVM_MIB, line
