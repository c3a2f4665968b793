"""The classes and tests of dbt-tests-adapter that open-source Spark and Delta cannot run, and why.

Keys are `area.Class` or `area.Class.test`. Everything else of the package is run: test_completeness.py
fails when a class is neither run nor here, or both.
"""

from __future__ import annotations

ABSTRACT = "abstract: has no models of its own, its subclasses run"
GRANTS = (
    "Spark has no GRANT ([INVALID_STATEMENT_OR_CLAUSE] The statement or clause: GRANT is not "
    "valid): rights belong to the storage and the metastore"
)
MATERIALIZED_VIEW = (
    "Spark makes materialized views only inside a pipeline "
    "([UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION])"
)
JAVASCRIPT = "Spark has no functions in JavaScript"
PYTHON_FUNCTION = "Spark's CREATE FUNCTION takes SQL and Java, not Python"
AGGREGATE = "a SQL function of Spark returns one value per row; aggregates need Java"
TIME_ZONE = "Spark has no timestamp type that carries a time zone: a timestamp is an instant"
NEWER_DBT = "dbt-core 1.11 has no `seed --empty`"

NOT_APPLICABLE: dict[str, str] = {
    "caching.BaseCachingTest": ABSTRACT,
    "constraints.BaseConstraintsColumnsEqual": ABSTRACT,
    "constraints.BaseContractSqlHeader": ABSTRACT,
    "catalog.CatalogRelationTypes.test_relation_types_populate_correctly[my_materialized_view]": (
        MATERIALIZED_VIEW
    ),
    "empty.BaseTestEmptySeedFlag.test_build_empty_with_seed": NEWER_DBT,
    "empty.BaseTestEmptySeedFlag.test_seed_empty_creates_table_with_zero_rows": NEWER_DBT,
    "empty.BaseTestEmptySeedFlag.test_seed_empty_preserves_column_types": NEWER_DBT,
    "functions.BasicJSAggregateUDF": JAVASCRIPT,
    "functions.BasicJSUDF": JAVASCRIPT,
    "functions.JSAggregateUDFVolatilityIgnored": JAVASCRIPT,
    "functions.JSUDFDefaultArgSupport": JAVASCRIPT,
    "functions.JSUDFDeterministicVolatility": JAVASCRIPT,
    "functions.JSUDFMultiLineBody": JAVASCRIPT,
    "functions.JSUDFNonDeterministicVolatility": JAVASCRIPT,
    "functions.JSUDFStableVolatilityWarns": JAVASCRIPT,
    "functions.BasicPythonUDAF": PYTHON_FUNCTION,
    "functions.PythonUDAFDefaultArgSupport": PYTHON_FUNCTION,
    "functions.PythonUDFDefaultArgSupport": PYTHON_FUNCTION,
    "functions.PythonUDFSupported": PYTHON_FUNCTION,
    "functions.PythonUDFVolatilitySupport": PYTHON_FUNCTION,
    "functions.PythonUDFWithPackagesSupported": PYTHON_FUNCTION,
    "functions.BasicSQLUDAF": AGGREGATE,
    "functions.UDAFBase": ABSTRACT,
    "grants.BaseIncrementalGrants": GRANTS,
    "grants.BaseInvalidGrants": GRANTS,
    "grants.BaseModelGrants": GRANTS,
    "grants.BaseSeedGrants": GRANTS,
    "grants.BaseSnapshotGrants": GRANTS,
    "materialized_view.MaterializedViewBasic": MATERIALIZED_VIEW,
    "materialized_view.MaterializedViewChanges": MATERIALIZED_VIEW,
    "materialized_view.MaterializedViewChangesApplyMixin": MATERIALIZED_VIEW,
    "materialized_view.MaterializedViewChangesContinueMixin": MATERIALIZED_VIEW,
    "materialized_view.MaterializedViewChangesFailMixin": MATERIALIZED_VIEW,
    "simple_copy.SimpleCopyBase.test_simple_copy_with_materialized_views": MATERIALIZED_VIEW,
    "utils.BaseCurrentTimestampAware.test_current_timestamp_type": TIME_ZONE,
    "utils.BaseArrayUtils": ABSTRACT,
    "utils.BaseDataTypeMacro": ABSTRACT,
}
