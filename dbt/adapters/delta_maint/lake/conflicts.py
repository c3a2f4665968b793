"""What kind of trouble an error of Spark or Delta is: a lost race, a refusal, a cancelled job, a fault.

Delta's conflicts reach Python as bare Java errors, so they are known by the class names along the chain
of causes. A conflict means that somebody else's commit stands and ours does not.
"""

from __future__ import annotations

from enum import Enum

from dbt.adapters.delta_maint.lake.spark_errors import (
    error_class,
    java_exception,
    remote_causes,
    telling_sentence,
)

_CONFLICTS = (
    "ConcurrentModificationException",
    "ConcurrentWriteException",
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentTransactionException",
    "MetadataChangedException",
    "ProtocolChangedException",
)
# Over a network the Java class may not travel, the error class does.
_CONFLICT_CLASSES = (
    "DELTA_CONCURRENT_",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "CONCURRENT_WRITE",
)
_CANCELLED = (
    "was cancelled",
    "has been cancelled",
    "SPARK_JOB_CANCELLED",
    "cancelled job group",
    "OPERATION_CANCELED",
)
_REFUSED = (
    "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION",
    "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE",
    "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
    "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "DELTA_INVALID_PROTOCOL_VERSION",
)
_MOST_CAUSES = 20


class Trouble(str, Enum):
    CONFLICT = "conflict"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAULT = "fault"


def trouble_of(error: BaseException) -> Trouble:
    names = java_class_names(error)
    if any(name.rsplit(".", 1)[-1] in _CONFLICTS for name in names):
        return Trouble.CONFLICT
    if type(error).__name__ in _CONFLICTS:
        return Trouble.CONFLICT
    sentence = telling_sentence(error)
    if (error_class(sentence) or "").startswith(_CONFLICT_CLASSES):
        return Trouble.CONFLICT
    if any(words in sentence for words in _CANCELLED) or isinstance(error, KeyboardInterrupt):
        return Trouble.CANCELLED
    if any(condition in sentence for condition in _REFUSED):
        return Trouble.REFUSED
    return Trouble.FAULT


def java_class_names(error: BaseException) -> list[str]:
    """The classes of a Java error and its causes, from the outside in."""
    names = [name for name, _ in remote_causes(error)]
    throwable = java_exception(error)
    while throwable is not None and len(names) < _MOST_CAUSES:
        names.append(str(throwable.getClass().getName()))
        throwable = throwable.getCause()
    return names
