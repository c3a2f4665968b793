"""What decides whether Arrow may rewrite a table, read from Delta's transaction, the session, the workers."""

from __future__ import annotations

import json
import re
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
from dbt.adapters.delta_maint.core.errors import LogError
from dbt.adapters.delta_maint.core.live_files import Action, num_records
from dbt.adapters.delta_maint.core.rewrite_bins import InputFile
from dbt.adapters.delta_maint.core.sql_text import string_literal
from dbt.adapters.delta_maint.core.table import PartitionColumn, Protocol, Snapshot, partition_key
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta, RewriteTransaction
from dbt.adapters.delta_maint.lake.local_log import LocalLogReader, UnreadHereError
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
_PLAIN_PATH = re.compile(r"(?:(?!\.\.?(?:/|$))[\w=.%-]+(?:/|$))+(?<!/)", re.ASCII)
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
    delta: JvmDelta, rewrite: RewriteTransaction, location: str, columns: Sequence[PartitionColumn]
) -> list[InputFile]:
    """The live files at the version of the transaction."""
    adds = _adds_read_here(delta, rewrite, location)
    if adds is None:
        return _files_by_delta(delta, rewrite, columns)
    names = [column.physical_name for column in columns]
    return [
        _input_file(
            add["path"],
            add.get("size"),
            add.get("modificationTime"),
            num_records(add),
            add.get("deletionVector") is not None,
            add.get("baseRowId"),
            {name: (add.get("partitionValues") or {}).get(name) for name in names},
        )
        for add in adds
    ]


def _adds_read_here(
    delta: JvmDelta, rewrite: RewriteTransaction, location: str
) -> list[Action] | None:
    """What this process reads of a small log, where Delta's own count and bytes of that version agree."""
    counted = delta.counted_files(rewrite)
    if counted is None or not location.startswith("file:"):
        return None
    try:
        adds = LocalLogReader(location, up_to=rewrite.version).adds()
    except (UnreadHereError, LogError):
        return None
    if (len(adds), sum(int(add.get("size") or 0) for add in adds)) != counted:
        return None
    # Delta spells other paths anew, and an action must name a file as Delta does.
    return adds if all(_PLAIN_PATH.fullmatch(add["path"]) for add in adds) else None


def _files_by_delta(
    delta: JvmDelta, rewrite: RewriteTransaction, columns: Sequence[PartitionColumn]
) -> list[InputFile]:
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
    rows = zip(*(column.to_pylist() for column in frame.toArrow().columns), strict=True)
    return [
        _input_file(
            path, size, modified, known, has_vector, row_id, dict(zip(names, raw, strict=True))
        )
        for path, size, modified, known, has_vector, row_id, *raw in rows
    ]


def _input_file(
    path: str,
    size: int | None,
    modified_ms: int | None,
    rows: int | None,
    has_vector: bool,
    row_id: int | None,
    values: dict[str, str | None],
) -> InputFile:
    return InputFile(
        path=path,
        size_bytes=int(size or 0),
        partition=partition_key(values.values()),
        partition_values=values,
        num_records=rows,
        modified_ms=int(modified_ms or 0),
        refusal=file_refusal(path, has_deletion_vector=has_vector, base_row_id=row_id),
    )


def _conf(spark: SparkSession, name: str) -> str | None:
    """What is set, or else Spark's own default: a default given here would hide that."""
    try:
        return str(spark.conf.get(name))
    except Exception:  # a conf that nobody has registered and nobody has set
        return None


def _scheme(spark: Any, location: str, hadoop: Any) -> str:
    path = spark._jvm.org.apache.hadoop.fs.Path(location)
    return str(path.getFileSystem(hadoop).getUri().getScheme())
