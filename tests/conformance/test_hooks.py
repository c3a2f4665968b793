from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks

from tests.conformance.dialect import PostgresFixtures, spark_sql_in

pytestmark = pytest.mark.portable(in_all=True)


class HooksOnDelta(PostgresFixtures):
    """The connection that the hooks write down is ours instead of the package's Postgres."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        return {**dbt_profile_target, "threads": 4}

    @pytest.fixture(scope="class")
    def dbt_project_yml(self, dbt_project_yml: None, project_root: Any) -> None:
        spark_sql_in(project_root / "dbt_project.yml")

    def check_hooks(self, state: str, project: Any, host: str | None, count: int = 1) -> None:
        many = {} if isinstance(self, BasePrePostRunHooks) else {"count": count}
        found = self.get_ctx_vars(state, project=project, **many)  # type: ignore[attr-defined]
        for row in [found] if isinstance(found, dict) else found:
            assert row["test_state"] == state
            assert row["target_dbname"] == ""
            assert row["target_name"] == "default"
            assert row["target_schema"] == project.test_schema
            assert row["target_threads"] == 4
            assert row["target_type"] == "delta_maint"
            assert row["target_user"] in ("", "None")
            assert row["target_pass"] == ""
            assert row["run_started_at"]
            assert row["invocation_id"]
            assert row["thread_id"].startswith("Thread-") or (
                isinstance(self, BasePrePostRunHooks) and row["thread_id"] == "MainThread"
            )


class TestPrePostModelHooks(HooksOnDelta, BasePrePostModelHooks):
    pass


class TestHookRefs(HooksOnDelta, BaseHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(HooksOnDelta, BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(
    HooksOnDelta, BasePrePostModelHooksOnSeedsPlusPrefixed
):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    HooksOnDelta, BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(HooksOnDelta, BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostModelHooksInConfig(HooksOnDelta, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(HooksOnDelta, BasePrePostModelHooksInConfigWithCount):
    pass


class TestPrePostModelHooksInConfigKwargs(HooksOnDelta, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(HooksOnDelta, BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(HooksOnDelta, BasePrePostRunHooks):
    pass


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
