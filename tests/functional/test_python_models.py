"""Python models run in the connection's own session and take the same path as SQL models."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

NUMBERS = "select id, id * 2 as twice from range(10)"

SPARK = """
def model(dbt, spark):
    dbt.config(materialized="table")
    frame = dbt.ref("numbers")
    return frame.withColumn("scaled", frame.twice * dbt.config.get("factor"))
"""
PANDAS = """
import pandas as pd

def model(dbt, spark):
    dbt.config(materialized="table")
    frame = dbt.ref("numbers").toPandas()
    frame["half"] = frame["id"] / 2
    return frame
"""
PANDAS_ON_SPARK = """
import pyspark.pandas as ps

def model(dbt, spark):
    dbt.config(materialized="table")
    return ps.DataFrame({"a": [1, 2, 3]})
"""
ARROW = """
import pyarrow as pa

def model(dbt, spark):
    dbt.config(materialized="table")
    return pa.table({"a": [1, None], "b": ["x", "y"]})
"""
UDF = """
from pyspark.sql.functions import udf

def plus_one(x):
    return x + 1

def model(dbt, spark):
    dbt.config(materialized="table")
    frame = dbt.ref("numbers")
    return frame.select("id", udf(plus_one, "bigint")("id").alias("next"))
"""
INCREMENTAL = """
def model(dbt, spark):
    dbt.config(materialized="incremental", unique_key="id")
    frame = dbt.ref("numbers").select("id")
    if dbt.is_incremental:
        highest = spark.sql(f"select max(id) from {dbt.this}").first()[0]
        return spark.createDataFrame([(int(highest) + 1,)], "id bigint")
    return frame
"""


def count(project: Any, name: str, what: str = "count(*)") -> Any:
    return project.run_sql(f"select {what} from {project.test_schema}.{name}", fetch="one")[0]


@pytest.mark.portable(not_on=["thrift"])
class TestResults:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "numbers.sql": NUMBERS,
            "models.yml": "models: [{name: from_spark, config: {factor: 3}}]",
            "from_spark.py": SPARK,
            "from_pandas.py": PANDAS,
            "from_pandas_on_spark.py": PANDAS_ON_SPARK,
            "from_arrow.py": ARROW,
            "with_udf.py": UDF,
            "growing.py": INCREMENTAL,
        }

    @pytest.fixture(scope="class", autouse=True)
    def built(self, project: Any) -> None:
        run_dbt(["run"])

    @pytest.mark.parametrize(
        ("name", "what", "expected"),
        [
            ("from_spark", "sum(scaled)", 270),
            ("from_pandas", "sum(half)", 22.5),
            ("from_pandas_on_spark", "sum(a)", 6),
            ("from_arrow", "count(a)", 1),
            ("with_udf", "sum(next)", 55),
        ],
    )
    def test_every_kind_of_frame_becomes_a_table(
        self, project: Any, name: str, what: str, expected: Any
    ) -> None:
        assert count(project, name, what) == expected

    def test_the_table_is_delta(self, project: Any) -> None:
        detail = project.run_sql(f"describe detail {project.test_schema}.from_spark", fetch="one")
        assert detail[0] == "delta"

    def test_an_incremental_model_sees_its_own_table(self, project: Any) -> None:
        run_dbt(["run", "--select", "growing"])
        assert count(project, "growing") == 11
        run_dbt(["run", "--select", "growing"])
        assert count(project, "growing", "max(id)") == 11


FAILING = """import math


def model(dbt, spark):
    dbt.config(materialized="table")
    frame = dbt.ref("numbers")
    return math.sqrt(-1)
"""
MISSING_PACKAGE = """
def model(dbt, spark):
    dbt.config(materialized="table")
    import package_that_nobody_has
    return package_that_nobody_has.frame()
"""
WRONG_RESULT = """
def model(dbt, spark):
    dbt.config(materialized="table")
    return [1, 2, 3]
"""
BAD_COLUMN = """
def model(dbt, spark):
    dbt.config(materialized="table")
    return dbt.ref("numbers").select("no_such_column")
"""


@pytest.mark.portable(in_all=True, not_on=["thrift"])
class TestFaults:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "numbers.sql": NUMBERS,
            "failing.py": FAILING,
            "missing_package.py": MISSING_PACKAGE,
            "wrong_result.py": WRONG_RESULT,
            "bad_column.py": BAD_COLUMN,
        }

    @pytest.fixture(scope="class", autouse=True)
    def built(self, project: Any) -> None:
        run_dbt(["run", "--select", "numbers"])

    @pytest.mark.parametrize(
        ("name", "sentences"),
        [
            ("failing", ["math domain error", 'models/failing.py", line 7', "math.sqrt(-1)"]),
            ("missing_package", ["'package_that_nobody_has'", "pip install"]),
            ("wrong_result", ["returned builtins.list", "return a Spark, pandas"]),
            ("bad_column", ["UNRESOLVED_COLUMN", "no_such_column", "line 4"]),
        ],
    )
    def test_the_message_points_to_the_users_file_and_line(
        self, project: Any, method: str, name: str, sentences: list[str]
    ) -> None:
        results, output = run_dbt_and_capture(["run", "--select", name], expect_pass=False)
        for sentence in sentences:
            if sentence.startswith("line") and method != "session":
                continue  # a remote frame is analysed when it is used, not where it is written
            assert sentence in results[0].message
        assert "\tat " not in output
