"""The footers of all files of a conversion: on the driver when they are few, else on the executors.

Results are kept in batches; more than one batch goes to a file on the driver's disk, so a million files fit.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any

from dbt.adapters.delta_maint.core import (
    delta_stats,
    footer_bytes,
    footer_layout,
    footer_stats,
)
from dbt.adapters.delta_maint.lake import footer_reader
from dbt.adapters.delta_maint.lake.file_access import FileEntry, HadoopFiles, TableFiles
from dbt.adapters.delta_maint.lake.worker_python import python_fault

FILES_READ_ON_THE_DRIVER = 6_000
FILES_PER_TASK = 500
THREADS_PER_TASK = 4
THREADS_TO_A_STORE = 32
STRING_PREFIX_CONF = "spark.databricks.io.skipping.stringPrefixLength"
STRING_PREFIX_PROPERTY = "delta.dataSkippingStringPrefixLength"


@dataclass
class DistinctSchema:
    """Files whose footers say the same; the first in path order stands for all."""

    text: str
    spark_json: str | None
    columns: list[Any]
    wanted: list[int]
    first_file: int


@dataclass
class Footers:
    """What the footers said, file by file in the order of the listing."""

    schemas: list[DistinctSchema] = field(default_factory=list)
    rows: int = 0
    bad: dict[int, str] = field(default_factory=dict)
    # Why the executors were not given what they could have read.
    executors_fault: str | None = None
    _batches: list[list[Any]] = field(default_factory=list)
    _spool: IO[bytes] | None = None
    _numbers: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def take(self, schemas: Sequence[Any], rows: Iterable[Any]) -> list[Any]:
        """Rows with schema numbers that hold for the whole conversion."""
        numbers = []
        for text, spark_json, columns, wanted, first in schemas:
            key = (text, spark_json)
            number = self._numbers.setdefault(key, len(self.schemas))
            if number == len(self.schemas):
                self.schemas.append(DistinctSchema(text, spark_json, columns, wanted, first))
            known = self.schemas[number]
            known.first_file = min(known.first_file, first)
            numbers.append(number)
        taken = []
        for file, row_count, _, schema, leaves, error in rows:
            if error is not None:
                self.bad[file] = error
            else:
                self.rows += row_count
                taken.append((file, row_count, numbers[schema], leaves))
        return taken

    def keep(self, batch: list[Any], *, spill: bool) -> None:
        batch.sort(key=lambda row: row[0])
        if not spill:
            self._batches.append(batch)
            return
        if self._spool is None:
            # Lives as long as this object; it has no name that could be left behind.
            self._spool = tempfile.TemporaryFile(prefix="delta_maint-footers-")  # noqa: SIM115
        pickle.dump(batch, self._spool, protocol=pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[tuple[int, int, int, list[Any] | None]]:
        if self._spool is None:
            for batch in self._batches:
                yield from batch
            return
        self._spool.seek(0)
        while True:
            try:
                yield from pickle.load(self._spool)
            except EOFError:
                return

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()


def read_all_footers(
    spark: Any,
    files: TableFiles,
    entries: Sequence[FileEntry],
    *,
    options: dict[str, Any],
    batch_size: int,
    outside: dict[str, TableFiles],
) -> Footers:
    found = Footers()
    spill = len(entries) > batch_size
    for start in range(0, len(entries), batch_size):
        numbers = range(start, min(start + batch_size, len(entries)))
        batch: list[Any] = []
        for schemas, rows in _read(spark, files, entries, numbers, options, outside):
            batch += found.take(schemas, rows)
        found.executors_fault = options["executors_fault"]
        found.keep(batch, spill=spill)
    return found


def reader_options(
    properties: dict[str, str],
    partition_columns: Sequence[str],
    *,
    statistics: bool,
    string_prefix: int,
) -> dict[str, Any]:
    return {
        "statistics": statistics,
        "string_prefix": int(properties.get(STRING_PREFIX_PROPERTY, string_prefix)),
        "limit": delta_stats.indexed_limit(properties),
        "names": delta_stats.indexed_names(properties),
        "without": frozenset(name.lower() for name in partition_columns),
        "wanted": {},
        "executors_fault": None,
        "threads": THREADS_PER_TASK,
    }


def _read(
    spark: Any,
    files: TableFiles,
    entries: Sequence[FileEntry],
    numbers: range,
    options: dict[str, Any],
    outside: dict[str, TableFiles],
) -> Iterator[tuple[list[Any], list[Any]]]:
    if isinstance(files, HadoopFiles) or any(isinstance(f, HadoopFiles) for f in outside.values()):
        yield _read_through_hadoop(files, entries, numbers, options, outside)
        return
    paths = [(number, _local_path(files, entries[number])) for number in numbers]
    if len(entries) > FILES_READ_ON_THE_DRIVER and options["executors_fault"] is None:
        try:
            yield from _read_on_executors(spark, paths, options)
            return
        except Exception as exc:
            # Workers of another Python: slower from here, but the same answer.
            options["executors_fault"] = python_fault(str(exc))
            if options["executors_fault"] is None:
                raise
    yield footer_reader.read_footers(paths, options)


def _read_on_executors(
    spark: Any, paths: list[tuple[int, str]], options: dict[str, Any]
) -> list[tuple[list[Any], list[Any]]]:
    ship_by_value()
    chunks = [paths[at : at + FILES_PER_TASK] for at in range(0, len(paths), FILES_PER_TASK)]
    work = footer_reader.read_footers
    context = spark.sparkContext
    job = context.parallelize(chunks, len(chunks)).map(lambda chunk: work(chunk, options))
    return list(job.collect())


def _read_through_hadoop(
    files: TableFiles,
    entries: Sequence[FileEntry],
    numbers: range,
    options: dict[str, Any],
    outside: dict[str, TableFiles],
) -> tuple[list[Any], list[Any]]:
    """Stores that pyarrow does not reach with Spark's credentials: the driver's Hadoop client."""

    def open_tail(entry: FileEntry, count: int) -> bytes:
        store = next(
            (found for root, found in outside.items() if entry.path.startswith(f"{root}/")), files
        )
        if store is not files:
            entry = entry._replace(path=entry.path[len(store.root) + 1 :])
        if isinstance(store, HadoopFiles):
            return store.read_tail(entry, count)
        with open(store.absolute(entry.path), "rb") as source:
            source.seek(max(0, entry.size_bytes - count))
            return source.read()

    return footer_reader.read_footers(
        [(number, entries[number]) for number in numbers],
        {**options, "threads": THREADS_TO_A_STORE},
        open_tail,
    )


def ship_by_value() -> None:
    """Workers get these modules' code with the task, not by importing our package."""
    from pyspark import cloudpickle

    for module in (footer_bytes, footer_layout, footer_stats, footer_reader):
        cloudpickle.register_pickle_by_value(module)


def in_threads(work: Any, items: Sequence[Any], threads: int) -> list[Any]:
    with ThreadPoolExecutor(max(1, min(threads, len(items)))) as pool:
        return list(pool.map(work, items))


def _local_path(files: TableFiles, entry: FileEntry) -> str:
    return entry.path if entry.path.startswith("/") else files.absolute(entry.path)
