from __future__ import annotations

from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes

from tests.conformance.dialect import PostgresFixtures


class TestColumnTypes(PostgresFixtures, BasePostgresColumnTypes):
    pass
