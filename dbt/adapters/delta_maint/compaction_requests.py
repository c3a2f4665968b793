"""From what dbt knows (a model, a graph, arguments) to requests for compaction.

One object per invocation. It marks the commits of every node while it runs, so that afterwards the
partitions a node wrote to are known from the log, whoever else wrote meanwhile.
"""

from __future__ import annotations

import contextlib
import difflib
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dbt.adapters.base import BaseRelation
from dbt.adapters.delta_maint.__version__ import version
from dbt.adapters.delta_maint.auto_compaction import NATIVE, AutoCompaction, is_switched_off
from dbt.adapters.delta_maint.compaction_reports import NodeRun, Report, Request
from dbt.adapters.delta_maint.core.errors import ConfigError, DeltaMaintError
from dbt.adapters.delta_maint.dbt_errors import told_to_dbt
from dbt.adapters.delta_maint.environments.base import Handle
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.lake.commit_mark import CONF, WRITE, CommitMark
from dbt.adapters.delta_maint.lake.sql_runner import SqlConnection
from dbt.adapters.delta_maint.maintenance_selection import (
    Selected,
    qualified_name,
    select_relations,
)
from dbt.adapters.delta_maint.policies.compaction import (
    CompactionConfig,
    apply_settings,
    read_budget,
    read_config,
    read_flag,
)
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

FORMATS = ("table", "json")
ARGUMENTS = ("select", "dry_run", "budget", "force", "zorder", "rewrite", "settings", "format")


