"""A table's entry in Spark's session catalog: read before a conversion, given back by an undo.

Entries are read through Spark's catalog classes, so that locations of partitions and the schema come
exactly as Spark has them. Restoring changes the entry in place: a managed table is never dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import unquote

from dbt.adapters.delta_maint.core.errors import NotDeltaSourceError, UndoError
from dbt.adapters.delta_maint.core.hive_layout import HIVE_NULL
from dbt.adapters.delta_maint.core.sql_text import qualified

PARQUET_SERDE = "ParquetHiveSerDe"
SESSION_CATALOG = "spark_catalog"
# Hive keeps this by itself; it says nothing about the table.
VOLATILE_PROPERTIES = ("transient_lastDdlTime",)


@dataclass(frozen=True)
class CatalogPartition:
    values: Mapping[str, str | None]
    location: str


@dataclass(frozen=True)
class CatalogEntry:
    schema_name: str
    table_name: str
    provider: str
    is_hive_serde: bool
    is_managed: bool
    location: str
    schema: dict[str, Any]
    partition_columns: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    tracks_partitions: bool = False

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, pairs: Mapping[str, Any]) -> CatalogEntry:
        return cls(**{**pairs, "partition_columns": tuple(pairs["partition_columns"])})

    @property
    def sql_name(self) -> str:
        return qualified(SESSION_CATALOG, self.schema_name, self.table_name)


class SessionCatalog:
    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._catalog = spark._jsparkSession.sessionState().catalog()
        self._jvm = spark._jvm

    def find(self, table: tuple[str | None, str, str]) -> CatalogEntry | None:
        """The entry; None when there is no such table. A view, or another catalog, is refused."""
        catalog, schema_name, table_name = table
        label = f"{schema_name}.{table_name}"
        if catalog is not None and catalog.lower() != SESSION_CATALOG:
            raise NotDeltaSourceError(
                f"[DELTA_OPERATION_NOT_ALLOWED_DETAIL] Operation not allowed: CONVERT TO DELTA is "
                f"not supported for tables of the catalog {catalog}: convert the folder of "
                f"{label} with path."
            )
        identifier = self._identifier(schema_name, table_name)
        if not self._catalog.tableExists(identifier):
            return None
        found = self._catalog.getTableMetadata(identifier)
        if str(found.tableType().name()) == "VIEW":
            raise NotDeltaSourceError(
                "[DELTA_OPERATION_NOT_ALLOWED_DETAIL] Operation not allowed: CONVERT TO DELTA is "
                f"not supported for views, and {label} is one: name the table it reads."
            )
        storage = found.storage()
        serde = str(storage.serde().get()) if storage.serde().isDefined() else ""
        provider = str(found.provider().get()).lower() if found.provider().isDefined() else "hive"
        properties = self._python_map(found.properties())
        return CatalogEntry(
            schema_name=schema_name,
            table_name=table_name,
            provider=provider,
            is_hive_serde=provider == "hive" and PARQUET_SERDE in serde,
            is_managed=str(found.tableType().name()) == "MANAGED",
            location=path_of_uri(str(found.location().toString())),
            schema=json.loads(found.schema().json()),
            partition_columns=tuple(self._python_list(found.partitionColumnNames())),
            properties={k: v for k, v in properties.items() if k not in VOLATILE_PROPERTIES},
            tracks_partitions=bool(found.tracksPartitionsInCatalog()),
        )

    def partitions(self, entry: CatalogEntry) -> list[CatalogPartition]:
        listed = self._catalog.listPartitions(
            self._identifier(entry.schema_name, entry.table_name), self._jvm.scala.Option.empty()
        )
        found = []
        for partition in self._python_list(listed):
            spec = self._python_map(partition.spec())
            values = {k: None if v in (HIVE_NULL, "", None) else v for k, v in spec.items()}
            found.append(
                CatalogPartition(values, path_of_uri(str(partition.location().toString())))
            )
        return found

    def others_at(self, entry_name: str | None, location: str, *, limit: int) -> list[str]:
        """Other tables whose entry names the same folder; looks at no more than `limit` tables."""
        wanted = comparable_location(location)
        names: list[str] = []
        looked_at = 0
        for database in self._python_list(self._catalog.listDatabases()):
            for identifier in self._python_list(self._catalog.listTables(database)):
                label = f"{database}.{identifier.table()}"
                if label == entry_name or not identifier.database().isDefined():
                    continue
                looked_at += 1
                if looked_at > limit:
                    return names
                storage = self._catalog.getTableMetadata(identifier).storage()
                if not storage.locationUri().isDefined():
                    continue
                found = path_of_uri(str(storage.locationUri().get().toString()))
                if comparable_location(found) == wanted:
                    names.append(label)
        return names

    def usual_location(self, table: tuple[str | None, str, str]) -> str:
        """The folder a table of this name would get from its schema."""
        _, schema_name, table_name = table
        if self._catalog.databaseExists(schema_name):
            identifier = self._identifier(schema_name, table_name)
            return path_of_uri(str(self._catalog.defaultTablePath(identifier).toString()))
        warehouse = self._spark.conf.get("spark.sql.warehouse.dir")
        return f"{path_of_uri(warehouse).rstrip('/')}/{schema_name}.db/{table_name}"

    def restore(self, entry: CatalogEntry) -> None:
        """Gives the catalog back what it held before the conversion."""
        identifier = self._identifier(entry.schema_name, entry.table_name)
        if not self._catalog.tableExists(identifier):
            raise UndoError(
                f"The table {entry.name} is not in the catalog any more: its folder "
                f"{entry.location} is parquet, declare it anew."
            )
        now = self._catalog.getTableMetadata(identifier)
        jvm = self._jvm
        serde = jvm.org.apache.spark.sql.internal.HiveSerDe.sourceToSerDe("parquet").get()
        storage = now.storage()
        formats = storage.copy(
            storage.locationUri(),
            serde.inputFormat(),
            serde.outputFormat(),
            serde.serde(),
            *(getattr(storage, f"copy$default${n}")() for n in range(5, 5 + _arity(storage) - 4)),
        )
        changes = {
            "storage": formats,
            "schema": jvm.org.apache.spark.sql.types.DataType.fromJson(json.dumps(entry.schema)),
            "provider": jvm.scala.Some(entry.provider),
            "partitionColumnNames": self._scala_list(entry.partition_columns),
            "properties": self._scala_map(entry.properties),
            "tracksPartitionsInCatalog": entry.tracks_partitions,
        }
        names = [str(now.productElementName(n)) for n in range(_arity(now))]
        arguments = [
            changes[name] if name in changes else getattr(now, f"copy$default${place + 1}")()
            for place, name in enumerate(names)
        ]
        self._catalog.alterTable(now.copy(*arguments))
        self._catalog.refreshTable(identifier)

    def _identifier(self, schema_name: str, table_name: str) -> Any:
        return self._jvm.org.apache.spark.sql.catalyst.TableIdentifier(
            table_name, self._jvm.scala.Some(schema_name)
        )

    def _python_list(self, sequence: Any) -> list[Any]:
        return list(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(sequence))

    def _python_map(self, pairs: Any) -> dict[str, str]:
        return dict(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(pairs))

    def _scala_list(self, items: tuple[str, ...]) -> Any:
        values = self._jvm.java.util.ArrayList()
        for item in items:
            values.add(item)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(values).toSeq()

    def _scala_map(self, pairs: Mapping[str, str]) -> Any:
        companion = getattr(self._jvm.scala.collection.immutable, "Map$")
        found = getattr(companion, "MODULE$").empty()
        for key, value in pairs.items():
            found = found.updated(key, value)
        return found


def path_of_uri(uri: str) -> str:
    """A location as the catalog stores it, a URI, -> as the file system spells it.

    >>> path_of_uri("file:/data/a%20b")
    'file:/data/a b'
    """
    return unquote(uri)


def comparable_location(location: str) -> str:
    """`file:///a/`, `file:/a` and `/a` are one folder.

    >>> comparable_location("file:///a/") == comparable_location("/a")
    True
    """
    if location.startswith("file:"):
        location = "/" + location[len("file:") :].lstrip("/")
    return location.rstrip("/")


def _arity(product: Any) -> int:
    return int(product.productArity())
