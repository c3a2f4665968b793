"""A profile for a Spark Thrift server: refused in one sentence, and never shown with its password."""

from typing import Any

import pytest
from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials
from dbt_common.exceptions import DbtRuntimeError


def credentials(**keys: Any) -> DeltaMaintCredentials:
    data = {"schema": "analytics", "method": "thrift", **keys}
    DeltaMaintCredentials.validate(data)
    return DeltaMaintCredentials.from_dict(data)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({}, "method thrift needs `host`: name the Spark Thrift server"),
        ({"host": "h", "auth": "PLAIN"}, "auth is 'PLAIN': use one of NONE, NOSASL, LDAP"),
        ({"host": "h", "password": "x"}, "but there is no `auth`: remove it, or set `auth: LDAP`"),
        ({"host": "h", "auth": "LDAP"}, "but auth is LDAP: set it"),
        ({"host": "h", "auth": "KERBEROS"}, "set both or neither"),
        ({"host": "h", "warehouse": "/lake"}, "the server decides this"),
        ({"host": "h", "remote": "sc://h"}, "set `method: connect`"),
    ],
)
def test_a_bad_profile_is_refused_with_the_sentence_that_helps(
    keys: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DbtRuntimeError) as told:
        credentials(**keys)
    assert sentence in str(told.value)


def test_a_good_profile_needs_no_more_than_a_host() -> None:
    found = credentials(host="spark.example").thrift_settings()
    assert (found.shown, found.auth) == ("thrift://spark.example:10000", "NONE")
    assert found.user


def test_a_password_is_never_shown() -> None:
    found = credentials(host="h", auth="ldap", user="ada", password="canary-1")
    assert found.thrift_settings().password == "canary-1"
    assert "canary" not in repr(found.thrift_settings())
    assert "canary" not in found.unique_field
    assert "canary" not in str(dict(found.connection_info()))
