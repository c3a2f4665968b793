"""Everything a conversion knows before it writes: files, partition values, schema, statistics, the draft table.

Ends with the actions of version 0 in a file on the driver and with the plan that describes them.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.delta_maint.core import delta_stats
from dbt.adapters.delta_maint.core.conversion import (
    LARGE_LOG_BYTES,
    MANY_FILES,
    TINY_FILE_BYTES,
    ColumnCoverage,
    ConversionPlan,
    ConvertRequest,
    RejectedFile,
)
from dbt.adapters.delta_maint.core.errors import ConversionError, SchemaMergeError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.log_actions import metadata_line
from dbt.adapters.delta_maint.core.schema_merge import (
    as_nullable,
    check_table_schema,
    merge_file_schemas,
    type_text,
    widened_columns,
    with_partition_columns,
)
from dbt.adapters.delta_maint.core.sizes import format_bytes
from dbt.adapters.delta_maint.lake.catalog_entry import SessionCatalog
from dbt.adapters.delta_maint.lake.conversion_actions import (
    ActionSettings,
    ActionsWriter,
    spark_path,
)
from dbt.adapters.delta_maint.lake.conversion_listing import (
    Listing,
    list_source,
    unfit_reason,
)
from dbt.adapters.delta_maint.lake.conversion_partitions import (
    expected_columns,
    partition_columns,
    stored_values,
)
from dbt.adapters.delta_maint.lake.conversion_source import Source
from dbt.adapters.delta_maint.lake.file_access import FileEntry, TableFiles
from dbt.adapters.delta_maint.lake.file_schemas import check_readable, file_schemas
from dbt.adapters.delta_maint.lake.footers import (
    STRING_PREFIX_CONF,
    Footers,
    read_all_footers,
    reader_options,
)
from dbt.adapters.delta_maint.lake.jvm_delta import DraftTable, JvmDelta
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

DELTA = "spark.databricks.delta"
DEFAULTS = f"{DELTA}.properties.defaults."
SHOWN_BAD_FILES = 20
_EMPTY_VALUE = re.compile(r"(?:^|/)[^/=]+=/")


@dataclass(frozen=True)
class Prepared:
    plan: ConversionPlan
    listing: Listing
    draft: DraftTable
    actions_file: str


class Planner:
    def __init__(
        self,
        spark: Any,
        delta: JvmDelta,
        catalog: SessionCatalog,
        request: ConvertRequest,
        source: Source,
        log_files: TableFiles,
    ) -> None:
        self._spark = spark
        self._delta = delta
        self._catalog = catalog
        self._request = request
        self._source = source
        self._log_files = log_files
        self._zone = spark.conf.get("spark.sql.session.timeZone")
        self._actions_file: str | None = None
        self._footers: Footers | None = None
        self._warnings: list[str] = []

    def close(self) -> None:
        if self._footers is not None:
            self._footers.close()
        if self._actions_file is not None and os.path.exists(self._actions_file):
            os.unlink(self._actions_file)

    def prepare(self, reached: Callable[[str], None]) -> Prepared:
        listing = self._list()
        reached("listed")
        partitions = self._partition_columns(listing)
        stored = stored_values(
            listing,
            partitions,
            zone=self._zone,
            ignores_cast_failures=self._conf("convert.partitionValues.ignoreCastFailure", "false")
            == "true",
        )
        kept, rejected = _sift(listing, on_disk=self._source.files.scheme == "file")
        entries = [listing.files[number] for number in kept]
        configuration = self._configuration()
        settings = ActionSettings(
            statistics=self._statistics_mode(),
            string_prefix=int(self._conf(STRING_PREFIX_CONF, "32", full=True)),
            names_files_absolutely=self._request.is_snapshot,
        )
        options = reader_options(
            configuration | self._session_defaults(),
            [column.name for column in partitions],
            statistics=settings.statistics != "none",
            string_prefix=settings.string_prefix,
        )
        footers = self._read_footers(entries, listing, options)
        if footers.executors_fault is not None:
            self._warnings.append(
                f"the footers were read by dbt's own process: {footers.executors_fault}"
            )
        reached("read")
        for number, reason in footers.bad.items():
            entry = entries[number]
            rejected.append(RejectedFile(entry.path, reason, entry.size_bytes))
        paths = [spark_path(self._source.files, entry) for entry in entries]
        labels = [entry.path for entry in entries]
        schemas, unreadable = file_schemas(self._spark, footers, paths, labels)
        self._refuse_bad_files(rejected + unreadable, must_fail=bool(unreadable))
        if len(footers.bad) == len(entries):
            raise ConversionError(
                f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {self._source.files.root}"
            )
        schema = self._table_schema(schemas, partitions)
        if widened_columns(schema):
            configuration = {**configuration, "delta.enableTypeWidening": "true"}
        draft = self._draft(schema, partitions, configuration, settings.statistics)
        reached("schema")
        with ThreadPoolExecutor(1) as pool:
            # Spark looks at the data while this process writes the actions.
            looking = pool.submit(
                check_readable, self._spark, footers, paths, labels, draft.schema, partitions
            )
            try:
                writer, footers = self._write_actions(
                    draft, settings, entries, footers, listing, options, lambda n: stored[kept[n]]
                )
            finally:
                looking.result()
        assert self._actions_file is not None
        good = [n for n in range(len(entries)) if n not in footers.bad]
        plan = ConversionPlan(
            target=self._source.label,
            root=self._source.files.root,
            log_root=self._log_files.root,
            engine="footer",
            engine_reason=f"statistics from footers, files from the {listing.manifest}",
            files=len(good),
            bytes=sum(entries[n].size_bytes for n in good),
            rows=footers.rows,
            distinct_schemas=len(footers.schemas),
            schema=draft.schema,
            partition_columns=tuple(partitions),
            partitions=len(set(stored)) if partitions else 0,
            statistics=settings.statistics,
            coverage=_coverage(writer.stats) if settings.statistics != "none" else (),
            rejected=tuple(sorted(rejected, key=lambda file: file.path)),
            unlisted=listing.unlisted,
            log_bytes=os.path.getsize(self._actions_file),
            min_reader_version=draft.min_reader_version,
            min_writer_version=draft.min_writer_version,
            features=draft.features,
            properties=draft.configuration,
        )
        self._advise(plan, listing)
        reached("planned")
        return Prepared(
            replace(plan, warnings=tuple(self._warnings)), listing, draft, self._actions_file
        )

    def _write_actions(
        self,
        draft: DraftTable,
        settings: ActionSettings,
        entries: list[FileEntry],
        footers: Footers,
        listing: Listing,
        options: dict[str, Any],
        values_of: Callable[[int], Sequence[str | None]],
    ) -> tuple[ActionsWriter, Footers]:
        writer = ActionsWriter(self._spark, self._source.files, draft, settings)
        again = writer.unread_leaves(footers)
        if again:
            footers.close()
            footers = self._read_footers(entries, listing, {**options, "wanted": again})
        self._actions_file = writer.write(entries, values_of, footers)
        return writer, footers

    def list_again(self) -> Listing:
        return self._list()

    # -- files and partitions -----------------------------------------------------------------

    def _list(self) -> Listing:
        entry = self._source.entry
        by_catalog = (
            entry is not None
            and bool(entry.partition_columns)
            and entry.tracks_partitions
            and self._flag("convert.useCatalogPartitions")
        )
        partitions = self._catalog.partitions(entry) if by_catalog and entry is not None else None
        return list_source(
            self._source,
            self._delta,
            partitions=partitions,
            expected_columns=expected_columns(self._request, entry),
            uses_sink_log=self._flag("convert.useMetadataLog"),
        )

    def _partition_columns(self, listing: Listing) -> list[PartitionColumn]:
        infers = self._conf(
            "spark.sql.sources.partitionColumnTypeInference.enabled", "true", full=True
        )
        return partition_columns(
            self._request,
            self._source.entry,
            listing,
            zone=self._zone,
            infers=infers == "true",
        )

    def _refuse_bad_files(self, rejected: list[RejectedFile], *, must_fail: bool) -> None:
        if not rejected:
            return
        request = self._request
        skips = request.on_bad_file == "skip" and not must_fail
        if skips and (request.is_snapshot or request.accept_vacuum_loss or request.dry_run):
            return
        shown = "; ".join(f"{f.path}: {f.reason}" for f in rejected[:SHOWN_BAD_FILES])
        more = len(rejected) - SHOWN_BAD_FILES
        if skips:
            raise ConversionError(
                f"{len(rejected):,} file(s) would be left out, and a later VACUUM deletes files "
                f"that the log does not know ({shown}): move them away, or set "
                "accept_vacuum_loss: true."
            )
        way_out = "write them anew" if must_fail else "set on_bad_file: skip"
        raise ConversionError(
            f"[DELTA_FAILED_READ_FILE_FOOTER] {len(rejected):,} file(s) in "
            f"{self._source.files.root} cannot be part of a Delta table: {shown}"
            f"{f'; and {more:,} more' if more > 0 else ''}. Remove them, or {way_out}."
        )

    # -- schema and draft ---------------------------------------------------------------------

    def _read_footers(
        self, entries: list[FileEntry], listing: Listing, options: dict[str, Any]
    ) -> Footers:
        batch = self._request.stats_batch_size or int(
            self._conf("import.batchSize.statsCollection", "50000")
        )
        limit = self._request.schema_batch_size or int(
            self._conf("import.batchSize.schemaInference", "1000000")
        )
        self._footers = read_all_footers(
            self._spark,
            self._source.files,
            entries,
            options=options,
            batch_size=max(1, min(batch, limit)),
            outside=listing.outside,
        )
        return self._footers

    def _table_schema(self, schemas: Any, partitions: list[PartitionColumn]) -> dict[str, Any]:
        entry = self._source.entry
        mode = self._request.schema_mode
        if mode is None:
            by_catalog = entry is not None and self._flag("convert.useCatalogSchema")
            mode = "catalog" if by_catalog else "files"
        merged = (
            merge_file_schemas(schemas, widen_types=self._request.widen_types)
            if mode == "files"
            else None
        )
        if merged is None:
            if entry is None:
                raise SchemaMergeError(
                    "schema_mode: catalog needs a table, but a path was given: leave it out."
                )
            merged = as_nullable(entry.schema)
            have = {
                name for s in schemas for name in (f["name"].lower() for f in s.struct["fields"])
            }
            missing = have - {found["name"].lower() for found in merged["fields"]}
            if missing:
                self._warnings.append(
                    f"the files hold column(s) that the catalog does not know: "
                    f"{', '.join(sorted(missing))}; set schema_mode: files to take them"
                )
        if partitions and not merged["fields"]:
            raise SchemaMergeError(
                "[DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION] The files hold no column at all, so "
                "every column would be a partition column: a table needs one in its files."
            )
        schema = with_partition_columns(merged, partitions)
        check_table_schema(schema)
        return schema

    def _configuration(self) -> dict[str, str]:
        entry = self._source.entry
        found = dict(entry.properties) if entry is not None else {}
        return found | dict(self._request.properties)

    def _session_defaults(self) -> dict[str, str]:
        names = (delta_stats.NUM_INDEXED_PROPERTY, delta_stats.STATS_COLUMNS_PROPERTY)
        found = {}
        for name in names:
            value = self._spark.conf.get(DEFAULTS + name.removeprefix("delta."), None)
            if value is not None:
                found[name] = value
        return found

    def _draft(
        self,
        schema: dict[str, Any],
        partitions: list[PartitionColumn],
        configuration: dict[str, str],
        statistics: str,
    ) -> DraftTable:
        line = metadata_line(
            table_id=str(uuid.uuid4()),
            schema=schema,
            partition_columns=[column.name for column in partitions],
            configuration=configuration,
            created_ms=int(time.time() * 1000),
        )
        try:
            asked = dict(self._request.properties)
            draft = self._delta.draft(self._log_files.location, line, asked=asked)
        except Exception as exc:
            raise ConversionError(
                f"Delta does not take {self._source.label} as a table: {telling_sentence(exc)}"
            ) from exc
        mapping = draft.configuration.get("delta.columnMapping.mode", "none")
        if mapping != "none":
            raise ConversionError(
                "[DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING] The configuration "
                f"'delta.columnMapping.mode' cannot be set to `{mapping}` when converting to "
                "Delta: convert first, enable it afterwards."
            )
        for name, value in draft.configuration.items():
            if name.lower().startswith("delta.enableicebergcompat") and value.lower() == "true":
                raise ConversionError(
                    f"The property {name} needs column mapping, which files that exist cannot have: "
                    "convert without it, and enable both afterwards."
                )
        if draft.configuration.get("delta.enableRowTracking") == "true" and statistics == "none":
            raise ConversionError(
                "[DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS] Row tracking needs the number "
                "of rows of every file: set statistics: footer, or enable it afterwards."
            )
        return draft

    def _statistics_mode(self) -> str:
        if self._request.statistics != "none" and self._conf("stats.collect", "true") == "false":
            self._warnings.append(
                "spark.databricks.delta.stats.collect is false, so no statistics are written"
            )
            return "none"
        return self._request.statistics

    def _advise(self, plan: ConversionPlan, listing: Listing) -> None:
        mean_bytes = plan.bytes / plan.files
        if plan.files >= MANY_FILES and mean_bytes < TINY_FILE_BYTES:
            self._warnings.append(
                f"the files are small ({format_bytes(mean_bytes)} on average): compact the table "
                "after converting it"
            )
        if plan.log_bytes > LARGE_LOG_BYTES:
            self._warnings.append(
                f"the log takes {format_bytes(plan.log_bytes)}: a smaller "
                f"{delta_stats.NUM_INDEXED_PROPERTY} in properties makes it smaller"
            )
        if any(_EMPTY_VALUE.search(entry.path) for entry in listing.files):
            self._warnings.append("a partition folder without a value (`name=`) is read as null")
        if inner := self._source.files.tables_inside():
            self._warnings.append(
                f"{len(inner):,} folder(s) inside are Delta tables of their own ({inner[0]}): all "
                "their files were taken, those they have deleted too"
            )
        if around := self._source.files.table_around():
            self._warnings.append(
                f"the folder lies inside the Delta table {around}, whose VACUUM may delete its files"
            )
        if listing.outside:
            self._warnings.append(
                f"{len(listing.outside):,} partition(s) lie outside of the table's folder and are "
                "named by absolute path: VACUUM does not clean them"
            )

    def _flag(self, name: str) -> bool:
        return self._conf(name, "true") == "true"

    def _conf(self, name: str, default: str, *, full: bool = False) -> str:
        return str(self._spark.conf.get(name if full else f"{DELTA}.{name}", default))


def _sift(listing: Listing, *, on_disk: bool) -> tuple[list[int], list[RejectedFile]]:
    """Numbers of the files worth opening, and those whose name or size says no."""
    kept, rejected = [], []
    for number, entry in enumerate(listing.files):
        reason = unfit_reason(entry, on_disk=on_disk)
        if reason is None:
            kept.append(number)
        else:
            rejected.append(RejectedFile(entry.path, reason, entry.size_bytes))
    return kept, rejected


def _coverage(writer: delta_stats.StatsWriter) -> tuple[ColumnCoverage, ...]:
    return tuple(
        ColumnCoverage(column.name, type_text(column.type_name), count)
        for column, count in zip(writer.columns, writer.files_with_bounds, strict=True)
        if column.has_bounds
    )
