"""Every error this package raises on purpose.

A message names what was found, the rule it broke, and the next step for the person reading it,
in one sentence where that is possible.
"""

from __future__ import annotations


class DeltaMaintError(Exception):
    """Root of the tree."""


class ProfileError(DeltaMaintError):
    """A key of the profile is unknown, contradictory or has a value that cannot work."""


class ConfigError(DeltaMaintError):
    """A model config or an argument has a value that cannot work."""


class CapabilityError(ConfigError):
    """The connection method cannot do what was asked for; another one can."""


class JavaError(DeltaMaintError):
    """Java is missing or too old."""


class JarsError(DeltaMaintError):
    """The Delta jars are missing or do not fit the installed versions."""


class SparkStartError(DeltaMaintError):
    """Spark did not start."""


class ConnectionLostError(DeltaMaintError):
    """The server cannot be reached any more, or does not know this connection."""


class CatalogError(DeltaMaintError):
    """The catalog of tables cannot be reached or read."""


class CatalogLockedError(CatalogError):
    """Another process uses the embedded catalog."""


class WarehouseError(DeltaMaintError):
    """The warehouse folder cannot be used."""


class SeedValueError(DeltaMaintError):
    """A seed value does not fit the type of its column."""


class PythonModelError(DeltaMaintError):
    """A Python model failed or returned something that is not a table."""


class LogError(DeltaMaintError):
    """The Delta log cannot be read as a complete table."""


class NotDeltaError(DeltaMaintError):
    """The relation is not a Delta table."""


class PredicateError(DeltaMaintError):
    """A set of partitions cannot be named exactly in SQL."""


class CompactionError(DeltaMaintError):
    """Compaction did not do what its plan says."""


class RewriteError(DeltaMaintError):
    """The rewriter that was asked for cannot rewrite this table; nothing was changed."""


class ConversionError(DeltaMaintError):
    """A folder or table cannot become Delta; nothing was changed."""


class PartitionLayoutError(ConversionError):
    """The partition folders, their values or their declared types do not fit together."""


class SchemaMergeError(ConversionError):
    """The schemas of the files do not make one table."""


class ConversionChangedError(ConversionError):
    """The folder changed while it was being converted."""


class ConversionRaceError(ConversionError):
    """Another writer made the table first; its table stands."""


class NotDeltaSourceError(ConversionError):
    """What was named is not parquet."""


class UndoError(DeltaMaintError):
    """A conversion cannot be taken back; nothing was changed."""
