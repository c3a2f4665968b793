import doctest

import pytest
from dbt.adapters.delta_maint.core import sql_text
from hypothesis import given
from hypothesis import strategies as st


def test_the_examples_in_the_documentation_hold() -> None:
    assert doctest.testmod(sql_text).failed == 0


def test_an_empty_identifier_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        sql_text.identifier("")


@given(st.text(min_size=1))
def test_an_identifier_ends_only_at_its_last_backtick(name: str) -> None:
    quoted = sql_text.identifier(name)
    assert quoted[0] == quoted[-1] == "`"
    assert quoted[1:-1].replace("``", "") == name.replace("`", "")


@given(st.text())
def test_a_literal_has_no_unescaped_quote_inside(text: str) -> None:
    inside = sql_text.string_literal(text)[1:-1]
    assert "'" not in inside.replace("\\\\", "").replace("\\'", "")


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "true"), (False, "false"), (3, "3"), ("x", "x")]
)
def test_yaml_values_become_property_text(value: object, expected: str) -> None:
    assert sql_text.property_text(value) == expected
