from __future__ import annotations

import pytest
from dbt.tests.adapter.python_model import test_spark
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import BasePySparkTests


class TestPythonModelTests(BasePythonModelTests):
    pass


class TestPythonIncrementalTests(BasePythonIncrementalTests):
    pass


class TestPythonMetaGetTests(BasePythonMetaGetTests):
    pass


class TestPythonEmptyTests(BasePythonEmptyTests):
    pass


class TestPythonSampleTests(BasePythonSampleTests):
    pass


class TestPySpark(BasePySparkTests):
    """Koalas became pandas-on-Spark and has no release for this Python: same model, new name."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "pandas_df.py": test_spark.PANDAS_MODEL,
            "pyspark_df.py": test_spark.PYSPARK_MODEL,
            "pandas_on_spark_df.py": test_spark.PANDAS_ON_SPARK_MODEL,
            "koalas_df.py": test_spark.KOALAS_MODEL.replace("databricks.koalas", "pyspark.pandas"),
        }
