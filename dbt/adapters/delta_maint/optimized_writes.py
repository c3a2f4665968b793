"""How dbt asks for a write with files of the right size, and how it is told what came of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.__version__ import version
from dbt.adapters.delta_maint.after_write import location_of, session_response
from dbt.adapters.delta_maint.core.errors import ConfigError
from dbt.adapters.delta_maint.core.statements import split_statements
from dbt.adapters.delta_maint.core.write_choice import Mode, Way, WritePolicy
from dbt.adapters.delta_maint.core.write_outcome import WriteOutcome, outcome
from dbt.adapters.delta_maint.environments.base import Handle
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.lake import sql_log, write_settings
from dbt.adapters.delta_maint.lake.commit_mark import WRITE, CommitMark
from dbt.adapters.delta_maint.lake.delta_table import DeltaTable
from dbt.adapters.delta_maint.lake.prepared_write import PreparedWrite
from dbt.adapters.delta_maint.lake.progress import told_progress
from dbt.adapters.delta_maint.lake.recent_writes import added_files, read_commit
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.lake.sql_write_target import SqlWriteTarget
from dbt.adapters.delta_maint.lake.sql_writer import SqlPreparation
from dbt.adapters.delta_maint.lake.write_target import WriteTarget
from dbt.adapters.delta_maint.lake.writer import Preparation
from dbt.adapters.delta_maint.policies.write import write_policy
from dbt.adapters.delta_maint.response import DeltaMaintResponse, enlarged
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

logger = AdapterLogger("DeltaMaint")

# These strategies write the model's rows as they are; every other one is a MERGE of some kind.
ROW_STRATEGIES = ("append", "insert_overwrite", "replace_where", "microbatch")
_NOT_DELTA = (
    "{name} is not a Delta table: run the model with --full-refresh, or set `optimized_write: off`."
)


@dataclass(frozen=True)
class WriteRequest:
    """What a macro knows: `kind` is create, or the name of an incremental strategy.

    `placed` is the name the placed rows get, `existing` the table that a create would replace.
    """

    relation: BaseRelation
    placed: BaseRelation
    config: Any
    model: Mapping[str, Any]
    query: str
    kind: str
    existing: BaseRelation | None = None

    @property
    def partition_by(self) -> tuple[str, ...]:
        names = self.config.get("partition_by") or ()
        return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class PlannedWrite:
    """What the macros hold between planning and writing; `source` is where the rows are read."""

    relation: BaseRelation
    source: BaseRelation | None
    prepared: PreparedWrite
    prepare_seconds: float
    has_run_header: bool = False

    @property
    def query(self) -> str:
        return f"select * from {self.source}"


def plan(adapter: Any, request: WriteRequest) -> PlannedWrite | None:
    """None when the model's write is none of our business."""
    with adapter.connections.exception_handler(request.query):
        policy = policy_of(request.config, adapter.connections.profile.credentials)
        if policy is None:
            return None
        started = time.monotonic()
        handle = adapter.connections.get_thread_connection().handle
        handle.mark_thread()
        header = _run_header(handle.sql, request)

        def tell(line: str) -> None:
            logger.info("planning {}: {}", request.relation.render(), line)

        with told_progress(handle.spark, handle.job_group, tell):
            prepared = prepare(handle, policy, request)
        seconds = time.monotonic() - started
        logger.debug(
            "{}: {} ({}), planned in {:.2f} s",
            request.relation.render(),
            prepared.choice.way.value,
            prepared.choice.reason,
            seconds,
        )
        source = None
        if prepared.has_rows:
            prepared.show_as(request.placed.identifier)
            source = request.placed
        return PlannedWrite(request.relation, source, prepared, seconds, has_run_header=header)


def policy_of(config: Any, credentials: Any) -> WritePolicy | None:
    conf = credentials.server_side_parameters.get(write_settings.OPTIMIZE_WRITE)
    policy = write_policy(config.get, session_says_on=str(conf).lower() == "true")
    capabilities = credentials.capabilities
    if policy is not None and policy.mode is not Mode.OFF:
        capabilities.require(Feature.OPTIMIZED_WRITE, otherwise="`optimized_write: off`")
    return policy if capabilities.has(Feature.OPTIMIZED_WRITE) else None


def prepare(handle: Handle, policy: WritePolicy, request: WriteRequest) -> PreparedWrite:
    """Counts, calibrates and places; nothing is written."""
    mark = CommitMark(
        WRITE,
        version,
        invocation_id=str(get_invocation_id()),
        node=request.model.get("unique_id"),
    )
    is_rows = request.kind == "create" or request.kind in ROW_STRATEGIES
    spark = handle.spark
    if spark is None:
        planned = SqlPreparation(handle.sql, policy, _sql_target(handle.sql, request), mark)
        if is_rows:
            return planned.rows(request.query, model=str(request.model["name"]))
        return planned.merge(request.relation.render(), request.kind)
    preparation = Preparation(spark, policy, _target(spark, request), mark)
    if is_rows:
        return preparation.rows(_rows(spark, policy, request))
    table = spark.table(request.relation.render())
    columns = [(field.name, field.dataType.simpleString()) for field in table.schema.fields]
    return preparation.merge(columns, request.kind, table=table)


