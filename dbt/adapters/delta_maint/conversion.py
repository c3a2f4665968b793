"""convert_to_delta and undo_convert as dbt runs them: find the targets, convert each, tell the result.

One target that fails does not stop the others; the operation fails at the end and names every one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.__version__ import version
from dbt.adapters.delta_maint.connections import project_root
from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConfigError, DeltaMaintError
from dbt.adapters.delta_maint.environments.capabilities import Feature
from dbt.adapters.delta_maint.lake.catalog_entry import SessionCatalog
from dbt.adapters.delta_maint.lake.conversion_undo import Undoer
from dbt.adapters.delta_maint.lake.converter import Converter
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.native_conversion import NativeConverter
from dbt.adapters.delta_maint.lake.sql_folder import RunSql
from dbt.adapters.delta_maint.policies.convert import (
    ConvertArguments,
    parse_arguments,
    request_for,
    table_name,
)
from dbt.adapters.delta_maint.report.conversion_text import conversion_lines, undo_lines
from dbt_common.events.base_types import EventLevel
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError

REPORT_FOLDER = Path("delta_maint")
SOURCE_META_KEY = "delta_maint"


class ConversionRun:
    """One call of an operation on one connection; `spark` is None where there is no session of ours."""

    def __init__(
        self,
        *,
        spark: Any | None,
        run_sql: RunSql,
        default_schema: str,
        project_root: Path,
        target_path: Path,
        allowed_roots: tuple[str, ...] = (),
    ) -> None:
        self._spark = spark
        self._run_sql = run_sql
        self._default_schema = default_schema
        self._project_root = project_root
        self._target_path = target_path
        self._allowed_roots = allowed_roots

    @classmethod
    def of_adapter(cls, adapter: Any) -> ConversionRun:
        """On the connection that this thread of dbt has open."""
        credentials = adapter.config.credentials
        handle = adapter.connections.get_thread_connection().handle
        has_footers = credentials.capabilities.has(Feature.FOOTER_CONVERSION)
        if has_footers:
            handle.mark_thread()
        root = project_root(credentials)
        return cls(
            spark=handle.spark if has_footers else None,
            run_sql=lambda sql: adapter.execute(sql, fetch=True)[1].rows,
            default_schema=credentials.schema,
            project_root=root,
            target_path=root / adapter.config.target_path,
            allowed_roots=tuple(credentials.convert_roots),
        )

    def convert(self, given: Mapping[str, Any], sources: Mapping[str, Any]) -> list[dict[str, Any]]:
        with as_dbt_error():
            return self._convert(given, sources)

    def undo(self, given: Mapping[str, Any], sources: Mapping[str, Any]) -> dict[str, Any]:
        with as_dbt_error():
            return self._undo(given, sources)

    def _convert(
        self, given: Mapping[str, Any], sources: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        arguments = parse_arguments(given)
        requests = list(self._requests(arguments, sources))
        delta = self._delta()
        plans: list[ConversionPlan] = []
        faults: list[str] = []
        for label, request in requests:
            try:
                plan = self._engine(request, delta)(request)
            except DeltaMaintError as exc:
                if len(requests) == 1:
                    raise
                faults.append(f"{label}: {exc}")
                tell(f"{label}: NOT converted: {exc}")
                continue
            plans.append(plan)
            for line in conversion_lines(plan):
                tell(line)
            tell(f"  report: {self._write_report(plan)}")
            if plan.outcome == "converted":
                where = "" if self._spark is not None else ", on `method: session`"
                tell(
                    f"  way back, until something is written to it{where}: "
                    f"{_undo_hint(arguments, request)}"
                )
        if faults:
            raise DeltaMaintError(
                f"{len(faults)} of {len(requests)} conversions failed: {'; '.join(faults)}"
            )
        return [plan.as_dict() for plan in plans]

    def _undo(self, given: Mapping[str, Any], sources: Mapping[str, Any]) -> dict[str, Any]:
        arguments = parse_arguments(given, operation="undo_convert")
        delta = self._delta()
        if isinstance(delta, str):
            raise DeltaMaintError(
                f"undo_convert needs Spark inside dbt, but {delta}: use `method: session`."
            )
        ((_, request),) = self._requests(
            ConvertArguments(arguments.path, arguments.table, arguments.source), sources
        )
        undoer = Undoer(self._spark, delta, allowed_roots=self._allowed_roots)
        plan = undoer.undo(
            path=request.path,
            table=request.table,
            dry_run=bool(arguments.options.get("dry_run", False)),
        )
        for line in undo_lines(plan):
            tell(line)
        return asdict(plan)

    def _delta(self) -> JvmDelta | str:
        if self._spark is None:
            return "this connection goes to a Spark server"
        return JvmDelta.probe(self._spark)

    def _engine(self, request: ConvertRequest, delta: JvmDelta | str) -> Any:
        if request.engine == "native" or (request.engine == "auto" and isinstance(delta, str)):
            why = "as asked" if request.engine == "native" else f"{delta}"
            return NativeConverter(
                self._run_sql, reason=why, delta=delta, allowed_roots=self._allowed_roots
            ).convert
        if isinstance(delta, str):
            raise DeltaMaintError(
                f"engine: footer needs Spark inside dbt, but {delta}: use `method: session`, or "
                "engine: auto."
            )
        return Converter(
            self._spark, delta, tool_version=version, allowed_roots=self._allowed_roots
        ).convert

    # -- targets ------------------------------------------------------------------------------

    def _requests(
        self, arguments: ConvertArguments, sources: Mapping[str, Any]
    ) -> Iterator[tuple[str, ConvertRequest]]:
        if arguments.path is not None:
            path = self._absolute(arguments.path)
            yield path, self._request(arguments, path=path)
        elif arguments.table is not None:
            table = table_name(arguments.table, self._default_schema)
            yield arguments.table, self._request(arguments, table=table)
        else:
            for node in chosen_sources(arguments, sources):
                yield f"{node['source_name']}.{node['name']}", self._source(arguments, node)

    def _source(self, arguments: ConvertArguments, node: Mapping[str, Any]) -> ConvertRequest:
        location, options = source_location(node)
        table = (node.get("database"), node["schema"], node["identifier"])
        if location is None or self._is_table(table):
            return self._request(arguments, table=table, options=options)
        return self._request(arguments, path=self._absolute(location), options=options)

    def _is_table(self, table: tuple[str | None, str, str]) -> bool:
        return self._spark is not None and SessionCatalog(self._spark).find(table) is not None

    def _request(self, arguments: ConvertArguments, **target: Any) -> ConvertRequest:
        request = request_for(arguments, default_schema=self._default_schema, **target)
        if request.snapshot_path is None:
            return request
        return ConvertRequest(
            **{**request.__dict__, "snapshot_path": self._absolute(request.snapshot_path)}
        )

    def _absolute(self, path: str) -> str:
        """A relative path starts at the project, as everything in a project does; `~` is the home."""
        found = re.fullmatch(r"([A-Za-z0-9_]+\.)?`(.+)`", path, re.DOTALL)
        prefix, inside = (found.group(1) or "", found.group(2)) if found else ("", path)
        if not re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:", inside):
            inside = str(self._project_root / Path(inside).expanduser())
        return f"{prefix}`{inside}`" if found and prefix else inside

    def _write_report(self, plan: ConversionPlan) -> Path:
        folder = self._target_path / REPORT_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", plan.target).strip("_")[-80:]
        path = folder / f"convert_{name}.json"
        path.write_text(json.dumps(plan.as_dict(), indent=2, ensure_ascii=False, default=str))
        return path


def chosen_sources(
    arguments: ConvertArguments, sources: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    nodes = sorted(sources.values(), key=lambda node: node["unique_id"])
    if arguments.source is not None:
        wanted = arguments.source
        found = [n for n in nodes if wanted in (f"{n['source_name']}.{n['name']}", n["unique_id"])]
        if len(found) != 1:
            known = ", ".join(f"{n['source_name']}.{n['name']}" for n in nodes) or "none"
            raise ConfigError(
                f"source is {wanted!r}, which the project does not have: its sources are {known}."
            )
        return found
    assert arguments.select is not None
    found = [node for node in nodes if _is_selected(node, arguments.select)]
    if not found:
        raise ConfigError(
            f"select is {arguments.select!r}, which matches no source: it understands tag:, "
            "source:, package: and names with *."
        )
    return found


def source_location(node: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Where a source's files lie, and options that its YAML gives."""
    meta = {**(node.get("meta") or {}), **((node.get("config") or {}).get("meta") or {})}
    own = meta.get(SOURCE_META_KEY)
    if isinstance(own, str):
        return own, {}
    if isinstance(own, Mapping):
        options = dict(own)
        return options.pop("location", None) or _external_location(node), options
    return _external_location(node), {}


