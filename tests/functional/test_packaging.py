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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel and what it names."""
    environment = tmp_path_factory.mktemp("installed") / "env"
    venv.create(environment, with_pip=True)
    binaries = environment / "bin"
    pip = [str(binaries / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(pip, check=True)
    return binaries


def test_an_installed_wheel_is_known_to_dbt(installed: Path) -> None:
    shown = subprocess.run(
        [str(installed / "dbt"), "--version"], capture_output=True, text=True, check=True
    )
    assert "delta_maint:" in shown.stdout + shown.stderr


def test_a_newcomer_gets_from_init_to_tables(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "DBT_PROFILES_DIR": str(home)}

    def dbt(*arguments: str, folder: Path, answers: str = "") -> str:
        shown = subprocess.run(
            [str(installed / "dbt"), "--no-use-colors", *arguments],
            cwd=folder, env=environment, input=answers, capture_output=True, text=True,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stdout + shown.stderr
        return shown.stdout

    # delta_maint; Spark inside dbt; then the defaults of master, schema and threads.
    asked = dbt("init", "shop", folder=tmp_path, answers="1\n1\n\n\n\n")
    assert "[1] delta_maint" in asked
    assert "All checks passed!" in dbt("debug", folder=tmp_path / "shop")
    assert "PASS=2" in dbt("run", folder=tmp_path / "shop")