def run(adapter: Any, planned: PlannedWrite, sql: str) -> DeltaMaintResponse:
    """Runs the statement under its settings, then reads from its commit what became of it."""
    handle = adapter.connections.get_thread_connection().handle
    relation = planned.relation
    statement = split_statements(sql)[-1] if planned.has_run_header else sql

    def tell(line: str) -> None:
        logger.info("writing {}: {}", relation.render(), line)

    started = time.monotonic()
    with (
        planned.prepared.running(handle.spark),
        told_progress(handle.spark, handle.job_group, tell),
    ):
        response, _ = adapter.execute(statement)
    seconds = time.monotonic() - started + planned.prepare_seconds
    spark = handle.spark
    told = enlarged(response) if spark is None else session_response(spark, relation, response)
    try:
        return _with_outcome(handle, planned, told, seconds)
    except Exception as exc:  # the rows are committed: a report must not fail their model
        logger.debug("{}: the commit could not be read: {}", relation.render(), exc)
        return told


def _with_outcome(
    handle: Handle, planned: PlannedWrite, told: DeltaMaintResponse, seconds: float
) -> DeltaMaintResponse:
    if told.table_version is None:
        return told
    relation = planned.relation
    actions = _actions(handle, relation, told.table_version)
    if not actions:
        return told
    result = outcome(added_files(actions), target_bytes=planned.prepared.target_bytes)
    if result.over_partitioned:
        logger.warning("{}: {}", relation.render(), result.over_partitioned)
    way = planned.prepared.choice.way
    sentence = result.sentence(way=way.value, seconds=seconds) if way is not Way.PLAIN else None
    return told.with_part("optimized_write", numbers(planned.prepared, result), sentence=sentence)


def _actions(handle: Handle, relation: BaseRelation, version: int) -> list[dict[str, Any]]:
    if handle.spark is not None:
        return read_commit(handle.spark, location_of(handle.spark, relation), version)
    table = DeltaTable.find(handle.sql, relation.render())
    return sql_log.read_commit(handle.sql, table.location, version)


def _target(spark: Any, request: WriteRequest) -> WriteTarget:
    name = request.relation.render()
    if request.kind == "create":
        found = None
        if request.existing is not None and request.existing.type == "table":
            # A table that is gone since dbt looked is created anew.
            with contextlib.suppress(Exception):
                found = WriteTarget.existing(spark, name, partition_columns=request.partition_by)
        return found or WriteTarget(request.partition_by)
    found = WriteTarget.existing(spark, name)
    if found is None:
        raise ConfigError(_NOT_DELTA.format(name=name))
    return found


def _sql_target(sql: SqlConnection, request: WriteRequest) -> SqlWriteTarget:
    name = request.relation.render()
    if request.kind == "create":
        found = None
        if request.existing is not None and request.existing.type == "table":
            with contextlib.suppress(Exception):
                found = SqlWriteTarget.asked(sql, name, partition_columns=request.partition_by)
        return found or SqlWriteTarget(request.partition_by)
    found = SqlWriteTarget.asked(sql, name)
    if found is None:
        raise ConfigError(_NOT_DELTA.format(name=name))
    return found


def _rows(spark: Any, policy: WritePolicy, request: WriteRequest) -> Any:
    frame = spark.sql(request.query.strip().rstrip(";"))
    offered = {name.lower() for name in frame.columns}
    for name in policy.write_order:
        if name.lower() not in offered:
            raise ConfigError(
                f"write_order names {name!r}, which {request.model['name']} does not select: its "
                f"columns are {', '.join(frame.columns)}."
            )
    return frame


def _run_header(sql: SqlConnection, request: WriteRequest) -> bool:
    """A model's header prepares the session for its query, so it goes first, and once."""
    if request.kind != "create":
        return False
    header = request.config.get("sql_header")
    for statement in split_statements(header or ""):
        sql.run(statement)
    return bool(header)


def numbers(prepared: PreparedWrite, result: WriteOutcome) -> dict[str, Any]:
    """For run_results.json."""
    calibration = prepared.calibration
    expected = prepared.placement.bytes if prepared.placement else 0
    return {
        "mode": prepared.choice.way.value,
        "reason": prepared.choice.reason,
        "target_bytes": prepared.target_bytes,
        "planned_files": prepared.planned_files,
        "files": result.files,
        "bytes": result.bytes,
        "in_range_percent": result.in_range_percent,
        "largest_bytes": result.largest_bytes,
        "bytes_per_row": round(calibration.bytes_per_row, 2) if calibration else None,
        "bytes_per_row_source": calibration.source.value if calibration else None,
        "size_error_percent": round(100 * (result.bytes / expected - 1), 1) if expected else None,
    }
