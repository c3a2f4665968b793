from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dbt.tests.adapter.simple_seed import seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import check_relations_equal, check_table_does_exist

from tests.conformance.dialect import PostgresFixtures

pytestmark = pytest.mark.portable(in_all=True)


class SeedsOnDelta(PostgresFixtures):
    """Whole numbers of a seed are bigint here."""

    words: ClassVar[dict[str, str]] = {"seed_id INTEGER": "seed_id bigint"}


class NothingCascades(SeedsOnDelta):
    """Dropping a table leaves the views on it in place: Spark has no DROP ... CASCADE for tables."""

    def _check_relation_end_state(self, run_result: Any, project: Any, exists: bool) -> None:
        assert len(run_result) == 1
        check_relations_equal(project.adapter, ["seed_actual", "seed_expected"])
        check_table_does_exist(project.adapter, "models__downstream_from_seed_actual")


class TestBasicSeeds(NothingCascades, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(NothingCascades, BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(SeedsOnDelta, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(SeedsOnDelta, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(SeedsOnDelta, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(SeedsOnDelta, BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(SeedsOnDelta, BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(SeedsOnDelta, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(SeedsOnDelta, BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        project.run_sql(seeds.seeds__expected_sql)
        path = Path(project.project_root) / "seeds" / "seed_bom.csv"
        path.write_bytes(BOM_UTF8 + seeds.seed__actual_csv.encode())


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Spark refuses a dot in a table's name ([INVALID_SCHEMA_OR_RELATION_NAME]): an alias helps."""
        return {
            "seeds": {
                "quote_columns": False,
                "test": {"seed.with.dots": {"+alias": "seed_with_dots"}},
            }
        }

    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory):
        """The class makes this folder and removes it: ours holds files of other tests."""
        return tmp_path_factory.mktemp("seeds") / "data"


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(PostgresFixtures, BaseSimpleSeedColumnOverride):
    words: ClassVar[dict[str, str]] = {"type: integer": "type: bigint"}

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return {
            "seed_id_str": "string",
            "looks_like_a_bool": "string",
            "looks_like_a_date": "string",
        }
