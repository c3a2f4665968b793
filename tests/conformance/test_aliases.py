from __future__ import annotations

from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)

from tests.conformance.dialect import PostgresFixtures


class TestAliases(PostgresFixtures, BaseAliases):
    pass


class TestAliasErrors(PostgresFixtures, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(PostgresFixtures, BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(PostgresFixtures, BaseSameAliasDifferentDatabases):
    pass
