"""A dbt process killed in the middle of a write leaves the table as it was and nothing beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.dbt_process import DbtFolder

MODEL = """
{{{{ config({config}) }}}}
select id, {value} as value from range({rows})
"""
# A merge shuffles its rows before it writes the first: there the writing takes long, not the query.
SLOW = """
{{{{ config({config}) }}}}
select id, repeat(sha2(cast(id as string), 512), {width}) as value from range(5, {rows})
"""
KINDS = {
    "table": "materialized='table'",
    "merge": "materialized='incremental', unique_key='id'",
    "delete+insert": "materialized='delta_optimized', incremental_strategy='delete+insert', unique_key='id'",
}


def wait_for(condition: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_killed_half_way_loses_nothing(tmp_path: Path, kind: str) -> None:
    config = KINDS[kind]
    rows = (
        {"width": 10_000, "rows": 4_000_000} if kind == "table" else {"width": 40, "rows": 400_000}
    )
    model = MODEL.format(config=config, value="'a'", rows=10)
    shop = DbtFolder.create(tmp_path / "shop", {"orders.sql": model})
    shop.run("run")
    table = shop.root / ".delta_maint/warehouse/analytics.db/orders"
    commits = sorted(path.name for path in table.glob("_delta_log/*.json"))
    before = {path.name for path in table.glob("*.parquet")}

    (shop.root / "models/orders.sql").write_text(SLOW.format(config=config, **rows))
    process = shop.start("run")
    try:
        # Data files of the new version appear long before its commit.
        wait_for(lambda: {path.name for path in table.glob("*.parquet")} - before)
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert sorted(path.name for path in table.glob("_delta_log/*.json")) == commits

    (shop.root / "models/orders.sql").write_text(MODEL.format(config=config, value="'b'", rows=12))
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
