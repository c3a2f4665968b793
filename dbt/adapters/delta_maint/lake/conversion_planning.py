"""Everything a conversion knows before it writes: files, partition values, schema, statistics, the draft table.

Ends with the actions of version 0 in a file on the driver and with the plan that describes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.delta_maint.core import delta_stats
from dbt.adapters.delta_maint.core.conversion import (
    ColumnCoverage,
    ConversionPlan,
    ConvertRequest,
    RejectedFile,
)
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.core.hive_layout import PartitionColumn
from dbt.adapters.delta_maint.core.schema_merge import type_text
from dbt.adapters.delta_maint.lake.catalog_entry import SessionCatalog
from dbt.adapters.delta_maint.lake.conversion_actions import (
    ActionSettings,
    ActionsWriter,
    spark_path,
)
from dbt.adapters.delta_maint.lake.conversion_advice import advice
from dbt.adapters.delta_maint.lake.conversion_bad_files import refuse_bad_files, sift
from dbt.adapters.delta_maint.lake.conversion_confs import ConversionConfs
from dbt.adapters.delta_maint.lake.conversion_draft import draft_table, table_properties
from dbt.adapters.delta_maint.lake.conversion_listing import Listing, list_source
from dbt.adapters.delta_maint.lake.conversion_partitions import (
    expected_columns,
    partition_columns,
    stored_values,
)
from dbt.adapters.delta_maint.lake.conversion_schema import table_schema
from dbt.adapters.delta_maint.lake.conversion_source import Source
from dbt.adapters.delta_maint.lake.file_access import FileEntry, TableFiles
from dbt.adapters.delta_maint.lake.file_schemas import check_readable, file_schemas
from dbt.adapters.delta_maint.lake.footers import Footers, read_all_footers, reader_options
from dbt.adapters.delta_maint.lake.jvm_delta import DraftTable, JvmDelta


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
        self._confs = ConversionConfs.of(spark)
        self._actions_file: str | None = None
        self._footers: Footers | None = None
        self._warnings: list[str] = []

    def close(self) -> None:
        if self._footers is not None:
            self._footers.close()
        if self._actions_file is not None and os.path.exists(self._actions_file):
            os.unlink(self._actions_file)

    def prepare(self, reached: Callable[[str], None]) -> Prepared:
        listing = self.list_again()
        reached("listed")
        partitions = self._partition_columns(listing)
        stored = stored_values(
            listing,
            partitions,
            zone=self._confs.time_zone,
            ignores_cast_failures=self._confs.ignores_cast_failures,
        )
        kept, rejected = sift(listing, on_disk=self._source.files.scheme == "file")
        entries = [listing.files[number] for number in kept]
        properties = table_properties(self._request, self._source.entry)
        settings = ActionSettings(
            statistics=self._statistics_mode(),
            string_prefix=self._confs.string_prefix,
            names_files_absolutely=self._request.is_snapshot,
        )
        options = reader_options(
            self._confs.statistics_defaults | properties,
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
        root = self._source.files.root
        refuse_bad_files(self._request, root, rejected + unreadable, must_fail=bool(unreadable))
        if len(footers.bad) == len(entries):
            raise ConversionError(f"[DELTA_EMPTY_DIRECTORY] No file found in the directory: {root}")
        draft = self._draft(schemas, partitions, properties, settings.statistics)
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
            root=root,
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
        self._warnings += advice(plan, listing, self._source.files)
        reached("planned")
        return Prepared(
            replace(plan, warnings=tuple(self._warnings)), listing, draft, self._actions_file
        )

    def list_again(self) -> Listing:
        entry = self._source.entry
        by_catalog = (
            entry is not None
            and bool(entry.partition_columns)
            and entry.tracks_partitions
            and self._confs.uses_catalog_partitions
        )
        partitions = self._catalog.partitions(entry) if by_catalog and entry is not None else None
        return list_source(
            self._source,
            self._delta,
            partitions=partitions,
            expected_columns=expected_columns(self._request, entry),
            uses_sink_log=self._confs.uses_sink_log,
        )

    def _partition_columns(self, listing: Listing) -> list[PartitionColumn]:
        return partition_columns(
            self._request,
            self._source.entry,
            listing,
            zone=self._confs.time_zone,
            infers=self._confs.infers_partition_types,
        )

    def _read_footers(
        self, entries: list[FileEntry], listing: Listing, options: dict[str, Any]
    ) -> Footers:
        batch = self._request.stats_batch_size or self._confs.stats_batch_size
        limit = self._request.schema_batch_size or self._confs.schema_batch_size
        self._footers = read_all_footers(
            self._spark,
            self._source.files,
            entries,
            options=options,
            batch_size=max(1, min(batch, limit)),
            outside=listing.outside,
        )
        return self._footers

    def _draft(
        self,
        schemas: Any,
        partitions: list[PartitionColumn],
        properties: dict[str, str],
        statistics: str,
    ) -> DraftTable:
        schema, warnings = table_schema(
            self._request,
            self._source.entry,
            schemas,
            partitions,
            prefers_catalog=self._confs.uses_catalog_schema,
        )
        self._warnings += warnings
        return draft_table(
            self._delta,
            self._log_files.location,
            schema,
            partitions,
            properties=properties,
            asked=dict(self._request.properties),
            statistics=statistics,
            label=self._source.label,
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

    def _statistics_mode(self) -> str:
        if self._request.statistics != "none" and not self._confs.collects_statistics:
            self._warnings.append(
                "spark.databricks.delta.stats.collect is false, so no statistics are written"
            )
            return "none"
        return self._request.statistics


def _coverage(writer: delta_stats.StatsWriter) -> tuple[ColumnCoverage, ...]:
    return tuple(
        ColumnCoverage(column.name, type_text(column.type_name), count)
        for column, count in zip(writer.columns, writer.files_with_bounds, strict=True)
        if column.has_bounds
    )
