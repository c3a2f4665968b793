from __future__ import annotations

from typing import ClassVar

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)

from tests.conformance.dialect import PostgresFixtures


class ColumnsEqual(PostgresFixtures):
    """The same table of values and types, in Spark's types."""

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self, schema_int_type, int_type, string_type):
        return [
            ["1", schema_int_type, int_type],
            ["'1'", string_type, string_type],
            ["true", "boolean", "boolean"],
            ["timestamp '2013-11-03 00:00:00-07'", "timestamp", "timestamp"],
            ["date '2013-11-03'", "date", "date"],
            ["array('a', 'b', 'c')", "array<string>", "array<string>"],
            ["array(1, 2, 3)", "array<int>", "array<int>"],
            ["cast('1' as decimal(10, 0))", "decimal(10,0)", "decimal(10,0)"],
            [
                "named_struct('bar', 'baz', 'balance', 7.77D)",
                "struct<bar:string,balance:double>",
                "struct<bar:string,balance:double>",
            ],
        ]


class Ddl(PostgresFixtures):
    """Delta takes constraints as table properties of the one statement that creates the table."""

    # Parentheses are the user's: they stay.
    properties: ClassVar[str]
    query: ClassVar[str] = """
        -- depends_on: <foreign_key_model_identifier>
        select 'blue' as color, 1 as id, '2019-01-01' as date_day
    """
    columns: ClassVar[str] = "`id`, `color`, `date_day`"

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return f"""
            create or replace table <model_identifier> using delta
            tblproperties ({self.properties})
            as select {self.columns} from ({self.query}) as model_subq
        """


class Rollback(PostgresFixtures):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id_not_null", "id : null"]


class TestTableConstraintsColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    pass


class ColumnDdl(Ddl):
    properties = (
        "'delta.constraints.id_not_null' = '`id` is not null', "
        "'delta.constraints.check_971d06b5' = '(id > 0)', "
        "'delta.constraints.check_41ba5126' = 'id >= 1'"
    )


class TestConstraintsRuntimeDdlEnforcement(ColumnDdl, BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    ColumnDdl, BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


class TestModelConstraintsRuntimeEnforcement(Ddl, BaseModelConstraintsRuntimeEnforcement):
    properties = (
        "'delta.constraints.check_971d06b5' = '(id > 0)', "
        "'delta.constraints.check_41ba5126' = 'id >= 1', "
        "'delta.constraints.id_not_null' = '`id` is not null'"
    )


class TestConstraintQuotedColumn(Ddl, BaseConstraintQuotedColumn):
    words: ClassVar[dict[str, str]] = {'"from"': "`from`"}
    properties = (
        "'delta.constraints.check_7a7cced1' = '(`from` = \\'blue\\')', "
        "'delta.constraints.id_not_null' = '`id` is not null', "
        "'delta.constraints.from_not_null' = '`from` is not null'"
    )
    query = "select 'blue' as `from`, 1 as id, '2019-01-01' as date_day"
    columns = "`id`, `from`, `date_day`"


class TestConstraintsRollback(Rollback, BaseConstraintsRollback):
    pass


class TestIncrementalConstraintsRollback(Rollback, BaseIncrementalConstraintsRollback):
    """Rows are added to a table whose schema says NOT NULL; its CHECKs, which NULL breaks too, are told first."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id > 0", "id : null"]


class TestTableContractSqlHeader(PostgresFixtures, BaseTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(PostgresFixtures, BaseIncrementalContractSqlHeader):
    pass


class TestIncrementalForeignKeyConstraint(BaseIncrementalForeignKeyConstraint):
    pass
