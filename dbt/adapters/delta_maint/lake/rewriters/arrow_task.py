"""Rewrites bins of files on an executor, with pyarrow alone: batches in, one file per bin out.

This code travels to the workers by value, together with `arrow_columns` and `footer_stats`: they need
pyarrow and nothing of this package. It holds one row group and one batch in memory, whatever the size of
a bin. Whatever goes wrong with a bin is an answer with a reason, never a failed task, and its half-written
file is removed; a row count that differs from the inputs' is such an answer.
"""

from __future__ import annotations

import json
import os
import resource
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from dbt.adapters.delta_maint.core import footer_stats
from dbt.adapters.delta_maint.lake.rewriters import arrow_columns

BATCH_BYTES = 8 * 1024 * 1024
LEAST_BATCH_ROWS = 256
MOST_BATCH_ROWS = 16 * 1024


def rewrite_bins(bins: list[dict[str, Any]], spec: dict[str, Any]) -> list[dict[str, Any]]:
    """One answer per bin: what was written, or the reason why nothing was."""
    task = BinRewriter(spec)
    answers = [task.answer(found) for found in bins]
    pa.default_memory_pool().release_unused()
    return answers


def pyarrow_version(_: Any) -> str:
    return str(pa.__version__)


class BinRewriter:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        inner = set(spec["partition_names"])
        # Where files hold partition columns at all, these come last.
        self.columns = sorted(spec["schema"]["fields"], key=lambda f: f["name"] in inner)
        self._schema: pa.Schema | None = None
        self._planned: tuple[pa.Schema, Any, list[arrow_columns.Column]] | None = None

    def answer(self, found: dict[str, Any]) -> dict[str, Any]:
        # The attempt is in the name: a task that runs twice does not write into its own file.
        path = f"{found['output']}{_attempt():03d}{self.spec['suffix']}"
        try:
            told = self._rewrite(found, path)
        except Exception as exc:
            _remove(path)
            reason = " ".join(str(exc).split())[:300] or type(exc).__name__
            return {"number": found["number"], "error": reason}
        return {"number": found["number"], "error": None, **told}

    def _rewrite(self, found: dict[str, Any], path: str) -> dict[str, Any]:
        schema: pa.Schema | None = None
        sink: RowGroups | None = None
        expected = 0
        try:
            for number, file in enumerate(found["inputs"]):
                with self._open(file) as opened:
                    expected += opened.metadata.num_rows
                    if schema is None or sink is None:
                        schema = self._output_schema(opened)
                        watch = Watch(schema, self.spec)
                        sink = RowGroups(path, schema, self.spec, watch)
                    self._refuse_missing_partition_columns(opened, schema, number)
                    self._copy(opened, schema, sink)
        finally:
            if sink is not None:
                sink.close()
        assert sink is not None
        metadata = pq.read_metadata(path)
        if not expected == sink.rows == metadata.num_rows:
            raise arrow_columns.RefusedFileError(
                f"{expected} rows were to be written, {sink.rows} were read and "
                f"{metadata.num_rows} stand in the new file"
            )
        status = os.stat(path)
        return {
            "path": path,
            "rows": expected,
            "size": status.st_size,
            "modified_ms": status.st_mtime_ns // 1_000_000,
            "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            **sink.watch.statistics(metadata, self.spec),
        }

    def _open(self, file: dict[str, Any]) -> pq.ParquetFile:
        opened = pq.ParquetFile(file["path"], coerce_int96_timestamp_unit="us", pre_buffer=False)
        arrow_columns.refuse_old_calendar(opened.metadata, self.spec["has_times"])
        rows = opened.metadata.num_rows
        if file["rows"] is not None and rows != file["rows"]:
            raise arrow_columns.RefusedFileError(
                f"{file['path']} holds {rows} rows and the log says {file['rows']}"
            )
        return opened

    def _output_schema(self, first: pq.ParquetFile) -> pa.Schema:
        """Partition columns stay in files that have them, as those of column-mapped tables do."""
        inside = [
            column
            for column in self.columns
            if column["name"] not in self.spec["partition_names"]
            or column["name"] in first.schema_arrow.names
        ]
        names = [column["name"] for column in inside]
        if self._schema is None or self._schema.names != names:
            own = {"type": "struct", "fields": inside}
            pairs = {
                footer_stats.SPARK_VERSION_KEY: self.spec["spark_version"],
                footer_stats.SPARK_SCHEMA_KEY: json.dumps(own, separators=(",", ":")),
            }
            self._schema = pa.schema(map(arrow_columns.arrow_field, inside), metadata=pairs)
        return self._schema

    def _refuse_missing_partition_columns(
        self, file: pq.ParquetFile, schema: pa.Schema, number: int
    ) -> None:
        for name in self.spec["partition_names"]:
            if number and name in schema.names and name not in file.schema_arrow.names:
                raise arrow_columns.RefusedFileError(
                    "files with partition columns inside and files without"
                )

    def _plan(self, file: pq.ParquetFile, schema: pa.Schema) -> list[arrow_columns.Column]:
        """Neighbours mostly have one schema: its plan is made once."""
        known = self._planned
        if known is None or known[0] is not schema or not known[1].equals(file.schema):
            known = (schema, file.schema, arrow_columns.plan_columns(file, schema))
            self._planned = known
        return known[2]

    def _copy(self, file: pq.ParquetFile, schema: pa.Schema, sink: RowGroups) -> None:
        plan = self._plan(file, schema)
        rows = max(1, file.metadata.num_rows)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        row_bytes = max(1, sum(group.total_byte_size for group in groups) // rows)
        batch_rows = min(MOST_BATCH_ROWS, max(LEAST_BATCH_ROWS, BATCH_BYTES // row_bytes))
        for batch in file.iter_batches(batch_size=batch_rows, use_threads=False):
            arrays = arrow_columns.conform_columns(batch, plan, schema)
            sink.add(pa.RecordBatch.from_arrays(arrays, schema=schema))


class RowGroups:
    """The new file: batches are kept until they make a row group."""

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        spec: dict[str, Any],
        watch: Watch,
    ) -> None:
        self.rows = 0
        self._schema = schema
        self.watch = watch
        self._most_bytes = spec["row_group_bytes"]
        self._kept: list[pa.RecordBatch] = []
        self._kept_bytes = 0
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression=spec["codec"],
            compression_level=spec["codec_level"],
            use_deprecated_int96_timestamps=spec["int96"],
            store_schema=False,
            store_decimal_as_integer=True,
            write_page_index=True,
        )
        # Arrow leaves out a schema's own pairs where it does not store the schema itself.
        self._writer.add_key_value_metadata(schema.metadata)

    def add(self, batch: pa.RecordBatch) -> None:
        self._kept.append(batch)
        self._kept_bytes += batch.nbytes
        if self._kept_bytes >= self._most_bytes:
            self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        if not self._kept:
            return
        table = pa.Table.from_batches(self._kept, schema=self._schema)
        self._kept, self._kept_bytes = [], 0
        self.watch.look(table)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self.rows += table.num_rows


class Watch:
    """What a footer by this writer does not tell: whether a float is NaN, the bounds of INT96."""

    def __init__(self, schema: pa.Schema, spec: dict[str, Any]) -> None:
        self.floats: dict[tuple[str, ...], bool] = {}
        self.times: dict[tuple[str, ...], list[Any]] = {}
        self._places: dict[tuple[str, ...], tuple[int, list[int]]] = {}
        for path in map(tuple, spec["indexed"]):
            if path[0] not in schema.names:
                continue
            place, steps, kind = arrow_columns.locate(schema, path)
            if pa.types.is_floating(kind):
                self.floats[path] = False
            elif spec["int96"] and pa.types.is_timestamp(kind):
                self.times[path] = [None, None, 0]
            else:
                continue
            self._places[path] = (place, steps)

    def look(self, table: pa.Table) -> None:
        for path, (place, steps) in self._places.items():
            values = table.column(place)
            if steps:
                values = pc.struct_field(values, steps)
            if path in self.floats:
                if not self.floats[path]:
                    self.floats[path] = bool(pc.any(pc.is_nan(values)).as_py())
                continue
            seen = self.times[path]
            seen[2] += values.null_count
            if values.null_count < len(values):
                found = pc.min_max(values.cast(pa.int64()))
                low, high = found["min"].as_py(), found["max"].as_py()
                seen[0] = low if seen[0] is None else min(seen[0], low)
                seen[1] = high if seen[1] is None else max(seen[1], high)

    def statistics(self, metadata: Any, spec: dict[str, Any]) -> dict[str, Any]:
        columns = footer_stats.leaf_columns(metadata.schema)
        indexed = set(map(tuple, spec["indexed"]))
        wanted = [
            index
            for index, (path, _, _) in enumerate(columns)
            if any(path[:end] in indexed for end in range(1, len(path) + 1))
        ]
        no_nan = frozenset(
            index for index, (path, _, _) in enumerate(columns) if self.floats.get(path) is False
        )
        leaves = footer_stats.footer_leaves(
            metadata, columns, wanted, string_prefix=spec["string_prefix"], without_nan=no_nan
        )
        times = {}
        for path, (low, high, nulls) in self.times.items():
            low_text = high_text = None
            if low is not None:
                low_text, high_text = footer_stats.bounds_text(
                    "timestamp:microseconds", [low], [high], string_prefix=0, is_legacy=False
                )
            times[path] = (low_text, high_text, nulls)
        return {"columns": columns, "wanted": wanted, "leaves": leaves, "times": times}


def _attempt() -> int:
    try:
        from pyspark import TaskContext
    except ImportError:
        return 0
    context = TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
