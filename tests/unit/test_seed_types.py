from decimal import Decimal

import agate
import pytest
from dbt.adapters.delta_maint.seeds import column_type, seed_rows


def table(*values: str | None) -> agate.Table:
    numbers = [None if value is None else Decimal(value) for value in values]
    return agate.Table([(n,) for n in numbers], ["n"], [agate.Number()])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "2", None), "bigint"),
        (("9007199254740993",), "bigint"),
        (("9223372036854775807",), "bigint"),
        (("9223372036854775808",), "decimal(38,0)"),
        (("1.5", "2"), "double"),
        (("12345678901234567.89",), "decimal(38,2)"),
        ((None,), "bigint"),
    ],
)
def test_a_column_gets_the_narrowest_type_that_keeps_its_numbers(
    values: tuple[str | None, ...], expected: str
) -> None:
    assert column_type(table(*values), 0) == expected


def test_numbers_travel_as_the_text_they_are() -> None:
    _, rows = seed_rows(table("12345678901234567.89", "1E+3", None))
    assert rows == [("12345678901234567.89",), ("1000",), (None,)]
