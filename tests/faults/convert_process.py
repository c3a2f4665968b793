"""A process of its own that converts one folder, and can be told to die or to wait at a phase.

python -m tests.faults.convert_process FOLDER HOME [--die PHASE] [--meet FOLDER_OF_MARKS]
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConversionRaceError
from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import resolve_settings
from dbt.adapters.delta_maint.lake.converter import Converter
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta


def meet(marks: Path) -> None:
    """Waits until the other process is there too."""
    (marks / str(os.getpid())).touch()
    deadline = time.monotonic() + 120
    while len(list(marks.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("home", type=Path)
    parser.add_argument("--die")
    parser.add_argument("--meet", type=Path)
    arguments = parser.parse_args()

    def observe(phase: str) -> None:
        if phase == arguments.die:
            # The whole group: Spark's Java process is in it and dies in the same moment.
            os.killpg(0, signal.SIGKILL)
        if arguments.meet and phase == "before_commit":
            meet(arguments.meet)

    settings = resolve_settings(
        project_root=arguments.home,
        warehouse=None,
        catalog="in_memory",
        catalog_path=None,
        master="local[2]",
        driver_memory="1g",
        startup="fast",
        delta_jars=None,
        confs={},
    )
    spark = SessionEnvironment(settings).open().spark
    delta = JvmDelta.probe(spark)
    assert isinstance(delta, JvmDelta)
    converter = Converter(spark, delta, tool_version="test", observer=observe)
    try:
        print("outcome:", converter.convert(ConvertRequest(path=arguments.folder)).outcome)
    except ConversionRaceError as exc:
        print("outcome: lost:", exc)


if __name__ == "__main__":
    main()