class DbtCompaction:
    _current: ClassVar[DbtCompaction | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, config: Any, invocation_id: str) -> None:
        self._invocation_id = invocation_id
        self._started_ms: dict[str, int] = {}
        target = Path(config.project_root) / config.target_path
        self._work = AutoCompaction(
            target=target, invocation_id=invocation_id, dbt_threads=config.threads or 1
        )

    @classmethod
    def of_invocation(cls, config: Any) -> DbtCompaction:
        invocation_id = get_invocation_id()
        with cls._lock:
            if cls._current is None or cls._current._invocation_id != invocation_id:
                cls._current = cls(config, invocation_id)
            return cls._current

    @property
    def log_path(self) -> Path:
        return self._work.log.path

    # -- marks ------------------------------------------------------------------------------------

    def begin_node(self, adapter: Any) -> str | None:
        """Sets the mark unless the user has metadata of their own; returns what to undo."""
        if not _can_compact(adapter):
            return None
        node = adapter.connections.get_thread_connection().name
        self._started_ms.setdefault(node, int(time.time() * 1000))
        sql = _sql_of(adapter)
        if sql.conf(CONF) is None:
            mark = CommitMark(WRITE, version, invocation_id=self._invocation_id, node=node)
            sql.set_conf(CONF, mark.text())
            return mark.text()
        return None

    def end_node(self, adapter: Any, mark: str | None) -> None:
        if mark is None:
            return
        sql = _sql_of(adapter)
        # A connection that is lost takes its mark along, and its loss has been told.
        with contextlib.suppress(Exception):
            if sql.conf(CONF) == mark:
                sql.set_conf(CONF, None)

    # -- a model ----------------------------------------------------------------------------------

    def after_write(
        self,
        adapter: Any,
        relation: BaseRelation | str,
        model: dict[str, Any],
        switch: Any,
        overrides: dict[str, Any] | None,
    ) -> Report | None:
        is_hook = overrides is not None
        if isinstance(relation, str):
            relation = self._named(adapter, relation)
        config = self._config_of(model["config"], is_hook=is_hook, overrides=overrides)
        if config.enabled:
            _require_compaction(adapter)
        if not _can_compact(adapter):
            return None
        if not is_hook and model["config"].get("incremental_strategy") == "microbatch":
            # Batches may run side by side, and a batch must not fail because of another's compaction.
            config = replace(config, deferred=True)
        node = model["unique_id"]
        is_own = relation.identifier == (model.get("alias") or model["name"])
        run = NodeRun(
            self._invocation_id,
            node if is_own else None,
            self._started_ms.get(node) if is_own else None,
        )
        with told_to_dbt():
            report = self._work.after_write(
                _working_sql_of(adapter),
                Request(relation, config, run),
                off_switch=is_switched_off(switch),
                user_conf=adapter._credentials.server_side_parameters.get(NATIVE),
                default=model["config"].get("materialized") == "delta_optimized",
            )
        self.fail_if_wanted([report] if report is not None else [])
        return report

    def _named(self, adapter: Any, text: str) -> BaseRelation:
        name = qualified_name(text)
        if name is None:
            raise DbtRuntimeError(
                f"auto_compact has the relation {text!r}: use this, ref(...), source(...) or "
                "schema.table."
            )
        database, schema, identifier = name
        return self._relation(adapter, Selected(database, schema, identifier, None, {}))

    def _config_of(
        self, config: Any, *, is_hook: bool = False, overrides: dict[str, Any] | None = None
    ) -> CompactionConfig:
        try:
            found = read_config(
                config.get("auto_compact"), target_file_size=config.get("target_file_size")
            )
            if is_hook:
                found = replace(found, enabled=True, deferred=False)
                found = apply_settings(found, overrides or {})
            if config.get("zorder") and "zorder" not in found.stated:
                found = apply_settings(found, {"zorder": config.get("zorder")})
            return found
        except ConfigError as exc:
            raise DbtRuntimeError(str(exc)) from exc

    # -- the end of a run -------------------------------------------------------------------------

    def warns_of_missing_deferred_hook(self, graph: dict[str, Any]) -> bool:
        """True once per run in which work was deferred and nothing will ever do it."""
        if not self._work.has_deferred:
            return False
        hooks = (n for n in graph["nodes"].values() if n["resource_type"] == "operation")
        if any("compact_deferred" in (hook.get("raw_code") or "") for hook in hooks):
            return False
        return self._work.should_warn_of_missing_hook()

    def run_deferred(self, adapter: Any, budget: Any, switch: Any) -> list[Report]:
        requests = self._work.take_deferred()
        with told_to_dbt():
            is_off = is_switched_off(switch)
        if is_off or not requests:
            return []
        return self._compact_all(adapter, requests, budget)

    def fail_if_wanted(self, reports: list[Report]) -> None:
        """After all have been told: what `on_error: fail` says about them."""
        lines = [report.line() for report in reports if report.must_fail]
        if lines:
            raise DbtRuntimeError("\n".join(lines))

    # -- dbt run-operation compact ----------------------------------------------------------------

    def run_operation(
        self, adapter: Any, graph: dict[str, Any], arguments: dict[str, Any]
    ) -> list[Report]:
        _require_compaction(adapter)
        try:
            _refuse_unknown(arguments)
            selected = select_relations(graph, arguments.get("select"))
            dry_run = read_flag("dry_run", arguments.get("dry_run") or False)
            force = read_flag("force", arguments.get("force") or False)
            zorder = read_flag("zorder", arguments.get("zorder") or False)
            form = arguments.get("format") or FORMATS[0]
            if form not in FORMATS:
                raise ConfigError(f"format is {form!r}: use one of {', '.join(FORMATS)}.")
            settings = dict(_mapping("settings", arguments.get("settings")))
            if arguments.get("rewrite") is not None:
                settings["rewrite"] = arguments["rewrite"]
            # Two words may name one table: with and without its catalog, or in another case.
            requests = {
                relation.render().lower(): Request(
                    relation,
                    self._operation_config(item, settings, zorder=zorder),
                    None,
                    dry_run=dry_run,
                    force=force,
                )
                for item in reversed(selected)
                for relation in [self._relation(adapter, item)]
            }
        except DeltaMaintError as exc:
            raise DbtRuntimeError(str(exc)) from exc
        return self._compact_all(
            adapter, list(reversed(requests.values())), arguments.get("budget")
        )

    def _operation_config(
        self, item: Selected, settings: dict[str, Any], *, zorder: bool
    ) -> CompactionConfig:
        config = apply_settings(self._config_of(item.config), settings)
        # A budget of the model is for its own runs; the operation has its own.
        own_budget = apply_settings(CompactionConfig(), settings).policy.budget
        policy = replace(config.policy, budget=own_budget)
        if not zorder:
            policy = replace(policy, zorder=())
        return replace(config, policy=policy)

    def _relation(self, adapter: Any, item: Selected) -> BaseRelation:
        database = item.database or adapter._credentials.database
        return adapter.Relation.create(
            database=database, schema=item.schema, identifier=item.identifier, type="table"
        )

    def _compact_all(self, adapter: Any, requests: list[Request], budget: Any) -> list[Report]:
        try:
            limits = read_budget(budget)
        except ConfigError as exc:
            raise DbtRuntimeError(str(exc)) from exc
        return self._work.compact_all(_working_sql_of(adapter), requests, limits)


def _refuse_unknown(arguments: dict[str, Any]) -> None:
    for key in arguments:
        if key not in ARGUMENTS:
            near = difflib.get_close_matches(str(key), ARGUMENTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(ARGUMENTS)}."
            raise ConfigError(f"compact has the unknown argument {key!r}: {hint}")


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{name} is {value!r}: use a dictionary of settings.")
    return value or {}


def _can_compact(adapter: Any) -> bool:
    return bool(adapter._credentials.capabilities.has(Feature.COMPACTION))


def _require_compaction(adapter: Any) -> None:
    with told_to_dbt():
        adapter._credentials.capabilities.require(Feature.COMPACTION)


def _sql_of(adapter: Any) -> SqlConnection:
    """This thread's connection, for SQL and settings."""
    handle: Handle = adapter.connections.get_thread_connection().handle
    return handle.sql


def _working_sql_of(adapter: Any) -> SqlConnection:
    """The same; jobs from here on are cancelled with the connection."""
    adapter.connections.get_thread_connection().handle.mark_thread()
    return _sql_of(adapter)
