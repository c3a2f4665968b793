"""What `dbt debug` says of a server, whichever way it is reached."""

from __future__ import annotations

from collections.abc import Callable

from dbt.adapters.delta_maint.environments.base import Verdict

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def delta_verdict(conf: Callable[[str], str | None]) -> Verdict:
    extensions = conf("spark.sql.extensions") or ""
    catalog = conf("spark.sql.catalog.spark_catalog") or ""
    if EXTENSION in extensions and "DeltaCatalog" in catalog:
        return Verdict("delta", "the server has Delta's extension and catalog")
    return Verdict(
        "delta",
        f"the server lacks spark.sql.extensions={EXTENSION} or "
        f"spark.sql.catalog.spark_catalog={CATALOG}: start it with both",
        is_good=False,
    )
