"""The Spark job that rewrites bins: one task per large bin, small bins share; answers, never failures.

As many tasks run at once as Spark gives cores, and each holds one row group. The files of a job carry its
mark in their names, so that those of lost attempts are found and removed too.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dbt.adapters.delta_maint.core import delta_stats, footer_stats
from dbt.adapters.delta_maint.core.arrow_eligibility import (
    CODECS,
    MAPPING_MODE,
    TableFacts,
    codec_of,
    leaf_types,
    writes_int96,
)
from dbt.adapters.delta_maint.core.physical_schema import physical_path, physical_schema
from dbt.adapters.delta_maint.core.rewrite_bins import FileBin, share_among_tasks
from dbt.adapters.delta_maint.lake.conflicts import Trouble, trouble_of
from dbt.adapters.delta_maint.lake.rewriters import arrow_columns, arrow_task
from dbt.adapters.delta_maint.lake.spark_errors import telling_sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE_BIN_BYTES = 32 * 1024 * 1024
ROW_GROUP_BYTES = 128 * 1024 * 1024
STRING_PREFIX_CHARACTERS = 32
STATS_CONF = "spark.databricks.delta.stats.collect"
STRING_PREFIX_CONF = "spark.databricks.io.skipping.stringPrefixLength"
STRING_PREFIX_PROPERTY = "delta.dataSkippingStringPrefixLength"
LEVELS = {"zstd": "parquet.compression.codec.zstd.level", "gzip": "zlib.compress.level"}
SPARK_ZSTD_LEVEL = 3


@dataclass(frozen=True)
class NewFile:
    bin: FileBin
    log_path: str
    local_path: str
    rows: int
    size_bytes: int
    modified_ms: int
    stats: str
    peak_kib: int


class RewriteJob:
    def __init__(
        self,
        spark: SparkSession,
        facts: TableFacts,
        partition_columns: Sequence[str],
        *,
        root: str,
        cores: int,
    ) -> None:
        self.mark = str(uuid.uuid4())
        self.root = root
        self._spark = spark
        self._cores = cores
        is_mapped = facts.properties.get(MAPPING_MODE, "none").lower() != "none"
        properties = dict(facts.properties)
        indexed: tuple[delta_stats.StatColumn, ...] = ()
        if facts.confs.get(STATS_CONF, "true").lower() == "true":
            indexed = delta_stats.indexed_columns(dict(facts.schema), partition_columns, properties)
        self._columns = tuple(
            delta_stats.StatColumn(
                physical_path(facts.schema, column.path, is_mapped=is_mapped), column.type_name
            )
            for column in indexed
            if column.type_name != "void"
        )
        self._stats = delta_stats.StatsWriter(
            self._columns, tight_bounds="deletionVectors" in facts.protocol.features
        )
        self.schema = physical_schema(facts.schema, is_mapped=is_mapped)
        self.partition_names = [
            physical_path(facts.schema, (name,), is_mapped=is_mapped)[0]
            for name in partition_columns
        ]
        self._spec = self._spec_of(facts, properties)
        self._folders: set[str] = set()

    def _spec_of(self, facts: TableFacts, properties: dict[str, str]) -> dict[str, Any]:
        codec, suffix = CODECS[codec_of(properties, facts.confs)]
        level = facts.confs.get(LEVELS.get(codec, ""))
        if level is None and codec == "zstd":
            level = str(SPARK_ZSTD_LEVEL)
        asked = int(facts.confs.get("parquet.block.size", ROW_GROUP_BYTES))
        prefix = facts.confs.get(STRING_PREFIX_CONF, STRING_PREFIX_CHARACTERS)
        return {
            "schema": self.schema,
            "partition_names": self.partition_names,
            "indexed": [column.path for column in self._columns],
            "string_prefix": int(properties.get(STRING_PREFIX_PROPERTY, prefix)),
            "codec": codec,
            "codec_level": None if level is None or int(level) < 0 else int(level),
            "suffix": f"{suffix}.parquet",
            "row_group_bytes": min(asked, ROW_GROUP_BYTES),
            "int96": writes_int96(facts.confs),
            "has_times": bool(leaf_types(facts.schema) & {"date", "timestamp", "timestamp_ntz"}),
            "spark_version": self._spark.version,
        }

    def run(self, bins: Sequence[FileBin]) -> dict[int, NewFile | str]:
        """Per bin its new file, or why there is none."""
        self._folders |= {self._local(found.folder) for found in bins}
        tasks = [
            [self._as_data(found) for found in task]
            for task in share_among_tasks(bins, cores=self._cores, large_bytes=LARGE_BIN_BYTES)
        ]
        by_number = {found.number: found for found in bins}
        ship_by_value()
        work, spec = arrow_task.rewrite_bins, self._spec
        context = self._spark.sparkContext
        job = context.parallelize(tasks, len(tasks)).map(lambda task: work(task, spec))
        try:
            answers = [answer for task in job.collect() for answer in task]
        except Exception as exc:
            if trouble_of(exc) is Trouble.CANCELLED:
                raise
            # A worker that was lost, for one: nothing of this job is committed.
            self.remove_everything()
            return dict.fromkeys(by_number, telling_sentence(exc).splitlines()[0][:300])
        self._remove_but(answer["path"] for answer in answers if answer["error"] is None)
        return {
            answer["number"]: answer["error"] or self._new_file(by_number[answer["number"]], answer)
            for answer in answers
        }

    def local_inputs(self, found: FileBin) -> list[str]:
        return [self._local(file.path) for file in found.files]

    def remove_everything(self) -> None:
        """All files of this job: only where no commit can name them."""
        self._remove_but(())

    def _remove_but(self, kept: Iterable[str]) -> None:
        """What attempts left that were lost, or run twice, and are not among the answers."""
        known = set(kept)
        remove_files(
            path
            for folder in self._folders
            if os.path.isdir(folder)
            for name in os.listdir(folder)
            if self.mark in name and (path := os.path.join(folder, name)) not in known
        )

    def _as_data(self, found: FileBin) -> dict[str, Any]:
        name = f"part-{found.number:05d}-{self.mark}.c"
        return {
            "number": found.number,
            "inputs": [
                {"path": self._local(file.path), "rows": file.num_records} for file in found.files
            ],
            "output": os.path.join(self._local(found.folder), name),
        }

    def _new_file(self, found: FileBin, answer: dict[str, Any]) -> NewFile | str:
        logged = sum(file.num_records or 0 for file in found.files)
        if all(file.num_records is not None for file in found.files) and logged != answer["rows"]:
            remove_files([answer["path"]])
            return f"the log says {logged} rows and {answer['rows']} were written"
        return NewFile(
            bin=found,
            log_path=found.folder + os.path.basename(answer["path"]),
            local_path=answer["path"],
            rows=answer["rows"],
            size_bytes=answer["size"],
            modified_ms=answer["modified_ms"],
            stats=self._stats_text(answer),
            peak_kib=answer["peak_kib"],
        )

    def _stats_text(self, answer: dict[str, Any]) -> str:
        plan, _ = delta_stats.sources(answer["columns"], answer["wanted"], self._columns)
        places = {column.path: place for place, column in enumerate(self._columns)}
        seen = {places[path]: bounds for path, bounds in answer["times"].items()}
        return self._stats.text(answer["rows"], answer["leaves"], plan, scanned=seen)

    def _local(self, log_path: str) -> str:
        return os.path.join(self.root, unquote(log_path))


def ship_by_value() -> None:
    """Workers get these modules' code with the task, not by importing our package."""
    from pyspark import cloudpickle

    for module in (footer_stats, arrow_columns, arrow_task):
        cloudpickle.register_pickle_by_value(module)


def remove_files(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
