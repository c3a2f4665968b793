"""A process with the catalog that profiles have by default; tells as JSON what conversions do to its entries.

python -m tests.functional.convert.embedded_process HOME
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import UndoError
from dbt.adapters.delta_maint.environments.session import SessionEnvironment
from dbt.adapters.delta_maint.environments.session_settings import resolve_settings
from dbt.adapters.delta_maint.lake.conversion_undo import Undoer
from dbt.adapters.delta_maint.lake.converter import Converter
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

from tests.functional.convert.source_folders import by_value, ids, put


def tell(home: Path) -> dict[str, Any]:
    settings = resolve_settings(
        project_root=home,
        warehouse=None,
        catalog=None,
        catalog_path=None,
        master="local[2]",
        driver_memory="1g",
        startup="fast",
        delta_jars=None,
        confs={"spark.sql.codegen.wholeStage": "false"},
    )
    spark = SessionEnvironment(settings).open().spark
    delta = JvmDelta.probe(spark)
    assert isinstance(delta, JvmDelta), delta

    def rows(name: str) -> list[list[Any]]:
        query = f"select k, count(*) from {name} group by k order by k"
        return [list(row) for row in spark.sql(query).collect()]

    def provider(name: str) -> str:
        described = spark.sql(f"describe extended {name}").collect()
        return str(next(row[1] for row in described if row[0] == "Provider"))

    def convert(name: str) -> str:
        request = ConvertRequest(table=(None, "default", name))
        return Converter(spark, delta, tool_version="test").convert(request).outcome

    by_value(home / "rides", "k", ["a b", "c%3Ad", "__HIVE_DEFAULT_PARTITION__"])
    put(home / "rides" / "k=a b" / "deep" / "f.parquet", {"id": ids(50)})
    spark.sql(
        "create table rides (Id bigint, k string) using parquet partitioned by (k) "
        f"tblproperties ('Made.By' = 'team') location '{home}/rides'"
    )
    spark.sql("msck repair table rides")
    by_value(home / "hive", "k", ["1", "2"])
    spark.sql(
        "create external table hive (id bigint) partitioned by (k int) stored as parquet "
        f"location '{home}/hive'"
    )
    spark.sql("msck repair table hive")
    spark.sql("create table managed using parquet as select id, 1 as k from range(5)")

    told: dict[str, Any] = {"before": rows("rides")}
    for name in ("rides", "hive", "managed"):
        told[name] = [convert(name), convert(name), provider(name), rows(name)]
    undoer = Undoer(spark, delta)
    for name in ("rides", "managed"):
        undone = undoer.undo(table=(None, "default", name)).outcome
        told[f"{name} undone"] = [undone, provider(name), rows(name)]
    told["columns"] = spark.table("rides").columns
    try:
        undoer.undo(table=(None, "default", "hive"))
    except UndoError as exc:
        told["hive undone"] = str(exc)
    return told


if __name__ == "__main__":
    print("told:", json.dumps(tell(Path(sys.argv[1]))))
