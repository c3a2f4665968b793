"""Bins rewritten by Arrow on the executors, committed by Delta's own transaction as OPTIMIZE.

Delta's transaction is opened first; the files are those of its snapshot, selected and packed as OPTIMIZE
does. Each bin becomes one file (`arrow_task`), its row count is proven, and adds and removes are committed
with dataChange=false. So an append meanwhile is accepted; whoever removed or changed one of our inputs, or
the table itself, makes Delta refuse the commit, and the chunk is planned anew.

A partition with a file that Arrow does not take, or with a bin that failed, is left as it was and handed
back with the reason, for OPTIMIZE. New files are deleted where it is sure that no commit names them: it
was never asked for, or Delta refused it as a conflict. In doubt they stay for VACUUM.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.delta_maint.core.arrow_eligibility import table_refusal
from dbt.adapters.delta_maint.core.compaction_plan import Action, Chunk
from dbt.adapters.delta_maint.core.partition_predicate import create_partition_predicate, typed_key
from dbt.adapters.delta_maint.core.rewrite_bins import FileBin, pack_files
from dbt.adapters.delta_maint.core.table import PartitionColumn, PartitionKey, partition_columns_of
from dbt.adapters.delta_maint.lake.commit_mark import CONF as USER_METADATA
from dbt.adapters.delta_maint.lake.commit_mark import CommitMark
from dbt.adapters.delta_maint.lake.conflicts import Trouble, trouble_of
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.file_access import strip_file_scheme
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta, RewriteTransaction
from dbt.adapters.delta_maint.lake.rewriters.arrow_actions import commit_metrics, write_actions
from dbt.adapters.delta_maint.lake.rewriters.arrow_facts import facts_of_transaction, read_files
from dbt.adapters.delta_maint.lake.rewriters.arrow_job import NewFile, RewriteJob, remove_files
from dbt.adapters.delta_maint.lake.rewriters.arrow_proof import differing_bins
from dbt.adapters.delta_maint.lake.rewriters.base import Observer, Phase, RewriteMetrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class _Selected:
    """What a chunk is at the version of the transaction; `reasons` by partitions left to OPTIMIZE."""

    considered: dict[PartitionKey, int]
    bins: list[FileBin]
    reasons: dict[PartitionKey, str] = field(default_factory=dict)

    def of(self, number: int) -> PartitionKey:
        return self.bins[number].partition


class ArrowRewriter:
    """With `verifies_rows` both sides are also compared, as Spark reads them, before the commit."""

    name = "arrow"

    def __init__(
        self,
        spark: SparkSession,
        *,
        cores: int,
        session_zone: str = "UTC",
        verifies_rows: bool = False,
    ) -> None:
        self._spark = spark
        self._cores = max(1, cores)
        self._zone = session_zone
        self._verifies_rows = verifies_rows
        self._missing: str | None = None

    def rewrite(
        self, table: DeltaTable, chunk: Chunk, mark: CommitMark, observer: Observer
    ) -> RewriteMetrics:
        if chunk.action is not Action.COMPACT:
            return RewriteMetrics(left=chunk, left_reason=f"{chunk.action.value} is Delta's own")
        session = self._spark.newSession()
        session.conf.set(USER_METADATA, mark.text())
        session.conf.set("spark.databricks.delta.autoCompact.enabled", "false")
        if self._missing is None:
            # Asked once: looking through the methods of Delta's classes takes a while.
            probed = JvmDelta.probe(session)
            self._missing = probed if isinstance(probed, str) else ""
        if self._missing:
            return RewriteMetrics(left=chunk, left_reason=self._missing)
        delta = JvmDelta(session)
        rewrite = delta.open_rewrite(table.location)
        # The caller's session: a new one has none of the confs that were set in it.
        facts = facts_of_transaction(self._spark, table.location, rewrite)
        refusal = table_refusal(facts)
        if refusal is not None:
            return RewriteMetrics(left=chunk, left_reason=refusal)
        root = strip_file_scheme(table.location)
        job = RewriteJob(session, facts, rewrite.partition_columns, root=root, cores=self._cores)
        selected = self._select(delta, rewrite, chunk, table.location)
        observer(Phase.BEFORE_REWRITE, chunk)
        try:
            new_files = self._new_files(session, job, selected)
            if new_files:
                observer(Phase.REWRITTEN, chunk)
                observer(Phase.BEFORE_COMMIT, chunk)
        except BaseException:
            job.remove_everything()
            raise
        if new_files:
            _commit(delta, rewrite, job, chunk, list(new_files.values()))
            observer(Phase.COMMITTED, chunk)
        return self._metrics(rewrite, chunk, selected, list(new_files.values()))

    def _select(
        self, delta: JvmDelta, rewrite: RewriteTransaction, chunk: Chunk, location: str
    ) -> _Selected:
        columns = _columns(rewrite)
        wanted = {self._unite(columns, key) for key in chunk.partitions}
        considered = [
            file
            for file in read_files(delta, rewrite, location, columns)
            if self._unite(columns, file.partition) in wanted
        ]
        bins = pack_files(
            considered,
            below_bytes=chunk.below_bytes,
            cap_bytes=chunk.cap_bytes,
            unite=lambda key: self._unite(columns, key),
        )
        files_of = Counter(self._unite(columns, file.partition) for file in considered)
        selected = _Selected(files_of, bins)
        for found in bins:
            for file in found.files:
                if file.refusal is not None:
                    selected.reasons.setdefault(found.partition, file.refusal)
        return selected

    def _new_files(
        self, session: SparkSession, job: RewriteJob, selected: _Selected
    ) -> dict[int, NewFile]:
        """The proven new files by bin; partitions with a bin that failed get their reason."""
        reasons = selected.reasons
        bins = [found for found in selected.bins if found.partition not in reasons]
        new_files: dict[int, NewFile] = {}
        for number, answer in (job.run(bins) if bins else {}).items():
            if isinstance(answer, str):
                reasons.setdefault(selected.of(number), answer)
            else:
                new_files[number] = answer
        if self._verifies_rows and new_files:
            for number, sentence in differing_bins(session, job, new_files).items():
                reasons.setdefault(selected.of(number), sentence)
        refused = [number for number in new_files if selected.of(number) in reasons]
        remove_files(new_files.pop(number).local_path for number in refused)
        remove_files(new.local_path for new in new_files.values() if not new.rows)
        return new_files

    def _metrics(
        self,
        rewrite: RewriteTransaction,
        chunk: Chunk,
        selected: _Selected,
        new_files: Sequence[NewFile],
    ) -> RewriteMetrics:
        found = commit_metrics(new_files)
        metrics = RewriteMetrics(
            files_added=found["numAddedFiles"],
            files_removed=found["numRemovedFiles"],
            bytes_added=found["numAddedBytes"],
            bytes_removed=found["numRemovedBytes"],
            considered_files=sum(selected.considered.values()),
            partitions=len({new.bin.partition for new in new_files}),
        )
        reasons = selected.reasons
        if not reasons:
            return metrics
        columns = _columns(rewrite)
        keys = tuple(key for key in chunk.partitions if self._unite(columns, key) in reasons)
        bins = [found for found in selected.bins if found.partition in reasons]
        left = replace(
            chunk,
            partitions=keys,
            predicate=create_partition_predicate(columns, keys),
            considered_files=sum(selected.considered[key] for key in reasons),
            input_files=sum(len(found.files) for found in bins),
            input_bytes=sum(found.size_bytes for found in bins),
            output_files=len(bins),
        )
        told = next(iter(reasons.values()))
        if len(reasons) > 1:
            told = f"{len(reasons)} partitions, for one {told}"
        return replace(metrics, left=left, left_reason=told)

    def _unite(self, columns: Sequence[PartitionColumn], key: PartitionKey) -> PartitionKey:
        return typed_key(columns, key, self._zone)


def _commit(
    delta: JvmDelta,
    rewrite: RewriteTransaction,
    job: RewriteJob,
    chunk: Chunk,
    new_files: Sequence[NewFile],
) -> None:
    actions = write_actions(new_files, now_ms=int(time.time() * 1000))
    try:
        delta.commit_rewrite(
            rewrite, actions, predicate=chunk.predicate, metrics=commit_metrics(new_files)
        )
    except Exception as exc:
        if trouble_of(exc) is Trouble.CONFLICT and not _is_named_since(rewrite.version, job):
            job.remove_everything()
        raise
    finally:
        os.unlink(actions)


def _is_named_since(version: int, job: RewriteJob) -> bool:
    """Whether a commit after this version names a file of the job; also True where it cannot be read."""
    folder = os.path.join(job.root, "_delta_log")
    try:
        for name in os.listdir(folder):
            number, _, kind = name.partition(".")
            if kind == "json" and number.isdigit() and int(number) > version:
                with open(os.path.join(folder, name), encoding="utf-8") as log:
                    if job.mark in log.read():
                        return True
    except OSError:
        return True
    return False


def _columns(rewrite: RewriteTransaction) -> tuple[PartitionColumn, ...]:
    return partition_columns_of(json.dumps(rewrite.schema), rewrite.partition_columns)
