"""A process that compacts a table and stops for ever at a given moment: python -m ... PATH MOMENT ENGINE."""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.connections import session_environment
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

from tests.functional.compaction.delta_phases import before_commit
from tests.functional.compaction.small_table import SmallTable


def main(path: str, moment: str, engine: str) -> None:
    home = Path(tempfile.mkdtemp())
    credentials = DeltaMaintCredentials(schema="s", warehouse=str(home / "w"), catalog="in_memory")
    spark: Any = session_environment(credentials.session_settings(home)).open().spark
    table = SmallTable(spark, f"delta.{identifier(path)}", engine)

    def stop_for_ever() -> None:
        print("READY", flush=True)
        threading.Event().wait()

    if moment == "before commit":
        with before_commit(spark, stop_for_ever):
            table.compact()
    else:
        table.compact(observer=lambda phase, chunk: print("READY", flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:4])
