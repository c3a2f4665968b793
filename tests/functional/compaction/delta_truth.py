"""What Delta itself says about a table, through its own classes: the reference for what we read."""

from __future__ import annotations

import json
from typing import Any


def delta_log(spark: Any, location: str) -> Any:
    jvm = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, location)


def delta_files(spark: Any, location: str) -> set[tuple[Any, ...]]:
    """(path, size, partition values, numRecords, DV cardinality) of every live file."""
    rows = delta_log(spark, location).unsafeVolatileSnapshot().allFiles().toDF().toJSON()
    found = set()
    iterator = rows.toLocalIterator()
    while iterator.hasNext():
        add = json.loads(iterator.next())
        values = tuple(sorted((k, v or None) for k, v in add.get("partitionValues", {}).items()))
        records = json.loads(add.get("stats") or "{}").get("numRecords")
        vector = (add.get("deletionVector") or {}).get("cardinality")
        found.add((add["path"], add["size"], values, records, vector, add["modificationTime"]))
    return found
