"""Where a Spark process puts its temporary files: one folder per process, gone when the process is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def scratch_folder(home: Path) -> Path:
    """This process's folder; folders whose process was killed are removed on the way."""
    root = home / "tmp"
    own = root / str(os.getpid())
    if not own.exists():
        own.mkdir(parents=True)
        for other in root.iterdir():
            if other.name.isdigit() and not is_alive(int(other.name)):
                shutil.rmtree(other, ignore_errors=True)
    return own


def remove_scratch(home: Path) -> None:
    shutil.rmtree(home / "tmp" / str(os.getpid()), ignore_errors=True)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
