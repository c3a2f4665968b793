from __future__ import annotations

import getpass

import pytest
from dbt.adapters.delta_maint.catalog_rows import STATISTICS
from dbt.tests.adapter.basic import expected_catalog as catalogs
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.util import AnyInteger
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

pytestmark = pytest.mark.portable


class TestAdapterMethod(BaseAdapterMethod):
    pass


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


def statistics(**values):
    """What a Delta table's catalog entry counts."""
    counted = {
        key: {
            "id": key,
            "label": label,
            "value": values.get(key, AnyInteger()),
            "include": True,
            "description": text,
        }
        for key, (label, text) in STATISTICS.items()
    }
    return {**counted, "has_stats": {**catalogs.no_stats()["has_stats"], "value": True}}


WORDS = {
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
}


@pytest.fixture(scope="class")
def owner(method):
    """A Hive catalog, which the Thrift server has, keeps the user of its process."""
    return getpass.getuser() if method == "thrift" else None


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project, owner):
        return catalogs.base_expected_catalog(
            project,
            **WORDS,
            role=owner,
            model_stats=catalogs.no_stats(),
            seed_stats=statistics(num_rows=1),
        )


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project, owner):
        return catalogs.expected_references_catalog(
            project,
            **WORDS,
            role=owner,
            bigint_type="bigint",
            model_stats=statistics(num_rows=1, num_files=1),
            view_summary_stats=catalogs.no_stats(),
        )


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    def expected(self, project, owner, name, kind, stats):
        types = {
            "id": "bigint",
            "first_name": "string",
            "email": "string",
            "ip_address": "string",
            "updated_at": "timestamp",
        }
        return CatalogTable(
            metadata=TableMetadata(
                type=kind,
                schema=project.test_schema,
                name=name,
                database=project.database,
                owner=owner,
            ),
            columns={
                column: ColumnMetadata(type=type_, index=index, name=column)
                for index, (column, type_) in enumerate(types.items(), start=1)
            },
            stats={key: StatsItem(**item) for key, item in stats.items()},
        )

    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project, owner):
        stats = statistics(num_rows=1, num_files=1)
        return self.expected(project, owner, "my_seed", "table", stats)

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project, owner):
        return self.expected(project, owner, "my_view_model", "view", catalogs.no_stats())


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass
