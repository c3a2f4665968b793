"""The Python of Spark's workers: what it lacks for our tasks, which need pyarrow there and nothing else.

A local master runs the Python of dbt itself. On a cluster it is another one, so it is asked, once, by a
task. What it lacks is an answer with which the caller does the same work in another way.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.lake.rewriters import arrow_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

NO_PYARROW = "the Python of Spark's workers has no pyarrow"


@dataclass(frozen=True)
class WorkerPython:
    """The version of pyarrow there; where it is None, `fault` says why."""

    pyarrow: str | None
    fault: str = NO_PYARROW


_known: dict[str, WorkerPython] = {}
_lock = threading.Lock()


def worker_python(spark: SparkSession, ship_by_value: Callable[[], None]) -> WorkerPython:
    context = spark.sparkContext
    if str(context.master).startswith("local"):
        return WorkerPython(arrow_task.pyarrow_version(None))
    with _lock:
        if context.applicationId not in _known:
            ship_by_value()
            asked = context.parallelize([0], 1).map(arrow_task.pyarrow_version)
            try:
                _known[context.applicationId] = WorkerPython(asked.collect()[0])
            except Exception as exc:
                fault = python_fault(str(exc))
                if fault is None:
                    raise
                _known[context.applicationId] = WorkerPython(None, fault)
        return _known[context.applicationId]


def python_fault(error: str) -> str | None:
    """What a failed task says about its Python, as one phrase; None when it failed of something else.

    >>> python_fault("... ModuleNotFoundError: No module named 'pyarrow' ...")
    "the Python of Spark's workers has no pyarrow"
    >>> python_fault('java.io.IOException: Cannot run program "python3.9": error=2, No such file or directory')
    "Spark's workers have no python3.9: set spark.pyspark.python"
    >>> python_fault("division by zero") is None
    True
    """
    missing = re.search(r"No module named '([\w.]+)'", error)
    if missing:
        name = missing[1].split(".")[0]
        return NO_PYARROW if name == "pyarrow" else f"{NO_PYARROW[:-7]}{name}"
    if "PYTHON_VERSION_MISMATCH" in error:
        return "Spark's workers run another version of Python than dbt"
    program = re.search(r'Cannot run program "([^"]+)"', error)
    return f"Spark's workers have no {program[1]}: set spark.pyspark.python" if program else None
