"""A Python for Spark's workers as clusters have it: pyarrow and pandas at most, neither dbt nor this package."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ARROW_AND_WHAT_IT_NEEDS = (
    *("pyarrow", "pyarrow.libs", "numpy", "numpy.libs", "pandas", "pandas.libs"),
    *("dateutil", "pytz", "six.py", "tzdata"),
)


def worker_python(folder: Path, *, has_pyarrow: bool = True) -> Path:
    """The executable of a new environment; its packages are links into that of the tests."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    target = folder / "lib" / version / "site-packages"
    if has_pyarrow:
        source = Path(sysconfig.get_path("purelib"))
        for name in ARROW_AND_WHAT_IT_NEEDS:
            if (source / name).exists():
                (target / name).symlink_to(source / name)
    return folder / "bin" / "python"


def can_import(python: Path, name: str) -> bool:
    done = subprocess.run(
        [str(python), "-c", f"import {name}"], capture_output=True, check=False, cwd="/"
    )
    return done.returncode == 0
