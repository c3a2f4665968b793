"""What compaction costs and what it leaves: bytes rewritten per byte ingested against files in the table.

    python benchmarks/bench_compaction_policy.py            simulation: 400 runs, seconds, no Spark
    python benchmarks/bench_compaction_policy.py --real     14 real runs on Delta beside 14 simulated ones, some minutes

In the real runs every policy writes the same rows to its own table. Delta's own auto compaction counts
per JVM; each of its runs begins with those counters empty, as a new dbt process would.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compaction_simulation import Compact, Outcome, every_run, nothing, planned, simulate
from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy, PolicyKind

MIB = 1024**2
TARGET = 8 * MIB
PLOT = Path(__file__).parents[1] / "docs" / "compaction_frontier.svg"
REAL_RUNS = 14
MANY_RUNS = 400

Writes = Callable[[int], dict[str, list[int]]]


def flat(run: int) -> dict[str, list[int]]:
    return {"all": [251_000] * 10}


def part10(run: int) -> dict[str, list[int]]:
    return {str(p): [61_000] * 2 for p in range(10)}


def skewed200(run: int) -> dict[str, list[int]]:
    """Zipf: a run touches the busy partitions always, the others now and then."""
    chance = random.Random(run)
    return {
        str(p): [int(400_000 / (p + 1)) + 20_000] * 2
        for p in range(200)
        if chance.random() < 5 / (p + 1)
    }


LAYOUTS: dict[str, Writes] = {"flat": flat, "part10": part10, "skewed200": skewed200}


def bins(min_input_files: int = 8) -> CompactionPolicy:
    return CompactionPolicy(target_bytes=TARGET, min_input_files=min_input_files)


def count(min_num_files: int) -> CompactionPolicy:
    return CompactionPolicy(kind=PolicyKind.COUNT, target_bytes=TARGET, min_num_files=min_num_files)


NATIVE, OURS = "native (every run)", "bins 8 (default)"
REAL_POLICIES = ["none", NATIVE, "OPTIMIZE every run", "count 50", OURS]
POLICIES: dict[str, Compact] = {
    "none": nothing,
    NATIVE: every_run(TARGET),
    "OPTIMIZE every run": every_run(TARGET, small_ratio=1.0),
    "count 50": planned(count(50)),
    "count 20": planned(count(20)),
    "bins 2": planned(bins(2)),
    "bins 4": planned(bins(4)),
    OURS: planned(bins(8)),
    "bins 16": planned(bins(16)),
    "bins 32": planned(bins(32)),
}


def print_table(title: str, outcomes: dict[str, Outcome]) -> None:
    print(f"\n{title}")
    print(
        f"{'policy':<22}{'rewritten/ingested':>20}{'mean files/part.':>18}{'final files':>13}{'fired':>7}"
    )
    for name, found in outcomes.items():
        print(
            f"{name:<22}{found.amplification:>20.2f}{found.mean_files_per_partition:>18.1f}"
            f"{found.final_files:>13}{found.fired:>7}",
            flush=True,
        )


def plot(outcomes: dict[str, Outcome], path: Path) -> None:
    """The frontier as SVG: left is cheap, low is few files."""
    import math

    shown = {name: found for name, found in outcomes.items() if found.amplification > 0}
    width, height, margin = 720, 420, 60
    most_x = max(found.amplification for found in shown.values()) * 1.15
    ys = [found.mean_files_per_partition for found in shown.values()]
    low, high = math.log(min(ys) * 0.8), math.log(max(ys) * 1.25)

    def place(found: Outcome) -> tuple[float, float]:
        x = margin + (width - 2 * margin) * found.amplification / most_x
        y = math.log(found.mean_files_per_partition)
        return x, height - margin - (height - 2 * margin) * (y - low) / (high - low)

    marks = []
    line = " ".join(
        "{:.1f},{:.1f}".format(*place(found)) for name, found in shown.items() if "bins" in name
    )
    for name, found in shown.items():
        x, y = place(found)
        colour = "#0b7a75" if "bins" in name else "#b5493b"
        radius = 7 if "default" in name else 4
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')
        side = "end" if x > width * 0.75 else "start"
        offset = -9 if side == "end" else 9
        marks.append(
            f'<text x="{x + offset:.1f}" y="{y - 6:.1f}" text-anchor="{side}">{name}: '
            f"{found.amplification:.1f}, {found.mean_files_per_partition:.1f}</text>"
        )
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">'
        '<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{width / 2}" y="24" text-anchor="middle" font-size="15">10 partitions, '
        f"{MANY_RUNS} runs: cost of compaction against files kept</text>"
        f'<polyline points="{line}" fill="none" stroke="#0b7a75" stroke-opacity="0.4"/>'
        f'<line x1="{margin}" y1="{height - margin}" x2="{width - margin}" y2="{height - margin}" stroke="black"/>'
        f'<line x1="{margin}" y1="{margin}" x2="{margin}" y2="{height - margin}" stroke="black"/>'
        f'<text x="{width / 2}" y="{height - 20}" text-anchor="middle">bytes rewritten per byte ingested</text>'
        f'<text x="18" y="{height / 2}" text-anchor="middle" transform="rotate(-90 18 {height / 2})">'
        "mean files per partition (log scale)</text>"
        f"{''.join(marks)}</svg>\n"
    )


# -- real runs ---------------------------------------------------------------------------------------


class RealRuns:
    """The same appends on real Delta, one table per policy, all in one process."""

    def __init__(self) -> None:
        from dbt.adapters.delta_maint.connections import session_environment
        from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

        self.root = Path(tempfile.mkdtemp(prefix="delta_maint_bench_"))
        credentials = DeltaMaintCredentials(
            schema="default", warehouse=str(self.root / "warehouse"), catalog="in_memory"
        )
        self.spark = session_environment(credentials.session_settings(self.root)).open().spark

    def run(self, layout: str, policy: str) -> Outcome:
        name = f"{layout}_{abs(hash(policy))}"
        partitioned = " partitioned by (p)" if layout != "flat" else ""
        vectors = "true" if layout == "merge" else "false"
        session = self.spark.newSession()
        session.conf.set(
            "spark.databricks.delta.autoCompact.enabled", str("native" in policy).lower()
        )
        session.conf.set("spark.databricks.delta.autoCompact.maxFileSize", str(TARGET))
        session.sql(
            f"create table {name} (id bigint, p int, x string) using delta{partitioned} "
            f"tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
        )
        ingested = rewritten = fired = 0
        counts = []
        for run in range(REAL_RUNS):
            if "native" in policy:
                self._forget_counters()
            ingested += self._write(session, name, layout, run)
            rewritten_now = self._compact(session, name, policy)
            rewritten += rewritten_now
            fired += rewritten_now > 0
            counts.append(session.sql(f"describe detail {name}").collect()[0]["numFiles"])
        partitions = 1 if layout == "flat" else 10
        return Outcome(
            rewritten / ingested, sum(counts) / len(counts), counts[-1], fired, partitions
        )

    def _write(self, session: Any, name: str, layout: str, run: int) -> int:
        rows = {"flat": 3_500, "part10": 850, "merge": 850}[layout]
        files = 10 if layout == "flat" else 2
        partitions = "0" if layout == "flat" else "cast(id % 10 as int)"
        total = rows * files * (1 if layout == "flat" else 10)
        source = (
            f"select id + {run * total} as id, {partitions} as p, "
            "concat(sha2(cast(rand() as string), 256)) as x "
            f"from range(0, {total}, 1, {files})"
        )
        if layout == "merge" and run:
            session.sql(
                f"merge into {name} t using ({source}) s on t.id = s.id - {total // 2} and t.p = s.p "
                "when matched then update set x = s.x when not matched then insert *"
            )
        else:
            session.sql(f"insert into {name} {source}")
        history = session.sql(f"describe history {name}").where("operation in ('WRITE', 'MERGE')")
        metrics = history.orderBy("version", ascending=False).first()["operationMetrics"]
        return int(metrics.get("numOutputBytes") or metrics.get("numTargetBytesAdded") or 0)

    def _compact(self, session: Any, name: str, policy: str) -> int:
        before = session.conf.get("delta_maint.bench.version", "-1")
        if "OPTIMIZE" in policy:
            for key in ("minFileSize", "maxFileSize"):
                session.conf.set(f"spark.databricks.delta.optimize.{key}", str(TARGET))
            session.sql(f"optimize {name}")
        elif policy.startswith(("bins", "count")):
            self._plan_and_run(session, name, bins() if "bins" in policy else count(50))
        rows = session.sql(f"describe history {name}").collect()
        session.conf.set("delta_maint.bench.version", str(max(row.version for row in rows)))
        return sum(
            int(row.operationMetrics.get("numAddedBytes") or 0)
            for row in rows
            if row.version > int(before) and row.operation in ("OPTIMIZE", "REORG")
        )

    def _plan_and_run(self, session: Any, name: str, policy: CompactionPolicy) -> None:
        from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
        from dbt.adapters.delta_maint.core.reservation import Reservations
        from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
        from dbt.adapters.delta_maint.lake.compactor import Compactor
        from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
        from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
        from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

        sql = SessionSql(session.newSession())
        table = DeltaTable.find(sql, name)
        plan = prepare_auto_compact_request(
            table.snapshot(sql),
            policy,
            table=name,
            partitions_added_to=None,
            reservations=Reservations(),
        )
        result = Compactor(
            sql, table, DeltaSqlRewriter(session, threads=2), policy, CommitMark("compact", "bench")
        ).run(plan)
        assert not result.errors, result.errors

    def _forget_counters(self) -> None:
        """Empties what Delta's own auto compaction keeps in the JVM, as a new process would."""
        companion = getattr(
            self.spark._jvm.org.apache.spark.sql.delta.stats, "AutoCompactPartitionStats$"
        )
        module = companion.__getattr__("MODULE$")
        for declared in module.getClass().getDeclaredFields():
            if "instance" in declared.getName():
                declared.setAccessible(True)
                declared.set(module, None)
                return
        raise RuntimeError("Delta's counters were not found: its auto compaction has changed")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true", help="14 runs on real Delta")
    parser.add_argument("--layouts", nargs="*", default=["flat", "part10", "merge"])
    parser.add_argument("--policies", nargs="*", default=REAL_POLICIES)
    arguments = parser.parse_args()
    if not arguments.real:
        for layout, writes in LAYOUTS.items():
            outcomes = {name: simulate(writes, MANY_RUNS, c) for name, c in POLICIES.items()}
            print_table(f"{layout}, {MANY_RUNS} simulated runs", outcomes)
            if layout == "part10":
                plot(outcomes, PLOT)
    short = {
        layout: {name: simulate(writes, REAL_RUNS, c) for name, c in POLICIES.items()}
        for layout, writes in LAYOUTS.items()
        if layout != "skewed200"
    }
    for layout, outcomes in short.items():
        print_table(f"{layout}, {REAL_RUNS} simulated runs", outcomes)
    if not arguments.real:
        return
    real = RealRuns()
    for layout in arguments.layouts:
        outcomes = {name: real.run(layout, name) for name in arguments.policies}
        print_table(f"{layout}, {REAL_RUNS} real runs", outcomes)
        ours, native = outcomes.get(OURS), outcomes.get(NATIVE)
        if ours and native:
            ratio = ours.amplification / native.amplification
            print(f"ours / native amplification: {ratio:.2f}", flush=True)
        for name, found in outcomes.items() if layout in short else ():
            if found.amplification:
                ratio = short[layout][name].amplification / found.amplification
                print(f"simulated / real amplification, {name}: {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
