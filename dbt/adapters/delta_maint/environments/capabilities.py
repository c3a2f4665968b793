"""What each connection method can do: declared once, asked for by name, printed into the docs.

Nothing else in the package finds out by trying. A feature that a method lacks is refused before work
starts, in one sentence that names the methods that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.delta_maint.core.errors import CapabilityError


class Feature(str, Enum):
    """The words of the table in the docs."""

    MODELS = "SQL models, tests, snapshots, strategies"
    SEEDS = "seeds"
    PYTHON_MODELS = "Python models"
    DRIVER = "catalog lookups and commit metrics without a statement"
    ISOLATION = "settings and temporary views of a connection are its own"
    OPTIMIZED_WRITE = "optimized write"
    COMPACTION = "auto compaction, compact"
    FOOTER_CONVERSION = "convert_to_delta, engine footer; undo_convert"
    NATIVE_CONVERSION = "convert_to_delta, engine native"


@dataclass(frozen=True)
class Support:
    """How a method does it; `is_there` False says why it does not."""

    how: str
    is_there: bool = True


@dataclass(frozen=True)
class Capabilities:
    method: str
    support: Mapping[Feature, Support]

    def has(self, feature: Feature) -> bool:
        return self.support[feature].is_there

    def require(self, feature: Feature, *, otherwise: str | None = None) -> None:
        """`otherwise` is what else can be done than changing the method."""
        if self.has(feature):
            return
        ways = [f"`method: {name}`" for name, other in CAPABILITIES.items() if other.has(feature)]
        ways += [otherwise] if otherwise else []
        raise CapabilityError(
            f"{feature.value[:1].upper()}{feature.value[1:]}: method {self.method} cannot do this "
            f"({self.support[feature].how}): use {', or '.join(ways)}."
        )


def capabilities_of(method: str) -> Capabilities:
    return CAPABILITIES[method]


def as_markdown() -> str:
    """The table of the docs, one row per feature, one column per method."""
    names = list(CAPABILITIES)
    lines = [
        "| | " + " | ".join(f"`{name}`" for name in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for feature in Feature:
        cells = []
        for name in names:
            support = CAPABILITIES[name].support[feature]
            cells.append(support.how if support.is_there else f"**no**: {support.how}")
        lines.append(f"| {feature.value} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


_NEEDS_SESSION = "needs Spark in the dbt process"

_SESSION = {
    Feature.MODELS: Support("yes"),
    Feature.SEEDS: Support("as Arrow"),
    Feature.PYTHON_MODELS: Support("in the dbt process"),
    Feature.DRIVER: Support("yes"),
    Feature.ISOLATION: Support("a session each"),
    Feature.OPTIMIZED_WRITE: Support("yes"),
    Feature.COMPACTION: Support("yes"),
    Feature.FOOTER_CONVERSION: Support("yes"),
    Feature.NATIVE_CONVERSION: Support("yes"),
}
_CONNECT = {
    Feature.MODELS: Support("yes"),
    Feature.SEEDS: Support("as Arrow"),
    Feature.PYTHON_MODELS: Support("in the dbt process, on DataFrames of the server"),
    Feature.DRIVER: Support("by SQL statements instead", is_there=False),
    Feature.ISOLATION: Support("a session each, on the server"),
    Feature.OPTIMIZED_WRITE: Support("yes, from plans as EXPLAIN shows them"),
    Feature.COMPACTION: Support("yes, by OPTIMIZE"),
    Feature.FOOTER_CONVERSION: Support(_NEEDS_SESSION, is_there=False),
    Feature.NATIVE_CONVERSION: Support("yes"),
}
_ONLY_SQL = "only SQL travels to the server"
_THRIFT = {
    Feature.MODELS: Support("yes"),
    Feature.SEEDS: Support("as literals, in batches"),
    Feature.PYTHON_MODELS: Support(_ONLY_SQL, is_there=False),
    Feature.DRIVER: Support("by SQL statements instead", is_there=False),
    Feature.ISOLATION: Support("a session each, on the server"),
    Feature.OPTIMIZED_WRITE: Support("yes, by SQL text, from plans as EXPLAIN shows them"),
    Feature.COMPACTION: Support("yes, by OPTIMIZE"),
    Feature.FOOTER_CONVERSION: Support(_NEEDS_SESSION, is_there=False),
    Feature.NATIVE_CONVERSION: Support("yes"),
}
# Through dbt-spark's own connections; no test has seen such a server.
_SERVER = {
    Feature.MODELS: Support("untested"),
    Feature.SEEDS: Support("loaded through a DataFrame", is_there=False),
    Feature.PYTHON_MODELS: Support(_NEEDS_SESSION, is_there=False),
    Feature.DRIVER: Support("by SQL statements instead, untested", is_there=False),
    Feature.ISOLATION: Support("as the server does it, untested"),
    Feature.OPTIMIZED_WRITE: Support("places rows through a DataFrame", is_there=False),
    Feature.COMPACTION: Support(_NEEDS_SESSION, is_there=False),
    Feature.FOOTER_CONVERSION: Support(_NEEDS_SESSION, is_there=False),
    Feature.NATIVE_CONVERSION: Support("untested"),
}

CAPABILITIES: dict[str, Capabilities] = {
    "session": Capabilities("session", _SESSION),
    "connect": Capabilities("connect", _CONNECT),
    "thrift": Capabilities("thrift", _THRIFT),
    "http": Capabilities("http", _SERVER),
    "odbc": Capabilities("odbc", _SERVER),
}
