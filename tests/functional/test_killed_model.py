"""A dbt process killed in the middle of a write leaves the table as it was and nothing beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.functional.dbt_process import DbtFolder

MODEL = """
{{{{ config(materialized='table') }}}}
select id, {value} as value from range({rows})
"""
SLOW = """
{{ config(materialized='table') }}
select id, sha2(repeat(cast(id as string), 100000), 512) as value from range(20, 4000000)
"""


def wait_for(condition: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_model_killed_half_way_loses_nothing(tmp_path: Path) -> None:
    shop = DbtFolder.create(tmp_path / "shop", {"orders.sql": MODEL.format(value="'a'", rows=10)})
    shop.run("run")
    table = shop.root / ".delta_maint/warehouse/analytics.db/orders"
    commits = sorted(path.name for path in table.glob("_delta_log/*.json"))
    before = {path.name for path in table.glob("*.parquet")}

    (shop.root / "models/orders.sql").write_text(SLOW)
    process = shop.start("run")
    try:
        # Data files of the new version appear long before its commit.
        wait_for(lambda: {path.name for path in table.glob("*.parquet")} - before)
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert sorted(path.name for path in table.glob("_delta_log/*.json")) == commits

    (shop.root / "models/orders.sql").write_text(MODEL.format(value="'b'", rows=12))
    shop.run("run")
    count = (
        "select count(*) as n, count(distinct id) as ids, max(value) as v from {{ ref('orders') }}"
    )
    shown = shop.run("show", "--inline", count, "--output", "json")
    assert '"n": 12' in shown
    assert '"ids": 12' in shown
    assert '"v": "b"' in shown
    schema = shop.root / ".delta_maint/warehouse/analytics.db"
    assert {path.name for path in schema.iterdir()} == {"orders"}
