"""Footers are read where this package is not installed; a bad file is an answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dbt.adapters.delta_maint.lake import footers
from dbt.adapters.delta_maint.lake.footer_reader import read_footers

WORKER = """
import sys
sys.modules["dbt"] = None
from pyspark import cloudpickle
work, files, options = cloudpickle.loads(sys.stdin.buffer.read())
schemas, rows = work(files, options)
print(len(schemas), [(row[0], row[1], row[4]) for row in rows])
"""


def options(**changes: Any) -> dict[str, Any]:
    found = footers.reader_options({}, [], statistics=True, string_prefix=32)
    return {**found, **changes}


@pytest.fixture
def files(tmp_path: Path) -> list[tuple[int, str]]:
    for number in range(3):
        table = pa.table({"id": [number, number + 10], "s": ["a", None]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    return [(number, str(tmp_path / f"{number}.parquet")) for number in range(3)]


def test_a_worker_without_this_package_reads_the_same(files: list[tuple[int, str]]) -> None:
    from pyspark import cloudpickle

    footers.ship_by_value()
    task = cloudpickle.dumps((read_footers, files, options()))
    done = subprocess.run(
        [sys.executable, "-c", WORKER], input=task, capture_output=True, check=True, timeout=60
    )
    schemas, rows = read_footers(files, options())
    expected = f"{len(schemas)} {[(row[0], row[1], row[4]) for row in rows]}"
    assert done.stdout.decode().strip() == expected
    assert rows[2][4] == [("long", 0, "2", "12"), ("string", 1, '"a"', '"a"')]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "too short"),
        (b"short", "too short"),
        (b"a text that is long enough to have a tail", "not a parquet file"),
        (b"PAR1" + b"\xff" * 40 + b"\xff\xff\xff\x7fPAR1", "too short"),
        (b"PAR1" + b"\xff" * 40 + b"\x20\x00\x00\x00PAR1", "footer cannot be read"),
        (b"PARE" + b"\x00" * 40 + b"\x08\x00\x00\x00PARE", "encrypted"),
    ],
)
def test_a_bad_file_comes_back_with_its_reason(
    tmp_path: Path, files: list[tuple[int, str]], content: bytes, reason: str
) -> None:
    (tmp_path / "bad").write_bytes(content)
    _, rows = read_footers([*files, (3, str(tmp_path / "bad"))], options(threads=2))
    assert [row[5] is None for row in rows] == [True, True, True, False]
    assert reason in str(rows[3][5])


def test_only_the_tail_of_a_file_is_asked_for(files: list[tuple[int, str]]) -> None:
    asked = []

    def tail(path: str, count: int) -> bytes:
        asked.append(count)
        return Path(path).read_bytes()[-count:]

    assert read_footers(files, options(), tail)[1] == read_footers(files, options())[1]
    assert asked[0] == 64 * 1024
    # The footers that follow are as long as the first, so no more is asked for.
    assert max(asked[1:]) < 8 * 1024


def test_a_long_footer_is_asked_for_again(tmp_path: Path) -> None:
    table = pa.table({f"column_{'x' * 60}_{number}": [number] for number in range(900)})
    pq.write_table(table, tmp_path / "wide.parquet")
    asked = []

    def tail(path: str, count: int) -> bytes:
        asked.append(count)
        return Path(path).read_bytes()[-count:]

    _, rows = read_footers([(0, str(tmp_path / "wide.parquet"))], options(), tail)
    assert rows[0][5] is None
    assert len(asked) == 2
