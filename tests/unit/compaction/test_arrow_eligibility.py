"""Which tables and files Arrow takes, and the reason for every other: a table of cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.arrow_eligibility import TableFacts, file_refusal, table_refusal
from dbt.adapters.delta_maint.core.table import Protocol


def schema(*columns: tuple[str, Any], **metadata: str) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": n, "type": t, "nullable": True, "metadata": metadata} for n, t in columns
        ],
    }


TIMES = schema(("a", "timestamp"), ("b", {"type": "array", "elementType": "timestamp_ntz"}))
PROVEN = TableFacts(
    scheme="file",
    protocol=Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"appendOnly"})),
    schema=schema(("id", "long"), ("d", "decimal(10,2)"), ("v", "void"), ("ts", "timestamp")),
    pyarrow="18.0.0",
)

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"scheme": "s3a"}, "files on s3a"),
    ({"scheme": "viewfs"}, "files on viewfs"),
    ({"pyarrow": None}, "has no pyarrow"),
    ({"pyarrow": "9.0.0"}, "pyarrow 9.0.0, which is older"),
    ({"protocol": Protocol(1, 7, frozenset(), frozenset({"rowTracking"}))}, "feature rowTracking"),
    ({"protocol": Protocol(1, 7, frozenset(), frozenset({"clustering"}))}, "is clustered"),
    ({"protocol": Protocol(1, 7, frozenset(), frozenset({"icebergCompatV2"}))}, "icebergCompatV2"),
    ({"protocol": Protocol(3, 7, frozenset({"variantType"}), frozenset())}, "feature variantType"),
    ({"protocol": Protocol(3, 7, frozenset({"tomorrow"}), frozenset())}, "feature tomorrow"),
    ({"properties": {"delta.enableRowTracking": "true"}}, "row tracking"),
    ({"properties": {"delta.columnMapping.mode": "id"}}, "maps columns by id"),
    ({"properties": {"delta.universalFormat.enabledFormats": "iceberg"}}, "another format"),
    ({"properties": {"delta.parquet.compression.codec": "LZO"}}, "the codec lzo"),
    ({"schema": schema(("v", "variant"))}, "column v is of type variant"),
    ({"schema": schema(("m", {"type": "map", "keyType": "string", "valueType": "void"}))}, "column m is of type void"),
    ({"schema": schema(("s", {"type": "struct", "fields": []}))}, "column s is of type struct"),
    ({"schema": schema(("y", "interval year to month"))}, "interval year to month"),
    ({"schema": schema(("a", "long"), EXISTS_DEFAULT="1")}, "column a has a default"),
    ({"schema": schema(("a", "string"), __COLLATIONS="{}")}, "column a has a collation"),
    ({"schema": TIMES}, "timestamp and timestamp_ntz together"),
    ({"confs": {"spark.sql.parquet.writeLegacyFormat": "true"}}, "writeLegacyFormat is set"),
    ({"confs": {"spark.sql.parquet.int96RebaseModeInRead": "LEGACY"}}, "is LEGACY"),
    ({"confs": {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}}, "TIMESTAMP_MILLIS"),
    ({"confs": {"parquet.crypto.factory.class": "x.Y"}}, "encrypted"),
]  # fmt: skip


def test_a_proven_table_is_taken() -> None:
    assert table_refusal(PROVEN) is None
    micros = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
    assert table_refusal(replace(PROVEN, schema=TIMES, confs=micros)) is None


@pytest.mark.parametrize(("change", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_is_not_proven_is_refused_by_name(change: dict[str, Any], reason: str) -> None:
    told = table_refusal(replace(PROVEN, **change))
    assert told is not None
    assert reason in told


@pytest.mark.parametrize(
    ("path", "vector", "row_id", "reason"),
    [
        ("p=1/part-0.parquet", False, None, None),
        ("p=1/part-0.parquet", True, None, "a file with a deletion vector"),
        ("part-0.parquet", False, 7, "a file with row ids"),
        ("file:/elsewhere/part-0.parquet", False, None, "a file outside of the table's folder"),
        ("s3a://b/part-0.parquet", False, None, "a file outside of the table's folder"),
    ],
)
def test_files_that_are_left(
    path: str, vector: bool, row_id: int | None, reason: str | None
) -> None:
    assert file_refusal(path, has_deletion_vector=vector, base_row_id=row_id) == reason
