"""The one folder this package keeps outside a project: jars and class archives.

`DELTA_MAINT_CACHE` names it; otherwise it is `dbt-delta-maint` in the user's cache folder. Deleting
it costs time at the next start and nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    named = os.environ.get("DELTA_MAINT_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dbt-delta-maint"
