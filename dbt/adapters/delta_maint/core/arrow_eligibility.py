"""Whether a table's files may be rewritten by Arrow: a pure function of what is known about the table.

Arrow rewrites only what is proven to come out as Spark would have written it. The lists below name what
is proven; a feature, a type or a setting that is not on them is an answer with a reason, and Delta's own
OPTIMIZE does the work. The reason is one phrase that fits behind "rewritten by OPTIMIZE: ".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.delta_maint.core.table import Protocol

PROVEN_FEATURES = frozenset(
    {
        "allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "checkpointProtection",
        "columnMapping", "deletionVectors", "domainMetadata", "generatedColumns", "identityColumns",
        "inCommitTimestamp", "invariants", "timestampNtz", "typeWidening", "typeWidening-preview",
        "v2Checkpoint", "vacuumProtocolCheck",
    }
)  # fmt: skip
PROVEN_TYPES = frozenset(
    {
        "string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date",
        "timestamp", "timestamp_ntz",
    }
)  # fmt: skip
# Spark's name of a codec -> Arrow's name of it, what it adds to the names of files.
CODECS = {
    "snappy": ("snappy", ".snappy"),
    "zstd": ("zstd", ".zstd"),
    "gzip": ("gzip", ".gz"),
    "lz4_raw": ("lz4", ".lz4raw"),
    "lz4raw": ("lz4", ".lz4raw"),
    "brotli": ("brotli", ".br"),
    "none": ("none", ""),
    "uncompressed": ("none", ""),
}
CODEC_CONF = "spark.sql.parquet.compression.codec"
CODEC_PROPERTY = "delta.parquet.compression.codec"
TIMESTAMP_CONF = "spark.sql.parquet.outputTimestampType"
LEGACY_FORMAT_CONF = "spark.sql.parquet.writeLegacyFormat"
REBASE_CONFS = tuple(
    f"spark.sql.parquet.{kind}RebaseModeIn{way}"
    for kind in ("datetime", "int96")
    for way in ("Read", "Write")
)
CRYPTO_CONF = "parquet.crypto.factory.class"
MAPPING_MODE = "delta.columnMapping.mode"
LEAST_PYARROW = (18, 0)


@dataclass(frozen=True)
class TableFacts:
    """What decides; `confs` are the session's, `pyarrow` is the version that the workers have.

    Where they have none, `python_fault` says why.
    """

    scheme: str
    protocol: Protocol
    schema: Mapping[str, Any]
    properties: Mapping[str, str] = field(default_factory=dict)
    confs: Mapping[str, str] = field(default_factory=dict)
    pyarrow: str | None = None
    python_fault: str = "the Python of Spark's workers has no pyarrow"


def table_refusal(facts: TableFacts) -> str | None:
    """Why Arrow does not rewrite files of this table; None where it does."""
    for reason in _table_refusals(facts):
        return reason
    return None


def file_refusal(path: str, *, has_deletion_vector: bool, base_row_id: int | None) -> str | None:
    """Why Arrow does not take a file of a table that it would rewrite."""
    if has_deletion_vector:
        return "a file with a deletion vector"
    if base_row_id is not None:
        return "a file with row ids"
    if path.startswith("/") or "://" in path or path.startswith("file:"):
        return "a file outside of the table's folder"
    return None


def codec_of(properties: Mapping[str, str], confs: Mapping[str, str]) -> str:
    return (properties.get(CODEC_PROPERTY) or confs.get(CODEC_CONF) or "snappy").lower()


def writes_int96(confs: Mapping[str, str]) -> bool:
    return confs.get(TIMESTAMP_CONF, "INT96").upper() == "INT96"


def leaf_types(schema: Mapping[str, Any]) -> set[str]:
    """The names of all primitive types in a schema, at any depth.

    >>> sorted(leaf_types({"fields": [{"name": "a", "type": {"type": "array", "elementType": "long"}}]}))
    ['long']
    """
    return {str(kind) for top in schema["fields"] for kind in _leaves(top["type"])}


def _table_refusals(facts: TableFacts) -> Iterable[str]:
    if facts.scheme != "file":
        yield f"files on {facts.scheme}: are read and written with the credentials of Spark only"
    if facts.pyarrow is None:
        yield facts.python_fault
    elif _version(facts.pyarrow) < LEAST_PYARROW:
        yield f"the Python of Spark's workers has pyarrow {facts.pyarrow}, which is older than 18"
    if "clustering" in facts.protocol.features:
        yield "the table is clustered"
    unproven = sorted(facts.protocol.features - PROVEN_FEATURES)
    if unproven:
        yield f"the table has the feature {unproven[0]}"
    if facts.properties.get("delta.enableRowTracking", "false").lower() == "true":
        yield "the table has row tracking"
    if facts.properties.get("delta.universalFormat.enabledFormats"):
        yield "the table is also kept in another format"
    if facts.properties.get(MAPPING_MODE, "none").lower() == "id":
        yield "the table maps columns by id"
    if not facts.properties.get("delta.parquet.format.version", "1.0.0").startswith("1."):
        yield "the table asks for another version of the parquet format"
    yield from _schema_refusals(facts.schema)
    yield from _conf_refusals(facts)


def _schema_refusals(schema: Mapping[str, Any]) -> Iterable[str]:
    for column in schema["fields"]:
        if column["type"] != "void":
            yield from _field_refusals(column, column["name"])


def _field_refusals(column: Mapping[str, Any], name: str) -> Iterable[str]:
    metadata = column.get("metadata") or {}
    if "EXISTS_DEFAULT" in metadata:
        yield f"column {name} has a default for rows that were there before it"
    if "__COLLATIONS" in metadata:
        yield f"column {name} has a collation"
    yield from _type_refusals(column["type"], name)


def _type_refusals(kind: Any, name: str) -> Iterable[str]:
    if isinstance(kind, str):
        if kind not in PROVEN_TYPES and not kind.startswith("decimal("):
            yield f"column {name} is of type {kind}"
    elif kind.get("type") == "struct" and kind["fields"]:
        for child in kind["fields"]:
            yield from _field_refusals(child, f"{name}.{child['name']}")
    elif kind.get("type") == "array":
        yield from _type_refusals(kind["elementType"], name)
    elif kind.get("type") == "map":
        yield from _type_refusals(kind["keyType"], name)
        yield from _type_refusals(kind["valueType"], name)
    else:
        yield f"column {name} is of type {kind.get('type')}"


def _conf_refusals(facts: TableFacts) -> Iterable[str]:
    confs = facts.confs
    codec = codec_of(facts.properties, confs)
    if codec not in CODECS:
        yield f"the codec {codec}"
    if confs.get(LEGACY_FORMAT_CONF, "false").lower() == "true":
        yield f"{LEGACY_FORMAT_CONF} is set"
    for name in REBASE_CONFS:
        if confs.get(name, "").upper() == "LEGACY":
            yield f"{name} is LEGACY"
    if confs.get(CRYPTO_CONF):
        yield "files are encrypted"
    written = confs.get(TIMESTAMP_CONF, "INT96").upper()
    if written not in ("INT96", "TIMESTAMP_MICROS"):
        yield f"{TIMESTAMP_CONF} is {written}"
    if written == "INT96" and {"timestamp", "timestamp_ntz"} <= leaf_types(facts.schema):
        yield f"timestamp and timestamp_ntz together while {TIMESTAMP_CONF} is INT96"


def _leaves(kind: Any) -> Iterable[str]:
    if isinstance(kind, str):
        yield kind
    elif kind.get("type") == "struct":
        for child in kind["fields"]:
            yield from _leaves(child["type"])
    else:
        for key in ("elementType", "keyType", "valueType"):
            if key in kind:
                yield from _leaves(kind[key])


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
