from __future__ import annotations

from dbt.tests.adapter.functions.test_udfs import (
    CanFindScalarFunctionRelation,
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)


class TestUDFsBasic(UDFsBasic):
    def check_function_volatility(self, sql: str) -> None:
        super().check_function_volatility(sql)
        assert "DETERMINISTIC" not in sql


class TestDeterministicUDF(DeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" not in sql
        assert "DETERMINISTIC" in sql


class TestStableUDF(StableUDF):
    """Spark knows only the two others: dbt warns and leaves it out."""

    def check_function_volatility(self, sql: str) -> None:
        assert "STABLE" not in sql
        assert "DETERMINISTIC" not in sql


class TestNonDeterministicUDF(NonDeterministicUDF):
    def check_function_volatility(self, sql: str) -> None:
        assert "NOT DETERMINISTIC" in sql


class TestErrorForUnsupportedType(ErrorForUnsupportedType):
    pass


class TestPythonUDFNotSupported(PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


class TestPythonUDFEntryPointRequired(PythonUDFEntryPointRequired):
    pass


class TestSqlUDFDefaultArgSupport(SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestCanFindScalarFunctionRelation(CanFindScalarFunctionRelation):
    pass
