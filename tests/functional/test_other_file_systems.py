"""Everything on a warehouse that is no folder of this machine: Hadoop's view of file systems answers for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.functional.dbt_process import DbtFolder

LAKE = "viewfs://lake/data"

ORDERS = """
{{ config(materialized='incremental', unique_key='id') }}
select id, id % 3 as kind from range({{ 200 if is_incremental() else 100 }})
"""
PLACED = """
{{ config(materialized='delta_optimized', partition_by='kind', optimized_write='exact',
          target_file_size='64 KiB', auto_compact=false) }}
select id, id % 3 as kind, sha2(cast(id as string), 256) as text from range(0, 6000, 1, 4)
"""
CRUMBS = """
{{ config(materialized='table', partition_by='kind', auto_compact={'policy': 'eager', 'rewrite': 'auto'}) }}
select id, id % 2 as kind from range(0, 1000, 1, 12)
"""
FRAME = """
def model(dbt, spark):
    dbt.config(materialized="table")
    return dbt.ref("orders").groupBy("kind").count()
"""
SNAPSHOT = """
snapshots:
  - name: orders_history
    relation: ref('orders')
    config: {unique_key: id, strategy: check, check_cols: all}
"""
# A conversion at the end of a run saves the start of another one.
PROJECT = f"""
name: shop
profile: shop
version: '1.0'
config-version: 2
flags: {{send_anonymous_usage_stats: false, use_colors: false}}
on-run-end:
  - "{{% do convert_to_delta(path='{LAKE}/rides') %}}"
  - "{{% do convert_to_delta(path='{LAKE}/native', engine='native') %}}"
  - "{{% do convert_to_delta(path='{LAKE}/undone') %}}"
  - "{{% do undo_convert(path='{LAKE}/undone') %}}"
"""


@dataclass
class Lake:
    folder: Path
    output: str
    results: dict[str, Any]

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self.folder / "warehouse" / "analytics.db" / name))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("elsewhere")
    data = root / "data"
    for name in ("rides", "native", "undone"):
        for day in ("2024-01-01", "2024-01-02"):
            folder = data / name / f"day={day}"
            folder.mkdir(parents=True)
            table = pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", "b"]})
            pq.write_table(table, folder / "part-0.parquet")
    models = {
        "orders.sql": ORDERS,
        "placed.sql": PLACED,
        "crumbs.sql": CRUMBS,
        "kinds.py": FRAME,
    }
    shop = DbtFolder.create(root / "shop", models)
    (shop.root / "snapshots").mkdir()
    (shop.root / "snapshots" / "history.yml").write_text(SNAPSHOT)
    (shop.root / "seeds").mkdir()
    (shop.root / "seeds" / "names.csv").write_text("kind,name\n0,none\n1,one\n")
    (shop.root / "dbt_project.yml").write_text(PROJECT)
    shop.write_profile(
        warehouse=f"{LAKE}/warehouse",
        catalog="in_memory",
        threads=1,
        server_side_parameters={
            "spark.hadoop.fs.viewfs.mounttable.lake.link./data": data.as_uri(),
            "spark.sql.shuffle.partitions": 2,
        },
    )
    output = shop.run("build")
    results = json.loads((shop.root / "target" / "run_results.json").read_text())
    return Lake(data, output, {row["unique_id"]: row for row in results["results"]})


def test_models_seeds_and_snapshots_are_built_there(lake: Lake) -> None:
    assert "ERROR=0" in lake.output
    assert lake.table("orders").to_pyarrow_table().num_rows == 100
    assert lake.table("names").to_pyarrow_table().num_rows == 2
    assert lake.table("orders_history").to_pyarrow_table().num_rows == 100
    assert lake.table("kinds").to_pyarrow_table().num_rows == 3


def test_the_numbers_of_a_commit_are_read_from_there(lake: Lake) -> None:
    response = lake.results["model.shop.orders"]["adapter_response"]
    assert response["rows_affected"] == 100


def test_an_optimized_write_is_exact_there(lake: Lake) -> None:
    assert lake.results["model.shop.placed"]["adapter_response"]["rows_affected"] == 6_000
    files = pa.table(lake.table("placed").get_add_actions(flatten=True)).to_pydict()
    assert sum(files["num_records"]) == 6_000
    assert max(files["size_bytes"]) < 1.3 * 64 * 1024


def test_compaction_is_left_to_optimize_there_and_says_so(lake: Lake) -> None:
    assert "24 -> 2 files" in lake.output
    assert "rewritten by OPTIMIZE: files on viewfs" in lake.output
    found = lake.table("crumbs").to_pyarrow_table()
    assert sorted(found["id"].to_pylist()) == list(range(1_000))


@pytest.mark.parametrize("name", ["rides", "native"])
def test_parquet_there_becomes_delta_in_place(lake: Lake, name: str) -> None:
    assert f"{LAKE}/{name}`: converted: 2 files" in lake.output
    found = DeltaTable(str(lake.folder / name))
    assert found.to_pyarrow_table().num_rows == 4
    for action in pa.table(found.get_add_actions(flatten=True)).to_pylist():
        assert action["path"].startswith("day=")


def test_a_conversion_there_is_taken_back(lake: Lake) -> None:
    assert "undone: is parquet again (2 files)" in lake.output.replace("`", "")
    assert sorted(path.name for path in (lake.folder / "undone").iterdir()) == [
        "day=2024-01-01",
        "day=2024-01-02",
    ]
