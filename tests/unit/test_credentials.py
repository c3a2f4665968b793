"""A bad profile is refused in one sentence; a minimal one is enough."""

from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
from dbt_common.exceptions import DbtRuntimeError


def credentials(**keys: Any) -> DeltaMaintCredentials:
    data = {"schema": "analytics", **keys}
    data = DeltaMaintCredentials.translate_aliases(data)
    DeltaMaintCredentials.validate(data)
    return DeltaMaintCredentials.from_dict(data)


def test_a_schema_is_all_a_profile_needs(tmp_path: Path) -> None:
    minimal = credentials()
    settings = minimal.session_settings(tmp_path)
    assert minimal.method.value == "session"
    assert minimal.database == "spark_catalog"
    assert settings.warehouse == str(tmp_path / ".delta_maint" / "warehouse")
    assert settings.master == "local[*]"
    assert settings.catalog.is_embedded


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"schema": None}, "no `schema`"),
        ({"warehous": "x"}, "did you mean `warehouse`"),
        ({"flavour": "x"}, "unknown key `flavour`"),
        ({"host": "spark.example"}, "remove it, or set `method: thrift`"),
        ({"token": "abc"}, "remove it, or set `method: thrift`"),
        ({"startup": "quick"}, "auto, fast, standard"),
        ({"driver_memory": "lots"}, "such as 4g"),
        ({"catalog": "derby"}, "thrift://host:9083"),
        ({"catalog": "in_memory", "catalog_path": "x"}, "remove one of the two"),
        ({"warehouse": "s3a://bucket/lake"}, "set `catalog_path`"),
        (
            {
                "driver_memory": "2g",
                "server_side_parameters": {"spark.driver.memory": "3g"},
            },
            "keep one",
        ),
        (
            {"delta_jars": "x", "server_side_parameters": {"spark.jars.packages": "y"}},
            "keep one",
        ),
    ],
)
def test_a_bad_profile_is_refused_with_the_sentence_that_helps(
    keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DbtRuntimeError, match=sentence.replace("(", r"\(")):
        credentials(**keys)


def test_keys_of_the_session_are_refused_for_a_server() -> None:
    with pytest.raises(DbtRuntimeError, match="the server decides"):
        credentials(method="thrift", host="h", warehouse="x")


def test_a_statement_that_may_have_committed_is_never_sent_again() -> None:
    assert credentials().query_retries == 0
    with pytest.raises(DbtRuntimeError, match="may already have committed: remove it"):
        credentials(method="thrift", host="h", query_retries=1)


@pytest.mark.parametrize(("given", "found"), [(None, "false"), (True, "true"), ("true", "true")])
def test_ansi_mode_is_off_unless_the_profile_says_otherwise(given: Any, found: str) -> None:
    parameters = {} if given is None else {"spark.sql.ansi.enabled": given}
    made = credentials(server_side_parameters=parameters)
    assert made.server_side_parameters["spark.sql.ansi.enabled"] == found


@pytest.mark.parametrize(
    ("warehouse", "expected"),
    [
        ("lake", "{root}/lake"),
        ("/data/lake", "/data/lake"),
        ("file:/data/lake", "file:/data/lake"),
        ("s3a://bucket/lake/", "s3a://bucket/lake"),
    ],
)
def test_a_warehouse_becomes_absolute(tmp_path: Path, warehouse: str, expected: str) -> None:
    made = credentials(warehouse=warehouse, catalog="in_memory")
    assert made.session_settings(tmp_path).warehouse == expected.format(root=tmp_path)


def test_a_profile_can_be_written_out_again() -> None:
    assert credentials().to_dict()["method"] == "session"
