"""One declaration of what each method can do: complete, asked for by name, and what the docs show."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.delta_maint.compaction_requests import DbtCompaction
from dbt.adapters.delta_maint.core.errors import CapabilityError
from dbt.adapters.delta_maint.credentials import ConnectionMethod
from dbt.adapters.delta_maint.environments.capabilities import (
    CAPABILITIES,
    Feature,
    as_markdown,
    capabilities_of,
)
from dbt.adapters.delta_maint.optimized_writes import policy_of
from dbt_common.exceptions import DbtRuntimeError

PAGE = Path(__file__).parents[2] / "docs" / "connection_methods.md"
SERVERS = ["http", "odbc"]


def profile(method: str) -> Any:
    return SimpleNamespace(capabilities=capabilities_of(method), server_side_parameters={})


def test_every_method_says_something_about_every_feature() -> None:
    assert set(CAPABILITIES) == {method.value for method in ConnectionMethod}
    for capabilities in CAPABILITIES.values():
        assert set(capabilities.support) == set(Feature)


@pytest.mark.parametrize("method", SERVERS)
@pytest.mark.parametrize("feature", [Feature.PYTHON_MODELS, Feature.SEEDS, Feature.COMPACTION])
def test_what_a_method_lacks_is_refused_with_the_method_that_has_it(
    method: str, feature: Feature
) -> None:
    capabilities_of("session").require(feature)
    with pytest.raises(CapabilityError, match=f"method {method} .*use `method: session`"):
        capabilities_of(method).require(feature)


@pytest.mark.parametrize("method", ["connect", "thrift"])
def test_a_server_that_we_speak_to_ourselves_lacks_only_what_needs_a_driver(method: str) -> None:
    lacking = {feature for feature in Feature if not capabilities_of(method).has(feature)}
    python = {Feature.PYTHON_MODELS} if method == "thrift" else set()
    assert lacking == {Feature.DRIVER, Feature.FOOTER_CONVERSION} | python
    with pytest.raises(CapabilityError, match=r"use `method: session`\.$"):
        capabilities_of(method).require(Feature.FOOTER_CONVERSION)


@pytest.mark.parametrize("method", SERVERS)
def test_an_optimized_write_is_refused_or_left_away(method: str) -> None:
    config = {"materialized": "delta_optimized"}
    assert policy_of(config, profile("session")) is not None
    with pytest.raises(
        CapabilityError, match=r"use `method: session`.*, or `optimized_write: off`\.$"
    ):
        policy_of(config, profile(method))
    assert policy_of({**config, "optimized_write": "off"}, profile(method)) is None


@pytest.mark.parametrize("method", SERVERS)
def test_the_operation_compact_is_refused_before_it_selects_anything(
    method: str, tmp_path: Path
) -> None:
    config = SimpleNamespace(project_root=str(tmp_path), target_path="target", threads=1)
    adapter = SimpleNamespace(_credentials=profile(method))
    with pytest.raises(DbtRuntimeError, match="use `method: session`"):
        DbtCompaction(config, "here").run_operation(adapter, {}, {})


def test_the_table_in_the_docs_is_the_declared_one() -> None:
    assert as_markdown() in PAGE.read_text(), "run: python scripts/write_capabilities.py"
