"""Parquet becomes Delta from its footers.

list -> partition values -> footers -> schema -> plan (the dry run ends here) -> nothing changed? -> one commit
of version 0 through Delta's own transaction -> verify -> catalog entry.

Nothing is created before everything is checked. Whatever fails leaves the folder as it was; a process that is
killed leaves plain parquet or a complete table, and the next run finishes. Of two that convert at once, the
log store lets one win; on a local disk, where Delta's store only keeps threads apart, a lock on the folder does.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConversionPlan, ConvertRequest
from dbt.adapters.delta_maint.core.errors import (
    ConversionError,
    ConversionRaceError,
    DeltaMaintError,
)
from dbt.adapters.delta_maint.core.sql_text import properties as sql_properties
from dbt.adapters.delta_maint.core.sql_text import qualified, string_literal
from dbt.adapters.delta_maint.lake.catalog_entry import SESSION_CATALOG, SessionCatalog
from dbt.adapters.delta_maint.lake.commit_mark import CONF, CommitMark
from dbt.adapters.delta_maint.lake.conversion_check import refuse_difference
from dbt.adapters.delta_maint.lake.conversion_listing import refuse_changes
from dbt.adapters.delta_maint.lake.conversion_planning import Planner, Prepared
from dbt.adapters.delta_maint.lake.conversion_source import (
    Source,
    log_version,
    require_allowed,
    resolve,
)
from dbt.adapters.delta_maint.lake.conversion_undo import conversion_run, remove_version_zero
from dbt.adapters.delta_maint.lake.file_access import DELTA_LOG, TableFiles, open_files
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta
from dbt.adapters.delta_maint.lake.spark_errors import error_class, telling_sentence

CONVERT = "convert"
CATALOG_TABLES_LOOKED_AT = 500

Observer = Callable[[str], None]


def private_session(spark: Any) -> Any:
    """A copy of a session: same confs, and what is set on it nobody else sees."""
    from pyspark.sql import SparkSession

    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


class Converter:
    """Converts with Delta's JVM classes at hand; `observer` hears the name of each phase that is done."""

    def __init__(
        self,
        spark: Any,
        delta: JvmDelta,
        *,
        tool_version: str,
        allowed_roots: Sequence[str] = (),
        observer: Observer = lambda phase: None,
    ) -> None:
        self._spark = private_session(spark)
        self._delta = JvmDelta(self._spark)
        self._catalog = SessionCatalog(self._spark)
        self._tool_version = tool_version
        self._allowed_roots = allowed_roots
        self._observer = observer
        self._began = 0.0
        self._run_id = ""
        self._seconds: dict[str, float] = {}

    def convert(self, request: ConvertRequest) -> ConversionPlan:
        self._began, self._seconds = time.perf_counter(), {}
        self._run_id = uuid.uuid4().hex
        source = resolve(request, self._delta, self._catalog, allowed_roots=self._allowed_roots)
        log_files = self._log_files(request, source)
        done = self._already_done(request, source, log_files)
        self._reached("resolved")
        if done is not None:
            return done
        if not request.dry_run and not request.is_snapshot:
            source.files.refuse_unwritable()
        planner = Planner(self._spark, self._delta, self._catalog, request, source, log_files)
        try:
            prepared = planner.prepare(self._reached)
            plan = replace(prepared.plan, warnings=(*prepared.plan.warnings, *self._shared(source)))
            if request.dry_run:
                return replace(plan, seconds=self._seconds)
            return self._commit(request, source, log_files, planner, prepared, plan)
        finally:
            planner.close()

    def _log_files(self, request: ConvertRequest, source: Source) -> TableFiles:
        """Where the log will be: in the source, or for a snapshot in a folder of its own."""
        if not request.is_snapshot:
            return source.files
        location = request.snapshot_path
        if location is None:
            assert request.register_as is not None
            location = self._catalog.usual_location(request.register_as)
        files = open_files(self._delta, location)
        require_allowed(files.root, self._allowed_roots)
        inside = (f"{files.root}/".startswith(f"{source.files.root}/")) or (
            f"{source.files.root}/".startswith(f"{files.root}/")
        )
        if inside:
            raise ConversionError(
                f"snapshot_path {files.root} and the source {source.files.root} overlap: name a "
                "folder beside the source."
            )
        others = [name for name in files.names("") if name != DELTA_LOG] if files.exists() else []
        if others:
            raise ConversionError(
                f"snapshot_path {files.root} is not empty ({others[0]}): name a new folder."
            )
        return files

    def _already_done(
        self, request: ConvertRequest, source: Source, log_files: TableFiles
    ) -> ConversionPlan | None:
        version = log_version(log_files)
        if version < 0 and not source.is_delta_entry:
            return None
        plan = ConversionPlan(
            target=source.label,
            root=source.files.root,
            log_root=log_files.root,
            engine="footer",
            engine_reason="the folder has a Delta log",
            outcome="already_delta",
            version=version if version >= 0 else None,
        )
        if request.dry_run:
            return plan
        if source.entry is not None and not source.is_delta_entry and not request.is_snapshot:
            self._repair_entry(source, None)
            plan = replace(plan, outcome="catalog_repaired", catalog_entry=source.entry.name)
        return self._registered(request, log_files, plan)

    def _commit(
        self,
        request: ConvertRequest,
        source: Source,
        log_files: TableFiles,
        planner: Planner,
        prepared: Prepared,
        plan: ConversionPlan,
    ) -> ConversionPlan:
        made_folder = request.is_snapshot and not log_files.exists()
        had_log_folder = log_files.exists(DELTA_LOG)
        self._spark.conf.set(CONF, self._mark(request, source, plan))
        self._reached("before_commit")
        if made_folder:
            log_files.make()
        committed = False
        try:
            with log_files.alone():
                self._refuse_taken(log_files)
                refuse_changes(prepared.listing, planner.list_again())
                version = self._commit_version_zero(request, source, log_files, prepared, plan)
                committed = True
            self._reached("committed")
            refuse_difference(plan, self._delta.committed(log_files.location), log_files)
            self._reached("verified")
        except BaseException as exc:
            self._leave_as_it_was(log_files, had_log_folder, made_folder, committed)
            if isinstance(exc, DeltaMaintError) or not isinstance(exc, Exception):
                raise
            raise self._explained(exc, log_files) from exc
        finally:
            self._spark.conf.unset(CONF)
        plan = replace(plan, outcome="converted", version=version)
        if source.entry is not None and not request.is_snapshot:
            self._repair_entry(source, prepared.draft.configuration)
            plan = replace(plan, catalog_entry=source.entry.name)
        plan = self._registered(request, log_files, plan)
        self._reached("registered")
        return replace(plan, seconds=self._seconds)

    def _commit_version_zero(
        self,
        request: ConvertRequest,
        source: Source,
        log_files: TableFiles,
        prepared: Prepared,
        plan: ConversionPlan,
    ) -> int:
        try:
            return self._delta.commit(
                prepared.draft,
                prepared.actions_file,
                files=plan.files,
                partitioned_by=[name for name, _ in request.partition_by or ()],
                collects_statistics=request.statistics != "none",
                catalog_table=source.entry.name if source.entry else None,
            )
        except Exception:
            # An error after the commit (its checkpoint, say) does not unmake the table.
            if log_version(log_files) == 0 and conversion_run(log_files) == self._run_id:
                return 0
            raise

    def _refuse_taken(self, log_files: TableFiles) -> None:
        if log_version(log_files) >= 0:
            raise ConversionRaceError(
                "[DELTA_CONCURRENT_WRITE] Another writer made a Delta table of "
                f"{log_files.root} in the meantime: its table stands, nothing was changed here."
            )

    def _leave_as_it_was(
        self, log_files: TableFiles, had_log_folder: bool, made_folder: bool, committed: bool
    ) -> None:
        if committed:
            remove_version_zero(log_files, self._delta)
        elif log_version(log_files) < 0 and not had_log_folder:
            # Only folders that are empty go: if another writer is at work in there, it stays whole.
            for name in log_files.names(f"{DELTA_LOG}/_staged_commits"):
                if name.startswith(".") and name.endswith(".tmp.crc"):
                    log_files.remove_file(f"{DELTA_LOG}/_staged_commits/{name}")
            log_files.remove_empty_folder(f"{DELTA_LOG}/_staged_commits")
            log_files.remove_empty_folder(DELTA_LOG)
        if made_folder:
            log_files.remove_empty_folder("")
        self._delta.forget(log_files.location)

    def _explained(self, exc: Exception, log_files: TableFiles) -> ConversionError:
        sentence = telling_sentence(exc)
        if error_class(sentence) == "DELTA_CONCURRENT_WRITE" or log_version(log_files) >= 0:
            return ConversionRaceError(
                "[DELTA_CONCURRENT_WRITE] Another writer made a Delta table of "
                f"{log_files.root} in the meantime: its table stands, nothing was changed here."
            )
        return ConversionError(f"{log_files.root} was not converted and is as it was: {sentence}")

    def _repair_entry(self, source: Source, configuration: dict[str, str] | None) -> None:
        """The native command, with the log already there, only rewrites the catalog entry.

        It insists on equal properties in catalog and log, so the catalog gets those of the log first.
        """
        assert source.entry is not None
        if configuration is not None:
            known = source.entry.properties
            lacking = {k: v for k, v in configuration.items() if known.get(k) != v}
            if lacking:
                self._spark.sql(
                    f"ALTER TABLE {source.entry.sql_name} SET TBLPROPERTIES "
                    f"({sql_properties(lacking)})"
                )
        try:
            self._spark.sql(f"CONVERT TO DELTA {source.entry.sql_name}")
        except Exception as exc:
            sentence = telling_sentence(exc)
            differs = error_class(sentence) == "DELTA_CONVERT_METASTORE_METADATA_MISMATCH"
            way_out = "give it the properties of the log, then " if differs else ""
            raise ConversionError(
                f"The folder of {source.entry.name} is a Delta table, but its catalog entry could "
                f"not be changed: {sentence}; {way_out}run the conversion again to finish."
            ) from exc

    def _registered(
        self, request: ConvertRequest, log_files: TableFiles, plan: ConversionPlan
    ) -> ConversionPlan:
        if request.register_as is None:
            return plan
        _, schema_name, table_name = request.register_as
        label = f"{schema_name}.{table_name}"
        existing = self._catalog.find(request.register_as)
        if existing is not None:
            same = open_files(self._delta, existing.location).root == log_files.root
            if same and existing.provider == "delta":
                return replace(plan, catalog_entry=label)
            raise ConversionError(
                f"{plan.root} is a Delta table, but register_as names {label}, which exists and is "
                "another table: drop it or choose another name, then run again."
            )
        self._spark.sql(f"CREATE SCHEMA IF NOT EXISTS {qualified(SESSION_CATALOG, schema_name)}")
        self._spark.sql(
            f"CREATE TABLE {qualified(SESSION_CATALOG, schema_name, table_name)} USING DELTA "
            f"LOCATION {string_literal(log_files.location)}"
        )
        return replace(plan, catalog_entry=label)

    def _shared(self, source: Source) -> tuple[str, ...]:
        names = self._catalog.others_at(
            source.entry.name if source.entry else None,
            source.files.location,
            limit=CATALOG_TABLES_LOOKED_AT,
        )
        return tuple(
            f"the table {name} has the same folder: convert it by name afterwards, or it keeps "
            "reading plain parquet"
            for name in names
        )

    def _mark(self, request: ConvertRequest, source: Source, plan: ConversionPlan) -> str:
        details: dict[str, Any] = {
            "run": self._run_id,
            "statistics": request.statistics,
            "mode": request.mode,
        }
        if plan.rejected:
            details["rejected_files"] = len(plan.rejected)
        if source.entry is not None:
            details["catalog_entry"] = source.entry.as_dict()
        return CommitMark(CONVERT, self._tool_version, details=details).text()

    def _reached(self, phase: str) -> None:
        now = time.perf_counter()
        self._seconds[phase] = round(now - self._began, 3)
        self._began = now
        self._observer(phase)
