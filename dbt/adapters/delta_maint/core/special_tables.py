"""Tables that are not compacted by the sizes of their files: refused by name, or clustered by Delta."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.delta_maint.core.compaction_plan import (
    Action,
    CompactionPlan,
    Outcome,
    PartitionWork,
)
from dbt.adapters.delta_maint.core.compaction_policy import Clustered, CompactionPolicy
from dbt.adapters.delta_maint.core.compaction_ranking import make_chunks
from dbt.adapters.delta_maint.core.errors import PredicateError
from dbt.adapters.delta_maint.core.partition_predicate import refuse_columns_that_cannot_narrow
from dbt.adapters.delta_maint.core.table import Snapshot


def refusal_of(snapshot: Snapshot, policy: CompactionPolicy) -> str | None:
    feature = snapshot.catalog_managed_feature
    if feature is not None:
        return f"the table has the feature {feature}, whose commits only its catalog makes"
    if snapshot.is_clustered and policy.clustered is Clustered.SKIP:
        columns = ", ".join(snapshot.clustering_columns)
        return (
            f"the table is clustered by {columns}, and OPTIMIZE would cluster it: set "
            "`clustered: optimize` to allow that"
        )
    try:
        refuse_columns_that_cannot_narrow(snapshot.partition_columns)
    except PredicateError as exc:
        return str(exc)
    return None


def clustering_plan(empty: CompactionPlan, snapshot: Snapshot) -> CompactionPlan:
    fresh = [f for f in snapshot.files if f.clustering_provider is None]
    if len(fresh) < 2:
        return replace(
            empty,
            outcome=Outcome.INSUFFICIENT_FILES,
            reason=f"{len(fresh)} of {len(snapshot.files)} files are not clustered yet",
        )
    work = PartitionWork(
        partition=(),
        label="all",
        action=Action.CLUSTER,
        partition_files=len(snapshot.files),
        considered_files=len(snapshot.files),
        input_files=len(fresh),
        input_bytes=sum(file.size_bytes for file in fresh),
        output_files=1,
        output_bytes=sum(file.size_bytes for file in fresh),
        reason=f"{len(fresh)} files are not clustered yet",
        gain=len(fresh),
    )
    chunks = make_chunks((), (work,), cap_bytes=empty.cap_bytes)
    return replace(
        empty,
        outcome=Outcome.RUN_ON_ALL_PARTITIONS,
        reason=work.reason,
        chosen=(work,),
        chunks=chunks,
    )
