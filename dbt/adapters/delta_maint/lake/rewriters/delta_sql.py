"""Delta's own OPTIMIZE and REORG, told exactly what the plan says.

Each statement runs in a connection of its own, in which every conf that decides what Delta selects is set:
no conf of another thread reaches it, and none of its confs reaches another. The deleted-rows ratio is
set out of reach, since the plan decides about deletion vectors.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.delta_maint.core.compaction_plan import Action, Chunk
from dbt.adapters.delta_maint.core.sql_text import identifier_list
from dbt.adapters.delta_maint.lake.commit_mark import CONF as USER_METADATA
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.rewriters.base import Observer, Phase, RewriteMetrics
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection

OPTIMIZE = "spark.databricks.delta.optimize"
DELTA_MOST_THREADS = 15


class DeltaSqlRewriter:
    name = "delta"

    def __init__(self, sql: SqlConnection, *, threads: int) -> None:
        self._sql = sql
        self._threads = max(1, min(threads, DELTA_MOST_THREADS))

    def rewrite(
        self, table: DeltaTable, chunk: Chunk, mark: CommitMark, observer: Observer
    ) -> RewriteMetrics:
        with self._sql.fresh() as own:
            for key, value in self._confs(chunk, mark).items():
                own.set_conf(key, value)
            observer(Phase.BEFORE_REWRITE, chunk)
            metrics = read_metrics(own.answer(statement(table, chunk))[0][1])
        if metrics.files_removed or metrics.files_added:
            observer(Phase.COMMITTED, chunk)
        return metrics

    def _confs(self, chunk: Chunk, mark: CommitMark) -> dict[str, str]:
        return {
            f"{OPTIMIZE}.minFileSize": str(chunk.below_bytes),
            f"{OPTIMIZE}.maxFileSize": str(chunk.cap_bytes),
            f"{OPTIMIZE}.maxDeletedRowsRatio": "1.0",
            f"{OPTIMIZE}.maxThreads": str(self._threads),
            f"{OPTIMIZE}.repartition.enabled": "false",
            # One statement is one commit, whatever the profile says about batches.
            f"{OPTIMIZE}.batchSize": str(2**62),
            # The plan counts two notations of one timestamp as one partition.
            "spark.databricks.delta.normalizePartitionValuesOnRead": "true",
            "spark.databricks.delta.autoCompact.enabled": "false",
            "spark.sql.files.maxRecordsPerFile": "0",
            USER_METADATA: mark.text(),
        }


def statement(table: DeltaTable, chunk: Chunk) -> str:
    where = f" where {chunk.predicate}" if chunk.predicate else ""
    if chunk.action is Action.PURGE:
        return f"reorg table {table.name}{where} apply (purge)"
    order = f" zorder by ({identifier_list(chunk.zorder)})" if chunk.zorder else ""
    return f"optimize {table.name}{where}{order}"


def read_metrics(metrics: dict[str, Any]) -> RewriteMetrics:
    added, removed = metrics["filesAdded"] or {}, metrics["filesRemoved"] or {}
    return RewriteMetrics(
        files_added=int(metrics["numFilesAdded"] or 0),
        files_removed=int(metrics["numFilesRemoved"] or 0),
        bytes_added=int(added.get("totalSize") or 0),
        bytes_removed=int(removed.get("totalSize") or 0),
        considered_files=int(metrics["totalConsideredFiles"] or 0),
        partitions=int(metrics["partitionsOptimized"] or 0),
    )
