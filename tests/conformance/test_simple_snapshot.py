from __future__ import annotations

from typing import Any, ClassVar

import pytest
from dbt.tests.adapter.simple_snapshot import test_various_configs
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import (
    BaseSnapshotNewRecordDbtValidToCurrent,
)
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import (
    BaseSnapshotNewRecordTimestampMode,
)
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)

from tests.conformance.dialect import PostgresFixtures

pytestmark = pytest.mark.portable(in_all=True)


class SnapshotsOnDelta(PostgresFixtures):
    """Delta adds a column without its default; the rows that are there get the value afterwards."""

    words: ClassVar[dict[str, str]] = {
        "dummy_column VARCHAR(50) default 'dummy_value';": (
            "dummy_column VARCHAR(50); "
            "update {database}.{schema}.src_customers set dummy_column = 'dummy_value';"
        ),
        "varchar(200) default null": "varchar(200)",
    }


class TestSimpleSnapshot(SnapshotsOnDelta, BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(SnapshotsOnDelta, BaseSnapshotCheck):
    pass


class TestSnapshotNewRecordCheckMode(SnapshotsOnDelta, BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordTimestampMode(SnapshotsOnDelta, BaseSnapshotNewRecordTimestampMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrent(
    SnapshotsOnDelta, BaseSnapshotNewRecordDbtValidToCurrent
):
    pass


class TestSnapshotEphemeralHardDeletes(SnapshotsOnDelta, BaseSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnTimestampStrategy(
    SnapshotsOnDelta, BaseSnapshotNewColumnTimestampStrategy
):
    pass


class TestSnapshotNewColumnSpecificCheckCols(
    SnapshotsOnDelta, BaseSnapshotNewColumnSpecificCheckCols
):
    pass


class TestSnapshotNewColumnWithDeletes(SnapshotsOnDelta, BaseSnapshotNewColumnWithDeletes):
    pass


class TestSnapshotColumnNames(SnapshotsOnDelta, BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(
    SnapshotsOnDelta, BaseSnapshotColumnNamesFromDbtProject
):
    pass


class TestSnapshotInvalidColumnNames(SnapshotsOnDelta, BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(SnapshotsOnDelta, BaseSnapshotDbtValidToCurrent):
    @pytest.fixture(autouse=True)
    def rows_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The base counts on the order in which Postgres keeps rows: here it is asked for."""
        run_sql = test_various_configs.run_sql_with_adapter

        def ordered(adapter: Any, sql: str, fetch: str) -> Any:
            return run_sql(adapter, f"{sql} order by id, test_valid_to", fetch)

        monkeypatch.setattr(test_various_configs, "run_sql_with_adapter", ordered)


class TestSnapshotMultiUniqueKey(SnapshotsOnDelta, BaseSnapshotMultiUniqueKey):
    pass
