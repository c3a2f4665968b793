"""What the session's own catalog knows about a table, asked in the JVM: no statement, no file is read."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from dbt.adapters.delta_maint.core import sql_text

SESSION_CATALOG = "spark_catalog"


def table_location(spark: Any, *, schema: str, name: str) -> str:
    # As a path: the catalog's URI writes a space as %20.
    return unquote(str(_table(spark, schema, name).location().toString()))


def table_provider(spark: Any, *, schema: str, name: str) -> str | None:
    """The format of a table; None when there is no such table."""
    catalog, identifier = _catalog(spark), _identifier(spark, schema, name)
    if not catalog.tableExists(identifier):
        return None
    provider = catalog.getTableMetadata(identifier).provider()
    return str(provider.get()).lower() if provider.isDefined() else None


def forget_layout(spark: Any, *, schema: str, name: str) -> None:
    """Takes columns and partitions out of an entry of Spark's in-memory catalog.

    Delta makes an entry without them and puts them in when it replaces the table, in an order that the
    in-memory catalog refuses the next time: the replacement would be committed and called failed.
    """
    table = _table(spark, schema, name)
    if table.partitionColumnNames().isEmpty():
        return
    # What `copy(schema = ..., partitionColumnNames = ...)` is in Scala.
    parts = [getattr(table, f"copy$default${n}")() for n in range(1, table.productArity() + 1)]
    names = [table.productElementName(n) for n in range(table.productArity())]
    parts[names.index("schema")] = spark._jvm.org.apache.spark.sql.types.StructType()
    nothing = spark._jvm.java.util.ArrayList()
    converters = spark._jvm.scala.jdk.javaapi.CollectionConverters
    parts[names.index("partitionColumnNames")] = converters.asScala(nothing).toSeq()
    _catalog(spark).alterTable(table.copy(*parts))


class _State:
    """The parts of a session that every lookup needs; each would cost two calls to the JVM."""

    def __init__(self, spark: Any) -> None:
        self._state = spark._jsparkSession.sessionState()

    @cached_property
    def catalog(self) -> Any:
        return self._state.catalog()

    @cached_property
    def parser(self) -> Any:
        return self._state.sqlParser()


_STATES: WeakKeyDictionary[Any, _State] = WeakKeyDictionary()


def _state(spark: Any) -> _State:
    found = _STATES.get(spark)
    if found is None:
        found = _STATES[spark] = _State(spark)
    return found


def _catalog(spark: Any) -> Any:
    return _state(spark).catalog


def _table(spark: Any, schema: str, name: str) -> Any:
    return _catalog(spark).getTableMetadata(_identifier(spark, schema, name))


def _identifier(spark: Any, schema: str, name: str) -> Any:
    # By the parser: a class name costs a call to the JVM for each of its parts.
    text = f"{sql_text.identifier(schema)}.{sql_text.identifier(name)}"
    return _state(spark).parser.parseTableIdentifier(text)
