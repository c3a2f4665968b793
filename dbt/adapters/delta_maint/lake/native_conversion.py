"""Delta's own CONVERT TO DELTA, with our inference, preflight, dry run and check around it.

Works wherever SQL does: Thrift, Connect, a Delta without the classes the footer engine needs. Files, partition
values and footers are looked at before the command starts. It scans all data for its statistics, and when it
fails it leaves an empty `_delta_log` behind, which is removed where this process can reach the folder and
named where it cannot.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest, RejectedFile
from dbt.adapters.delta_maint.core.errors import (
    ConversionError,
    ConversionRaceError,
    NotDeltaSourceError,
)
from dbt.adapters.delta_maint.core.hive_layout import (
    PartitionColumn,
    common_columns,
    partition_pairs,
    require_columns,
)
from dbt.adapters.delta_maint.core.partition_types import infer_type, stored_value, type_to_ddl
from dbt.adapters.delta_maint.core.sql_text import identifier, qualified, string_literal
from dbt.adapters.delta_maint.lake.catalog_entry import SESSION_CATALOG
from dbt.adapters.delta_maint.lake.conversion_listing import unfit_reason
from dbt.adapters.delta_maint.lake.conversion_source import (
    log_version,
    refuse_foreign,
    require_allowed,
    split_provider,
)
from dbt.adapters.delta_maint.lake.file_access import (
    DELTA_LOG,
    FileEntry,
    open_files,
    strip_file_scheme,
)
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence
from dbt.adapters.delta_maint.lake.sql_folder import RunSql, SqlFolder

# Positions in the answers, where rows come as plain tuples.
DETAIL_NUM_FILES = 9
HISTORY_VERSION = 0
HISTORY_OPERATION = 4


class NativeConverter:
    def __init__(
        self,
        run_sql: RunSql,
        *,
        reason: str,
        delta: JvmDelta | str,
        allowed_roots: Sequence[str] = (),
    ) -> None:
        self._sql = run_sql
        self._reason = reason
        self._delta = delta
        self._allowed_roots = allowed_roots

    def convert(self, request: ConvertRequest) -> ConversionPlan:
        _refuse_what_native_lacks(request)
        began = time.perf_counter()
        label, root, sql_target, provider = self._resolve(request)
        require_allowed(self._real_root(root), self._allowed_roots)
        plan = ConversionPlan(
            target=label, root=root, log_root=root, engine="native", engine_reason=self._reason
        )
        if provider == "delta" or self._is_delta(root):
            return self._already_delta(request, plan, sql_target, provider)
        folder = SqlFolder(self._sql, root)
        files = folder.files()
        columns = self._partitions(request, files)
        rejected = _preflight(files, root)
        plan = replace(
            plan,
            files=len(files),
            bytes=sum(file.size_bytes for file in files),
            partition_columns=tuple(columns),
            partitions=len({file.path.rpartition("/")[0] for file in files}) if columns else 0,
            statistics="none" if request.statistics == "none" else "full",
            rejected=tuple(rejected),
        )
        if rejected and not request.dry_run:
            shown = "; ".join(f"{file.path}: {file.reason}" for file in rejected[:20])
            raise ConversionError(
                f"[DELTA_FAILED_READ_FILE_FOOTER] {len(rejected):,} file(s) in {root} cannot "
                f"be part of a Delta table: {shown}. Remove them; on_bad_file: skip needs engine: footer."
            )
        if not rejected:
            plan = replace(plan, schema=_schema(folder.columns(), columns))
        if request.dry_run:
            return plan
        self._run(request, sql_target, columns, root)
        plan = self._verified(plan)
        self._register(request, root)
        seconds = {"native": round(time.perf_counter() - began, 3)}
        return replace(plan, outcome="converted", version=0, seconds=seconds)

    def _already_delta(
        self, request: ConvertRequest, plan: ConversionPlan, sql_target: str, provider: str
    ) -> ConversionPlan:
        """With a log in the folder, the command only changes the catalog entry."""
        if request.dry_run or request.table is None or provider == "delta":
            return replace(plan, outcome="already_delta")
        self._run(request, sql_target, (), plan.root)
        return replace(plan, outcome="catalog_repaired", catalog_entry=plan.target)

    def _resolve(self, request: ConvertRequest) -> tuple[str, str, str, str]:
        if request.table is None:
            assert request.path is not None
            provider, root = split_provider(request.path)
            if provider not in ("parquet", "delta"):
                refuse_foreign(provider, request.path)
            return f"parquet.`{root}`", root, f"parquet.{identifier(root)}", "parquet"
        name = qualified(*request.table)
        label = ".".join(part for part in request.table[1:])
        details = {row[0]: row[1] for row in self._sql(f"DESCRIBE TABLE EXTENDED {name}")}
        kind = str(details.get("Type", ""))
        if "VIEW" in kind.upper():
            raise NotDeltaSourceError(
                "[DELTA_OPERATION_NOT_ALLOWED_DETAIL] Operation not allowed: CONVERT TO DELTA is "
                f"not supported for views, and {label} is one: name the table it reads."
            )
        provider = str(details.get("Provider", "")).lower()
        is_hive = provider == "hive" and "ParquetHiveSerDe" in str(details.get("Serde Library"))
        if provider not in ("parquet", "delta") and not is_hive:
            refuse_foreign(provider, label)
        return label, str(details.get("Location", "")), name, provider

    def _real_root(self, root: str) -> str:
        """Links can be followed only where this process sees the folder; `..` is resolved anywhere."""
        if not isinstance(self._delta, str):
            return open_files(self._delta, root).root
        scheme, separator, inside = strip_file_scheme(root).rpartition("://")
        return f"{scheme}{separator}{posixpath.normpath(inside)}"

    def _is_delta(self, root: str) -> bool:
        try:
            self._sql(f"DESCRIBE DETAIL delta.{identifier(root)}")
        except Exception:  # a path without a table has many errors, one for each kind of server
            return False
        return True

    def _partitions(
        self, request: ConvertRequest, files: Sequence[FileEntry]
    ) -> list[PartitionColumn]:
        """Types as ours would choose them; a catalog table brings its own."""
        if request.table is not None and request.partition_by is None:
            return []
        folders = {file.path.rpartition("/")[0] for file in files}
        declared = dict(request.partition_by or ())
        if request.partition_by is None:
            names: Sequence[str] = common_columns(folders)
        else:
            names = [name for name, _ in request.partition_by]
            require_columns(names, folders)
        columns = []
        for place, name in enumerate(names):
            values = {partition_pairs(folder)[place][1] for folder in folders}
            kind = declared.get(name) or infer_type(values)
            for value in values:
                stored_value(value, kind, column=name)
            columns.append(PartitionColumn(name, kind))
        return columns

    def _run(
        self,
        request: ConvertRequest,
        sql_target: str,
        columns: Sequence[PartitionColumn],
        root: str,
    ) -> None:
        without = " NO STATISTICS" if request.statistics == "none" else ""
        inside = ", ".join(f"{identifier(c.name)} {_type_words(c.type_name)}" for c in columns)
        by = f" PARTITIONED BY ({inside})" if inside else ""
        try:
            self._sql(f"CONVERT TO DELTA {sql_target}{without}{by}")
        except Exception as exc:
            raise ConversionError(
                f"Delta's own command did not convert {root}: {telling_sentence(exc)}"
                f"{self._cleaned(root)}"
            ) from exc

    def _cleaned(self, root: str) -> str:
        if isinstance(self._delta, str):
            return (
                f" (it may have left an empty folder {root.rstrip('/')}/{DELTA_LOG}, which does no "
                "harm and can be removed)"
            )
        files = open_files(self._delta, root)
        if log_version(files) < 0:
            files.remove_empty_folder(f"{DELTA_LOG}/_staged_commits")
            files.remove_empty_folder(DELTA_LOG)
        return ""

    def _verified(self, plan: ConversionPlan) -> ConversionPlan:
        """What the table says of itself: version 0 by this command, its files, and that rows come out."""
        name = f"delta.{identifier(plan.root)}"
        newest = self._sql(f"DESCRIBE HISTORY {name} LIMIT 1")[0]
        found = int(newest[HISTORY_VERSION]), str(newest[HISTORY_OPERATION])
        if found != (0, "CONVERT"):
            raise ConversionRaceError(
                f"[DELTA_CONCURRENT_WRITE] {plan.root} is a Delta table at version {found[0]} "
                f"({found[1]}): another writer was at work, look at its history."
            )
        files = int(self._sql(f"DESCRIBE DETAIL {name}")[0][DETAIL_NUM_FILES])
        rows = 0
        if plan.statistics != "none":
            rows = int(self._sql(f"SELECT count(*) FROM {name}")[0][0])
        self._sql(f"SELECT * FROM {name} LIMIT 1")
        warnings: tuple[str, ...] = ()
        if files < plan.files:
            warnings = (
                f"{plan.files - files:,} of the {plan.files:,} files that were listed are not in "
                "the table: files without rows, or in folders that the catalog does not know",
            )
        elif files > plan.files:
            warnings = (f"the table has {files - plan.files:,} files that Spark does not list",)
        return replace(plan, files=files, rows=rows, warnings=warnings)

    def _register(self, request: ConvertRequest, root: str) -> None:
        if request.register_as is None:
            return
        _, schema_name, table_name = request.register_as
        self._sql(f"CREATE SCHEMA IF NOT EXISTS {qualified(SESSION_CATALOG, schema_name)}")
        name = qualified(SESSION_CATALOG, schema_name, table_name)
        try:
            self._sql(f"CREATE TABLE {name} USING DELTA LOCATION {string_literal(root)}")
        except Exception as exc:
            raise ConversionError(
                f"{root} is a Delta table now, but {schema_name}.{table_name} could not be "
                f"declared for it: {telling_sentence(exc)}."
            ) from exc


def _type_words(type_name: str) -> str:
    """`timestamp` is a word of time travel to the command's own grammar, unless it is quoted."""
    words = type_to_ddl(type_name)
    return identifier(words) if words == "timestamp" else words


def _preflight(files: Sequence[FileEntry], root: str) -> list[RejectedFile]:
    on_disk = root.startswith(("/", "file:"))
    found = ((file, unfit_reason(file, on_disk=on_disk)) for file in files)
    return [RejectedFile(f.path, reason, f.size_bytes) for f, reason in found if reason]


def _refuse_what_native_lacks(request: ConvertRequest) -> None:
    for asked, name in (
        (request.widen_types, "widen_types"),
        (request.is_snapshot, "mode: snapshot"),
        (bool(request.properties), "properties"),
        (request.schema_mode is not None, "schema_mode"),
        (request.on_bad_file == "skip", "on_bad_file: skip"),
    ):
        if asked:
            raise ConversionError(
                f"{name} needs engine: footer, and with it Spark inside dbt: use `method: session`."
            )


def _schema(
    columns: Sequence[tuple[str, str]], partitions: Sequence[PartitionColumn]
) -> dict[str, Any]:
    named = {column.name.lower() for column in partitions}
    pairs = [pair for pair in columns if pair[0].lower() not in named]
    pairs += [(column.name, column.type_name) for column in partitions]
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in pairs
    ]
    return {"type": "struct", "fields": fields if columns else []}