@contextmanager
def as_dbt_error() -> Iterator[None]:
    try:
        yield
    except DeltaMaintError as exc:
        raise DbtRuntimeError(str(exc)) from exc


def tell(line: str) -> None:
    fire_event(Note(msg=line), level=EventLevel.INFO)


def _external_location(node: Mapping[str, Any]) -> str | None:
    location = (node.get("external") or {}).get("location")
    return str(location) if location else None


def _is_selected(node: Mapping[str, Any], selection: str) -> bool:
    """Spaces join, commas intersect, as dbt does it."""
    return any(
        all(_matches(node, part) for part in group.split(",")) for group in selection.split()
    )


def _matches(node: Mapping[str, Any], part: str) -> bool:
    method, colon, value = part.partition(":")
    full_name = f"{node['source_name']}.{node['name']}"
    if not colon:
        return fnmatchcase(full_name, part) or fnmatchcase(node["name"], part)
    if method == "tag":
        return any(fnmatchcase(tag, value) for tag in node.get("tags") or [])
    if method == "source":
        return fnmatchcase(full_name, value) or fnmatchcase(node["source_name"], value)
    if method == "package":
        return bool(node.get("package_name") == value)
    raise ConfigError(
        f"select has {part!r}, a method that convert_to_delta does not know: use tag:, source: or "
        "package:."
    )


def _undo_hint(arguments: ConvertArguments, request: ConvertRequest) -> str:
    if request.is_snapshot and request.snapshot_path:
        target = {"path": request.snapshot_path}
    elif arguments.source is not None:
        target = {"source": arguments.source}
    elif request.table is not None:
        target = {"table": ".".join(part for part in request.table[1:])}
    else:
        target = {"path": request.path or ""}
    return f"dbt run-operation undo_convert --args '{json.dumps(target)}'"
