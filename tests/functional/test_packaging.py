"""A built wheel, installed as users install it: next to dbt-core and dbt-spark, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    "DELTA_MAINT_TEST_ALL" not in os.environ, reason="installs from a registry: `make test-all`"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_brings_macros_and_leaves_dbts_own_packages_alone(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "dbt/include/delta_maint/macros/materializations/table.sql" in names
    assert "dbt/include/delta_maint/profile_template.yml" in names
    assert not names & {"dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py"}


def test_an_installed_wheel_is_known_to_dbt(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / "bin"
    pip = [str(binaries / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(pip, check=True)
    shown = subprocess.run(
        [str(binaries / "dbt"), "--version"], capture_output=True, text=True, check=True
    )
    assert "delta_maint:" in shown.stdout + shown.stderr
