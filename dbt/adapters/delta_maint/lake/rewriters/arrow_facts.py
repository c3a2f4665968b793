"""What decides whether Arrow may rewrite a table, read from Delta's transaction, the session, the workers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dbt.adapters.delta_maint.core.arrow_eligibility import (
    CODEC_CONF,
    CRYPTO_CONF,
    LEGACY_FORMAT_CONF,
    REBASE_CONFS,
    TIMESTAMP_CONF,
    TableFacts,
    file_refusal,
)
from dbt.adapters.delta_maint.core.rewrite_bins import InputFile
from dbt.adapters.delta_maint.core.sql_text import string_literal
from dbt.adapters.delta_maint.core.table import PartitionColumn, Protocol, Snapshot, partition_key
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta, RewriteTransaction
from dbt.adapters.delta_maint.lake.rewriters.arrow_job import (
    STATS_CONF,
    STRING_PREFIX_CONF,
    ship_by_value,
)
from dbt.adapters.delta_maint.lake.worker_python import worker_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

SESSION_CONFS = (
    CODEC_CONF,
    TIMESTAMP_CONF,
    LEGACY_FORMAT_CONF,
    STATS_CONF,
    STRING_PREFIX_CONF,
    *REBASE_CONFS,
)
HADOOP_CONFS = (
    CRYPTO_CONF,
    "parquet.block.size",
    "parquet.compression.codec.zstd.level",
    "zlib.compress.level",
)


def facts_of(
    spark: SparkSession,
    location: str,
    *,
    protocol: Protocol,
    schema: Mapping[str, Any],
    properties: Mapping[str, str],
) -> TableFacts:
    confs = {name: found for name in SESSION_CONFS if (found := _conf(spark, name))}
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    confs |= {name: str(found) for name in HADOOP_CONFS if (found := hadoop.get(name))}
    python = worker_python(spark, ship_by_value)
    return TableFacts(
        scheme=_scheme(spark, location, hadoop),
        protocol=protocol,
        schema=schema,
        properties=properties,
        confs=confs,
        pyarrow=python.pyarrow,
        python_fault=python.fault,
    )


def facts_of_snapshot(spark: SparkSession, snapshot: Snapshot) -> TableFacts:
    return facts_of(
        spark,
        snapshot.location,
        protocol=snapshot.protocol,
        schema=json.loads(snapshot.schema_json),
        properties=snapshot.properties,
    )


def facts_of_transaction(
    spark: SparkSession, location: str, rewrite: RewriteTransaction
) -> TableFacts:
    found = rewrite.protocol
    protocol = Protocol(
        int(found.get("minReaderVersion", 1)),
        int(found.get("minWriterVersion", 2)),
        frozenset(found.get("readerFeatures") or ()),
        frozenset(found.get("writerFeatures") or ()),
    )
    return facts_of(
        spark,
        location,
        protocol=protocol,
        schema=rewrite.schema,
        properties=rewrite.configuration,
    )


def read_files(
    delta: JvmDelta, rewrite: RewriteTransaction, columns: Sequence[PartitionColumn]
) -> list[InputFile]:
    """The live files at the version of the transaction."""
    values = [
        f"partitionValues[{string_literal(column.physical_name)}] as p{number}"
        for number, column in enumerate(columns)
    ]
    frame = delta.live_files(rewrite).selectExpr(
        "path",
        "size",
        "modificationTime",
        "cast(get_json_object(stats, '$.numRecords') as bigint) as rows",
        "deletionVector is not null as has_vector",
        "baseRowId",
        *values,
    )
    names = [column.physical_name for column in columns]
    files = []
    for path, size, modified, rows, has_vector, row_id, *raw in zip(
        *(column.to_pylist() for column in frame.toArrow().columns), strict=True
    ):
        files.append(
            InputFile(
                path=path,
                size_bytes=int(size),
                partition=partition_key(raw),
                partition_values=dict(zip(names, raw, strict=True)),
                num_records=rows,
                modified_ms=int(modified or 0),
                refusal=file_refusal(path, has_deletion_vector=has_vector, base_row_id=row_id),
            )
        )
    return files


def _conf(spark: SparkSession, name: str) -> str | None:
    """What is set, or else Spark's own default: a default given here would hide that."""
    try:
        return str(spark.conf.get(name))
    except Exception:  # a conf that nobody has registered and nobody has set
        return None


def _scheme(spark: Any, location: str, hadoop: Any) -> str:
    path = spark._jvm.org.apache.hadoop.fs.Path(location)
    return str(path.getFileSystem(hadoop).getUri().getScheme())
