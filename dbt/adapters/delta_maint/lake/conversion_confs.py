"""The session's confs that the native command listens to, read once and by meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.delta_maint.core import delta_stats
from dbt.adapters.delta_maint.lake.footers import STRING_PREFIX_CONF

DELTA = "spark.databricks.delta"
DEFAULTS = f"{DELTA}.properties.defaults."


@dataclass(frozen=True)
class ConversionConfs:
    time_zone: str
    uses_sink_log: bool
    uses_catalog_partitions: bool
    uses_catalog_schema: bool
    ignores_cast_failures: bool
    infers_partition_types: bool
    collects_statistics: bool
    string_prefix: int
    stats_batch_size: int
    schema_batch_size: int
    # Table properties that choose the indexed columns of every new table of the session.
    statistics_defaults: dict[str, str]

    @classmethod
    def of(cls, spark: Any) -> ConversionConfs:
        def read(name: str, default: str) -> str:
            return str(spark.conf.get(name, default))

        def is_on(name: str, default: str = "true") -> bool:
            return read(f"{DELTA}.{name}", default).lower() == "true"

        inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
        names = (delta_stats.NUM_INDEXED_PROPERTY, delta_stats.STATS_COLUMNS_PROPERTY)
        defaults = {
            name: spark.conf.get(DEFAULTS + name.removeprefix("delta."), None) for name in names
        }
        return cls(
            time_zone=str(spark.conf.get("spark.sql.session.timeZone")),
            uses_sink_log=is_on("convert.useMetadataLog"),
            uses_catalog_partitions=is_on("convert.useCatalogPartitions"),
            uses_catalog_schema=is_on("convert.useCatalogSchema"),
            ignores_cast_failures=is_on("convert.partitionValues.ignoreCastFailure", "false"),
            infers_partition_types=read(inference, "true").lower() == "true",
            collects_statistics=is_on("stats.collect"),
            string_prefix=int(read(STRING_PREFIX_CONF, "32")),
            stats_batch_size=int(read(f"{DELTA}.import.batchSize.statsCollection", "50000")),
            schema_batch_size=int(read(f"{DELTA}.import.batchSize.schemaInference", "1000000")),
            statistics_defaults={k: str(v) for k, v in defaults.items() if v is not None},
        )
