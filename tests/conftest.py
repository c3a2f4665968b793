"""One Spark per test process, on an in-memory catalog, for everything dbt runs in-process.

`--method` says where it runs: inside this process, or behind a server that is started for the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.methods import METHODS

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--method", default="session", choices=list(METHODS), help="the connection method"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another method than session only what is marked for it runs."""
    method = config.getoption("--method")
    wanted = [item for item in items if _runs_on(method, item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


def _runs_on(method: str, item: pytest.Item) -> bool:
    marks = list(item.iter_markers("portable"))
    # The mark nearest to the test comes first.
    named = [mark for mark in marks if "only_on" in mark.kwargs]
    if named:
        return method in named[0].kwargs["only_on"] and _is_wanted(named[:1])
    if method == "session":
        return True
    lacking = {name for mark in marks for name in mark.kwargs.get("not_on", ())}
    return bool(marks) and method not in lacking and _is_wanted(marks)


def _is_wanted(marks: list[pytest.Mark]) -> bool:
    needs_all = all(mark.kwargs.get("in_all") for mark in marks)
    return not needs_all or bool(os.environ.get("DELTA_MAINT_TEST_ALL"))


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def method(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--method"))


@pytest.fixture(scope="session")
def runs_python(method: str) -> bool:
    """Whether the method runs Python models, as it says itself."""
    from dbt.adapters.delta_maint.environments.capabilities import Feature, capabilities_of

    return capabilities_of(method).has(Feature.PYTHON_MODELS)


@pytest.fixture(scope="session")
def session_target(method: str, warehouse: Path) -> Iterator[dict[str, Any]]:
    """The profile of every in-process test: equal keys, so that they all share one session."""
    from dbt.adapters.delta_maint.connections import end_session_environment

    with METHODS[method](warehouse) as keys:
        yield {
            "type": "delta_maint",
            "threads": 2,
            **keys,
            "server_side_parameters": {
                "spark.sql.shuffle.partitions": "2",
                **UNCOMPILED,
                **ansi_mode(),
                **keys.get("server_side_parameters", {}),
            },
        }
        if method != "session":
            end_session_environment()


def ansi_mode() -> dict[str, Any]:
    """`make test-all` runs the suite a second time as users with ANSI mode on would see it."""
    return {"spark.sql.ansi.enabled": True} if os.environ.get("DELTA_MAINT_TEST_ANSI") else {}


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory, prefix: str) -> Iterator[str]:
    """dbt's own fixture would put them into the folder that the tests run in."""
    folder = str(tmp_path_factory.mktemp("logs") / prefix)
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]


@pytest.fixture(scope="class")
def dbt_profile_target(session_target: dict[str, Any]) -> dict[str, Any]:
    return dict(session_target)


@pytest.fixture(scope="session")
def session_handle(session_target: dict[str, Any], warehouse: Path) -> Any:
    """A connection of the session that the in-process dbt runs use."""
    from dbt.adapters.delta_maint.connections import environment_of
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    keys = {key: value for key, value in session_target.items() if key not in ("type", "threads")}
    credentials = DeltaMaintCredentials(schema="default", **keys)
    credentials.project_root = warehouse.parent  # type: ignore[attr-defined]
    return environment_of(credentials).open()


@pytest.fixture(scope="session")
def spark(session_handle: Any) -> Any:
    return session_handle.spark


@pytest.fixture(scope="session")
def sql(session_handle: Any) -> Any:
    """The same connection for tests that need no more than SQL."""
    return session_handle.sql
