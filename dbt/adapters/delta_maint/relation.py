"""Relations with a real catalog name, quoted in every part and compared without case, as Spark does."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base.relation import BaseRelation, Policy
from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.delta_maint.core.sql_text import identifier
from dbt.adapters.spark.relation import SparkRelation


@dataclass
class QuoteEverything(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass
class IncludeEverything(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class DeltaMaintRelation(SparkRelation):
    quote_policy: Policy = field(default_factory=lambda: QuoteEverything())
    include_policy: Policy = field(default_factory=lambda: IncludeEverything())

    def __post_init__(self) -> None:
        """The parent refuses catalogs; Spark 4 has them."""

    def render(self) -> str:
        # Not the parent's render, which refuses catalog and schema together.
        return BaseRelation.render(self)

    def quoted(self, identifier_text: str) -> str:  # type: ignore[override]
        return identifier(identifier_text)

    def _is_exactish_match(self, field_name: ComponentName, value: str) -> bool:
        mine = self.path.get_lowered_part(field_name)
        return bool(mine == (value.lower() if value is not None else None))
