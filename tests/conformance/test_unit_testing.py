from __future__ import annotations

import pytest
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)

from tests.conformance.dialect import PostgresFixtures


class TestUnitTestCaseInsensitivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestUnitTestQuotedReservedWordColumnNames(
    PostgresFixtures, BaseUnitTestQuotedReservedWordColumnNames
):
    words = {'"GROUP"': "`GROUP`"}


class TestUnitTestingTypes(BaseUnitTestingTypes):
    """Spark has no json type and no type with a time zone; it has arrays, structs and maps."""

    @pytest.fixture
    def data_types(self):
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'1'", "1"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["'1'::numeric", "1"],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            ["array('a', 'b', 'c')", '\'array("a", "b", "c")\''],
            ["map('10', 't', '15', 'f')", """'map("10", "t", "15", "f")'"""],
            ['named_struct("a", 1, "b", 2)', """'named_struct("a", 1, "b", 2)'"""],
        ]


class TestUnitTestingVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass
