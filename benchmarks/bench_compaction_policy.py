"""What compaction costs and what it leaves: bytes rewritten per byte ingested against files in the table.

    python benchmarks/bench_compaction_policy.py            simulation: 400 runs, seconds, no Spark
    python benchmarks/bench_compaction_policy.py --real     14 real runs on Delta beside 14 simulated ones, some minutes

In the real runs every policy writes rows of the same sizes to a table of its own. Delta's own auto
compaction counts per JVM, so each of its runs is a new process, as a dbt run is; the other policies depend
on the table alone and share one process. `--layouts` and `--policies` run a part of it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

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


LAYOUTS: dict[str, Writes] = {
    "flat": flat,
    "part10": part10,
    "merge": part10,  # the same sizes; half of the rows replace rows of the run before
    "skewed200": skewed200,
}


def simulated(layout: str, runs: int) -> dict[str, Outcome]:
    by_merge = layout == "merge"
    return {
        name: simulate(LAYOUTS[layout], runs, compact, by_merge=by_merge)
        for name, compact in POLICIES.items()
    }


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


def compare(
    layout: str, runs: int, outcomes: dict[str, Outcome], simulated: dict[str, Outcome]
) -> None:
    print_table(f"{layout}, {runs} real runs", outcomes)
    ours, native = outcomes.get(OURS), outcomes.get(NATIVE)
    if ours and native:
        ratio = ours.amplification / native.amplification
        print(f"ours / native amplification: {ratio:.2f}", flush=True)
    for name, found in outcomes.items():
        if found.amplification and name in simulated:
            ratio = simulated[name].amplification / found.amplification
            files = simulated[name].mean_files / found.mean_files
            print(f"simulated / real, {name}: amplification {ratio:.2f}, mean files {files:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true", help="14 runs on real Delta")
    parser.add_argument("--runs", type=int, default=REAL_RUNS)
    parser.add_argument("--layouts", nargs="*", default=["flat", "part10", "merge"])
    parser.add_argument("--policies", nargs="*", default=REAL_POLICIES)
    arguments = parser.parse_args()
    short = {
        layout: simulated(layout, arguments.runs) for layout in LAYOUTS if layout != "skewed200"
    }
    if not arguments.real:
        for layout in LAYOUTS:
            outcomes = simulated(layout, MANY_RUNS)
            print_table(f"{layout}, {MANY_RUNS} simulated runs", outcomes)
            if layout == "part10":
                plot(outcomes, PLOT)
        for layout, outcomes in short.items():
            print_table(f"{layout}, {arguments.runs} simulated runs", outcomes)
        return
    from compaction_real_runs import in_new_processes, in_one_process

    real: dict[str, dict[str, Outcome]] = {layout: {} for layout in arguments.layouts}
    if NATIVE in arguments.policies:
        for layout, outcome in in_new_processes(arguments.layouts, arguments.runs, TARGET).items():
            real[layout][NATIVE] = outcome
    ways = {
        "none": None,
        "OPTIMIZE every run": "optimize",
        "count 50": count(50),
        OURS: bins(8),
    }
    chosen = {name: way for name, way in ways.items() if name in arguments.policies}
    for layout, outcomes in in_one_process(arguments.layouts, chosen, arguments.runs, TARGET):
        real[layout] |= outcomes
        in_order = {name: real[layout][name] for name in REAL_POLICIES if name in real[layout]}
        compare(layout, arguments.runs, in_order, short[layout])


if __name__ == "__main__":
    main()
