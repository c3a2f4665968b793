"""dbt config -> frozen policies, validated once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark.impl import SparkConfig


@dataclass
class DeltaMaintConfig(SparkConfig):
    """Configs this adapter adds; dbt uses this class to merge them, defaults are the macros'."""

    file_format: str = "delta"
    tblproperties: dict[str, str] | None = None
    liquid_clustered_by: list[str] | str | None = None
    auto_compact: bool | str | dict[str, Any] | None = None
