"""Delta's own CONVERT TO DELTA, with our inference, preflight, dry run and check around it.

Works wherever SQL does: Thrift, Connect, a Delta without the classes the footer engine needs. It scans all
data for its statistics, and when it fails it leaves an empty `_delta_log` behind, which is removed where
this process can reach the folder and named where it cannot.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest, RejectedFile
from dbt.adapters.delta_maint.core.errors import ConversionError, NotDeltaSourceError
from dbt.adapters.delta_maint.core.hive_layout import (
    PartitionColumn,
    common_columns,
    is_hidden_file,
    is_hidden_folder,
    partition_pairs,
    require_columns,
)
from dbt.adapters.delta_maint.core.partition_types import infer_type, stored_value, type_to_ddl
from dbt.adapters.delta_maint.core.sql_text import identifier, qualified, string_literal
from dbt.adapters.delta_maint.lake.conversion_listing import unfinished_reason
from dbt.adapters.delta_maint.lake.conversion_source import (
    DELTA_LOG,
    log_version,
    refuse_foreign,
    require_allowed,
    split_provider,
)
from dbt.adapters.delta_maint.lake.file_access import FileEntry, open_files
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

RunSql = Callable[[str], Sequence[Any]]
# Position of numFiles in DESCRIBE DETAIL, where rows come as plain tuples.
DETAIL_NUM_FILES = 9
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:/*", re.IGNORECASE)


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
        require_allowed(root, self._allowed_roots)
        plan = ConversionPlan(
            target=label, root=root, log_root=root, engine="native", engine_reason=self._reason
        )
        if provider == "delta" or (request.table is None and self._is_delta(root)):
            return _with(plan, outcome="already_delta")
        files = self._list(root)
        columns = self._partitions(request, files)
        rejected = _preflight(files)
        plan = _with(
            plan,
            files=len(files),
            bytes=sum(file.size_bytes for file in files),
            partition_columns=tuple(columns),
            partitions=len({file.path.rpartition("/")[0] for file in files}) if columns else 0,
            statistics="none" if request.statistics == "none" else "full",
            rejected=tuple(rejected),
        )
        if request.dry_run:
            return plan
        if rejected:
            shown = "; ".join(f"{file.path}: {file.reason}" for file in rejected[:20])
            raise ConversionError(
                f"[DELTA_FAILED_READ_FILE_FOOTER] {len(rejected):,} file(s) in {root} are not "
                f"readable parquet: {shown}. Remove them; on_bad_file: skip needs engine: footer."
            )
        self._run(request, sql_target, columns, root)
        converted = self._verify(root, len(files))
        if request.register_as is not None:
            _, schema_name, table_name = request.register_as
            name = qualified("spark_catalog", schema_name, table_name)
            self._sql(f"CREATE TABLE {name} USING DELTA LOCATION {string_literal(root)}")
        seconds = {"native": round(time.perf_counter() - began, 3)}
        return _with(plan, outcome="converted", version=0, files=converted, seconds=seconds)

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
        return label, unquote(str(details.get("Location", ""))), name, provider

    def _is_delta(self, root: str) -> bool:
        try:
            self._sql(f"DESCRIBE DETAIL delta.{identifier(root)}")
        except Exception:  # a path without a table has many errors, one for each kind of server
            return False
        return True

    def _list(self, root: str) -> list[FileEntry]:
        """Files through SQL alone: Spark's own listing behind a temporary view."""
        view = identifier(f"delta_maint_listing_{uuid.uuid4().hex}")
        try:
            self._sql(
                f"CREATE TEMPORARY VIEW {view} USING binaryFile OPTIONS "
                f"(path {string_literal(root)}, recursiveFileLookup 'true')"
            )
        except Exception as exc:
            raise ConversionError(f"{root} cannot be listed: {telling_sentence(exc)}") from exc
        try:
            rows = self._sql(f"SELECT path, length, unix_millis(modificationTime) FROM {view}")
        finally:
            self._sql(f"DROP VIEW {view}")
        base = _bare(root).rstrip("/") + "/"
        found = []
        for path, length, modified in rows:
            inside = _bare(unquote(path)).removeprefix(base)
            *folders, name = inside.split("/")
            if not is_hidden_file(name) and not any(is_hidden_folder(f) for f in folders):
                found.append(FileEntry(inside, int(length), int(modified)))
        if not found:
            raise ConversionError(f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {root}")
        return sorted(found)

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
            # The native command cannot parse a timestamp column here.
            kind = "string" if kind == "timestamp" and not declared.get(name) else kind
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
        inside = ", ".join(f"{identifier(c.name)} {type_to_ddl(c.type_name)}" for c in columns)
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

    def _verify(self, root: str, listed: int) -> int:
        """Files in the table; the native command drops those without rows, never adds any."""
        row = self._sql(f"DESCRIBE DETAIL delta.{identifier(root)}")[0]
        found = int(row["numFiles"] if hasattr(row, "asDict") else row[DETAIL_NUM_FILES])
        if found > listed:
            raise ConversionError(
                f"{root} is a Delta table of {found:,} files, but {listed:,} were listed: another "
                "writer was at work, look at its history."
            )
        return found


def _preflight(files: Sequence[FileEntry]) -> list[RejectedFile]:
    found = ((file, unfinished_reason(file)) for file in files)
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


def _bare(path: str) -> str:
    return "/" + _SCHEME.sub("", path, count=1).lstrip("/")


def _with(plan: ConversionPlan, **changes: Any) -> ConversionPlan:
    return ConversionPlan(**{**plan.__dict__, **changes})
