"""A profile for Spark Connect: refused in one sentence, and never shown with its token."""

from typing import Any

import pytest
from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
from dbt_common.exceptions import DbtRuntimeError


def credentials(**keys: Any) -> DeltaMaintCredentials:
    data = {"schema": "analytics", "method": "connect", **keys}
    DeltaMaintCredentials.validate(data)
    return DeltaMaintCredentials.from_dict(data)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({}, "needs `remote`: name the server, such as sc://host:15002"),
        ({"remote": "thrift://spark:10000"}, "begins with thrift, but"),
        ({"remote": "spark:15002"}, "begins with nothing, but"),
        ({"remote": "sc://"}, "names no host"),
        ({"remote": "sc://spark:many"}, "cannot be read"),
        ({"remote": "sc://spark/lake"}, "without one"),
        ({"remote": "sc://spark/;token"}, "write name=value"),
        ({"remote": "sc://spark/;tokn=abc"}, "unknown parameter 'tokn'"),
        ({"remote": "sc://spark/;session_id=1"}, "gets a session of its own"),
        ({"remote": "sc://spark", "host": "spark"}, "the server is named by `remote`"),
        ({"remote": "sc://spark", "warehouse": "/lake"}, "the server decides this"),
        ({"remote": "sc://spark", "method": "session"}, "set `method: connect`"),
    ],
)
def test_a_bad_profile_is_refused_with_the_sentence_that_helps(
    keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DbtRuntimeError) as told:
        credentials(**keys)
    assert sentence in str(told.value)


def test_a_token_is_never_shown() -> None:
    found = credentials(remote="sc://spark.example:443/;use_ssl=true;token=canary-1;x-team=shop")
    assert "canary" not in repr(found.connect_settings())
    assert "canary" not in found.unique_field
    assert "canary" not in str(dict(found.connection_info()))
    assert found.connect_settings().shown == (
        "sc://spark.example:443/;use_ssl=true;token=***;x-team=***"
    )
