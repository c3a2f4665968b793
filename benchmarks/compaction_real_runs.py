"""Dbt-like runs on real Delta: write, then compact by one policy; bytes and files from Delta's own metrics.

Run as a program it is one such run under Delta's own auto compaction, in a JVM that ends with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compaction_simulation import Outcome
from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.core.compaction_policy import CompactionPolicy

Way = CompactionPolicy | str | None
ROWS_PER_FILE = {"flat": 3_500, "part10": 850, "merge": 850}


@dataclass
class Tally:
    """One table over its runs."""

    ingested_bytes: int = 0
    rewritten_bytes: int = 0
    fired: int = 0
    files: list[int] = field(default_factory=list)

    def add(self, facts: dict[str, int]) -> None:
        self.ingested_bytes += facts["ingested_bytes"]
        self.rewritten_bytes += facts["rewritten_bytes"]
        self.fired += facts["rewritten_bytes"] > 0
        self.files.append(facts["files"])

    def outcome(self, layout: str) -> Outcome:
        return Outcome(
            amplification=self.rewritten_bytes / self.ingested_bytes,
            mean_files=sum(self.files) / len(self.files),
            final_files=self.files[-1],
            fired=self.fired,
            partitions=1 if layout == "flat" else 10,
        )


def in_one_process(
    layouts: Sequence[str], ways: dict[str, Way], runs: int, target_bytes: int
) -> Iterator[tuple[str, dict[str, Outcome]]]:
    """Layout by layout, for policies that depend on the table alone."""
    root = Path(tempfile.mkdtemp(prefix="delta_maint_bench_"))
    spark = open_spark(root)
    for layout in layouts:
        found = {}
        for number, (name, way) in enumerate(ways.items()):
            table = RealTable(spark, root / f"{layout}_{number}", layout, target_bytes)
            tally = Tally()
            for run in range(runs):
                tally.add(table.one_run(run, way))
            found[name] = tally.outcome(layout)
        yield layout, found


def in_new_processes(layouts: Sequence[str], runs: int, target_bytes: int) -> dict[str, Outcome]:
    """Delta's own auto compaction: every run is a process of its own, as a dbt run is."""
    root = tempfile.mkdtemp(prefix="delta_maint_bench_")
    tallies = {layout: Tally() for layout in layouts}
    for run in range(runs):
        process = subprocess.run(
            [sys.executable, __file__, root, str(run), str(target_bytes), *layouts],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for layout, facts in json.loads(process.stdout.splitlines()[-1]).items():
            tallies[layout].add(facts)
    return {layout: tally.outcome(layout) for layout, tally in tallies.items()}


def open_spark(root: Path) -> Any:
    from dbt.adapters.delta_maint.connections import session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    credentials = DeltaMaintCredentials(
        schema="default", warehouse=str(root / "warehouse"), catalog="in_memory"
    )
    return session_environment(credentials.session_settings(root)).open().spark


@dataclass
class RealTable:
    spark: Any
    folder: Path
    layout: str
    target_bytes: int

    @property
    def name(self) -> str:
        return f"delta.`{self.folder}`"

    def one_run(self, run: int, way: Way, *, native: bool = False) -> dict[str, int]:
        session = self.spark.newSession()
        conf = "spark.databricks.delta.autoCompact"
        session.conf.set(f"{conf}.enabled", str(native).lower())
        session.conf.set(f"{conf}.maxFileSize", str(self.target_bytes))
        # As many files as a partition gets from two write tasks.
        session.conf.set("spark.sql.shuffle.partitions", "2")
        if not run:
            self._create(session)
        before = self._newest_version()
        self._write(session, run)
        if way == "optimize":
            for key in ("minFileSize", "maxFileSize"):
                session.conf.set(f"spark.databricks.delta.optimize.{key}", str(self.target_bytes))
            session.sql(f"optimize {self.name}").collect()
        elif isinstance(way, CompactionPolicy):
            self._plan_and_run(session, way)
        return self._facts(session, before)

    def _create(self, session: Any) -> None:
        partitioned = " partitioned by (p)" if self.layout != "flat" else ""
        vectors = str(self.layout == "merge").lower()
        session.sql(
            f"create table {self.name} (id bigint, p int, x string, who string) using delta"
            f"{partitioned} tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
        )

    def _write(self, session: Any, run: int) -> None:
        files, partitions = (10, 1) if self.layout == "flat" else (2, 10)
        total = ROWS_PER_FILE[self.layout] * files * partitions
        # Digests do not compress; names repeat, so that merged files need fewer bytes, as real ones do.
        source = (
            f"select id + {run * total} as id, cast(id % {partitions} as int) as p, "
            "sha2(cast(rand() as string), 224) as x, "
            "concat('customer ', cast(rand() * 1500 as int)) as who "
            f"from range(0, {total}, 1, {files})"
        )
        if self.layout == "merge" and run:
            # Half of the rows are new versions of half of the rows of the run before.
            session.sql(
                f"merge into {self.name} t using ({source}) s "
                f"on t.id = s.id - {total // 2} and t.p = s.p "
                "when matched then update set x = s.x when not matched then insert *"
            )
        else:
            session.sql(f"insert into {self.name} {source}")

    def _plan_and_run(self, session: Any, policy: CompactionPolicy) -> None:
        from dbt.adapters.delta_maint.core.compaction_passes import may_find_more
        from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
        from dbt.adapters.delta_maint.lake.compactor import Compactor
        from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
        from dbt.adapters.delta_maint.lake.rewriters.delta_sql import DeltaSqlRewriter
        from dbt.adapters.delta_maint.lake.sql_runner import SessionSql

        sql = SessionSql(session.newSession())
        table = DeltaTable.find(sql, self.name)
        while (plan := self._plan(sql, table, policy)).runs:
            result = Compactor(
                sql,
                table,
                DeltaSqlRewriter(session, threads=2),
                policy,
                CommitMark("compact", "bench"),
            ).run(plan)
            assert not result.errors, result.errors
            merges = [(c.metrics.bytes_removed, c.metrics.bytes_added) for c in result.chunks]
            if not may_find_more(plan, policy, merges):
                break

    def _plan(self, sql: Any, table: Any, policy: CompactionPolicy) -> CompactionPlan:
        from dbt.adapters.delta_maint.core.compaction import prepare_auto_compact_request
        from dbt.adapters.delta_maint.core.reservation import Reservations

        return prepare_auto_compact_request(
            table.snapshot(sql),
            policy,
            table=self.name,
            partitions_added_to=None,
            reservations=Reservations(),
        )

    def _newest_version(self) -> int:
        return max(int(path.stem) for path in (self.folder / "_delta_log").glob("*.json"))

    def _facts(self, session: Any, before: int) -> dict[str, int]:
        """Of the commits of this run, as their own commitInfo has them."""
        ingested = rewritten = 0
        for version in range(before + 1, self._newest_version() + 1):
            lines = (self.folder / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
            info = next(a["commitInfo"] for a in map(json.loads, lines) if "commitInfo" in a)
            metrics = info["operationMetrics"]
            if info["operation"] in ("OPTIMIZE", "REORG"):
                rewritten += int(metrics["numAddedBytes"])
            else:
                written = metrics.get("numOutputBytes") or metrics["numTargetBytesAdded"]
                ingested += int(written)
        files = session.sql(f"describe detail {self.name}").collect()[0]["numFiles"]
        return {"ingested_bytes": ingested, "rewritten_bytes": rewritten, "files": files}


def main() -> None:
    root, run, target_bytes, *layouts = sys.argv[1:]
    spark = open_spark(Path(root) / f"process_{run}")
    facts = {
        layout: RealTable(spark, Path(root) / layout, layout, int(target_bytes)).one_run(
            int(run), None, native=True
        )
        for layout in layouts
    }
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
