"""What dbt adds to Spark: 20 tiny models, ours against plain dbt-spark, in one process and one JVM.

Both sides run the same models on the same Spark session settings, interleaved round by round. Shown: the
whole invocation, one model, and the share of the invocation that is not spent in Spark statements.

    python benchmarks/bench_dbt_overhead.py [rounds]
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint import connections
from dbt.cli.main import dbtRunner

TABLES, INCREMENTALS, VIEWS = 10, 6, 4
MODELS = TABLES + INCREMENTALS + VIEWS
TABLE = "{{{{ config(materialized='table', file_format='delta') }}}} select {n} as id, 'x' as name"
INCREMENTAL = (
    "{{{{ config(materialized='incremental', file_format='delta', unique_key='id', "
    "incremental_strategy='merge') }}}} select {n} as id, 'x' as name"
)
VIEW = "{{{{ config(materialized='view') }}}} select * from {{{{ ref('table_{n}') }}}}"
PROJECT = """name: bench
profile: bench
version: '1.0'
config-version: 2
flags: {send_anonymous_usage_stats: false}
"""
OURS = "type: delta_maint, catalog: in_memory, schema: ours, threads: 2, driver_memory: 2g"
PLAIN = "type: spark, method: session, host: localhost, schema: plain, threads: 2"


@dataclass
class Round:
    whole_seconds: float
    statement_seconds: float
    model_seconds: list[float]

    @property
    def outside(self) -> float:
        """Share of the models' time that no Spark statement accounts for."""
        return max(0.0, 1 - self.statement_seconds / sum(self.model_seconds))


def make_project(root: Path, target: str) -> Path:
    models = root / "models"
    models.mkdir(parents=True)
    for n in range(TABLES):
        (models / f"table_{n}.sql").write_text(TABLE.format(n=n))
    for n in range(INCREMENTALS):
        (models / f"incremental_{n}.sql").write_text(INCREMENTAL.format(n=n))
    for n in range(VIEWS):
        (models / f"view_{n}.sql").write_text(VIEW.format(n=n))
    (root / "dbt_project.yml").write_text(PROJECT)
    (root / "profiles.yml").write_text(f"bench: {{target: dev, outputs: {{dev: {{{target}}}}}}}\n")
    return root


def dbt_run(root: Path) -> Round:
    statements: list[float] = []

    def listen(event: Any) -> None:
        if event.info.name == "SQLQueryStatus":
            statements.append(event.data.elapsed)

    arguments = ["--quiet", "run", "--project-dir", str(root), "--profiles-dir", str(root)]
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = dbtRunner(callbacks=[listen]).invoke(arguments)
    took = time.perf_counter() - began
    if not result.success:
        sys.exit(f"{root.name} failed: {result.exception or [r.message for r in result.result]}")
    return Round(took, sum(statements), [r.execution_time for r in result.result])


def main(rounds: int) -> None:
    work = Path(tempfile.mkdtemp(prefix="bench-overhead-"))
    os.chdir(work)
    times: dict[str, list[Round]] = {"ours": [], "plain": []}
    try:
        roots = {
            "ours": make_project(work / "ours", OURS),
            "plain": make_project(work / "plain", PLAIN),
        }
        # Ours starts Spark, and dbt-spark takes the session it finds: one JVM, the same settings.
        for root in roots.values():
            dbt_run(root)
            dbt_run(root)
        for number in range(rounds):
            for side in sorted(roots, reverse=bool(number % 2)):
                times[side].append(dbt_run(roots[side]))
    finally:
        connections.end_session_environment()
        shutil.rmtree(work, ignore_errors=True)
    whole = {s: statistics.median(r.whole_seconds for r in times[s]) for s in times}
    model = {s: statistics.median(x for r in times[s] for x in r.model_seconds) for s in times}
    outside = {s: statistics.median(r.outside for r in times[s]) for s in times}
    print(f"{MODELS} models, second and later runs, 2 threads, median of {rounds} rounds")
    for side in ("plain", "ours"):
        print(
            f"  {side:5}: invocation {whole[side]:.2f} s, one model {model[side]:.2f} s, "
            f"{outside[side]:.0%} of a model's time outside Spark statements"
        )
    print(
        f"  ratio ours / plain: invocation {whole['ours'] / whole['plain']:.2f}, "
        f"one model {model['ours'] / model['plain']:.2f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
