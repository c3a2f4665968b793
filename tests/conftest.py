"""One Spark session per test process, on an in-memory catalog, for everything dbt runs in-process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A busy machine is no counterexample.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")

# Compiling a query costs more than running it on a handful of rows. The tests that start dbt as users
# do, in a process of their own, keep the defaults.
UNCOMPILED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

pytest_plugins = ["dbt.tests.fixtures.project"]


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def session_target(warehouse: Path) -> dict[str, Any]:
    """The profile of every in-process test: equal keys, so that they all share one session."""
    return {
        "type": "delta_maint",
        "threads": 2,
        "warehouse": str(warehouse),
        "catalog": "in_memory",
        "driver_memory": "2g",
        "server_side_parameters": {
            "spark.sql.shuffle.partitions": "2",
            **UNCOMPILED,
            **ansi_mode(),
        },
    }


def ansi_mode() -> dict[str, Any]:
    """`make test-all` runs the suite a second time as users with ANSI mode on would see it."""
    return {"spark.sql.ansi.enabled": True} if os.environ.get("DELTA_MAINT_TEST_ANSI") else {}


@pytest.fixture(scope="class")
def dbt_profile_target(session_target: dict[str, Any]) -> dict[str, Any]:
    return dict(session_target)


@pytest.fixture(scope="session")
def session_handle(session_target: dict[str, Any], warehouse: Path) -> Any:
    """A connection of the session that the in-process dbt runs use."""
    from dbt.adapters.delta_maint.connections import session_environment
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    keys = {key: value for key, value in session_target.items() if key not in ("type", "threads")}
    credentials = DeltaMaintCredentials(schema="default", **keys)
    return session_environment(credentials.session_settings(warehouse.parent)).open()


@pytest.fixture(scope="session")
def spark(session_handle: Any) -> Any:
    return session_handle.spark
