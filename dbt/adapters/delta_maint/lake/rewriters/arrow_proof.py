"""`verify: full`: both sides of a rewrite, read by Spark, have the same rows.

Spark and not Arrow reads them, so a fault of one reader does not hide itself. A sum of row hashes knows no
order; with the row count it tells apart any two sides that a rewrite could confuse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.delta_maint.lake.file_access import strip_file_scheme
from dbt.adapters.delta_maint.lake.inventory import glob_text
from dbt.adapters.delta_maint.lake.rewriters.arrow_job import NewFile, RewriteJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HASH_MAPS = "spark.sql.legacy.allowHashOnMapType"
Side = tuple[int, int]


def differing_bins(
    spark: SparkSession, job: RewriteJob, new_files: Mapping[int, NewFile]
) -> dict[int, str]:
    """The bins whose new file holds other rows than their inputs, each with its sentence."""
    written = [new for new in new_files.values() if new.rows]
    old_paths = {n: job.local_inputs(new.bin) for n, new in new_files.items()}
    every = [path for paths in old_paths.values() for path in paths]
    found = _sides(spark, job, [*every, *(new.local_path for new in written)])
    differing = {}
    for number, new in new_files.items():
        before = _sum(found[path] for path in old_paths[number])
        after = found[new.local_path] if new.rows else (0, 0)
        if before != after:
            differing[number] = (
                f"{before[0]} rows with hash {before[1]} became {after[0]} with hash {after[1]}"
            )
    return differing


def _sides(spark: SparkSession, job: RewriteJob, paths: list[str]) -> Mapping[str, Side]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    fields = [
        {**column, "metadata": {}}
        for column in job.schema["fields"]
        if column["name"] not in job.partition_names
    ]
    schema = StructType.fromJson({"type": "struct", "fields": fields})
    spark.conf.set(HASH_MAPS, "true")
    rows = (
        spark.read.schema(schema)
        .option("recursiveFileLookup", "true")
        .parquet(*(f"file:{glob_text(path)}" for path in paths))
        .select(
            F.col("_metadata.file_path").alias("path"),
            F.xxhash64(*(F.col(identifier(field["name"])) for field in fields)).alias("hash"),
        )
        .groupBy("path")
        .agg(F.count("*"), F.sum(F.col("hash").cast("decimal(38,0)")))
        .collect()
    )
    found: dict[str, Side] = defaultdict(lambda: (0, 0))
    for path, count, total in rows:
        found[unquote(strip_file_scheme(path))] = (int(count), int(total))
    return found


def _sum(sides: object) -> Side:
    counts, hashes = 0, 0
    for count, total in sides:  # type: ignore[attr-defined]
        counts, hashes = counts + count, hashes + total
    return counts, hashes
