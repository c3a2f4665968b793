"""What stands in the CSV file stands in the table, exactly."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, write_file

PEOPLE = """id,name,note,big,amount,born,seen,active
1,O'Hara,"two
lines",9007199254740993,12.5,1999-12-31,2024-02-29 23:59:59,true
2,,"say ""hi"" 100%",9223372036854775807,,,,false
3,Łódź 🚲,back\\slash,-1,0.1,2000-01-01,2024-01-01 00:00:00,
"""
TYPED = """id,price,day,code,wide,at
1,12345678901234567890.12,2024-02-29,007,1,2024-01-01 00:00:00.123456
2,,,,2,
"""
SEMICOLON = "id;name\n1;a,b\n"
RESERVED = "order,Mixed Case,dotted.name\n1,2,3\n"


def rows(project: Any, name: str, columns: str = "*") -> list[tuple[Any, ...]]:
    sql = f"select {columns} from {project.test_schema}.{name} order by 1"
    return [tuple(row) for row in project.run_sql(sql, fetch="all")]


@pytest.mark.portable
class TestSeeds:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {
            "people.csv": PEOPLE,
            "typed.csv": TYPED,
            "semicolon.csv": SEMICOLON,
            "reserved.csv": RESERVED,
        }

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "seeds": {
                "test": {
                    "typed": {
                        "+column_types": {
                            "price": "decimal(38,2)",
                            "day": "date",
                            "code": "string",
                            "wide": "smallint",
                            "at": "timestamp",
                        }
                    },
                    "semicolon": {"+delimiter": ";"},
                    "reserved": {
                        "+quote_columns": True,
                        # Delta takes a space in a column name only with column mapping.
                        "+tblproperties": {"delta.columnMapping.mode": "name"},
                    },
                }
            }
        }

    @pytest.fixture(scope="class", autouse=True)
    def seeded(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 4

    def test_nulls_quotes_newlines_and_big_integers_survive(self, project: Any) -> None:
        assert rows(project, "people", "id, name, note, big, amount, born, seen, active") == [
            (
                1,
                "O'Hara",
                "two\nlines",
                9007199254740993,
                12.5,
                dt.date(1999, 12, 31),
                dt.datetime(2024, 2, 29, 23, 59, 59),
                True,
            ),
            (2, None, 'say "hi" 100%', 9223372036854775807, None, None, None, False),
            (
                3,
                "Łódź 🚲",
                "back\\slash",
                -1,
                0.1,
                dt.date(2000, 1, 1),
                dt.datetime(2024, 1, 1),
                None,
            ),
        ]

    def test_column_types_are_kept_to_the_last_digit(self, project: Any) -> None:
        assert rows(project, "typed") == [
            (
                1,
                Decimal("12345678901234567890.12"),
                dt.date(2024, 2, 29),
                "007",
                1,
                dt.datetime(2024, 1, 1, 0, 0, 0, 123456),
            ),
            (2, None, None, None, 2, None),
        ]

    def test_a_delimiter_is_honoured(self, project: Any) -> None:
        assert rows(project, "semicolon") == [(1, "a,b")]

    def test_reserved_words_spaces_and_dots_are_names_like_others(self, project: Any) -> None:
        assert rows(project, "reserved", "`order`, `Mixed Case`, `dotted.name`") == [(1, 2, 3)]

    def test_the_table_is_delta_without_being_asked(self, project: Any) -> None:
        detail = project.run_sql(f"describe detail {project.test_schema}.people", fetch="one")
        assert detail[0] == "delta"

    def test_seeding_again_replaces_the_rows(self, project: Any) -> None:
        before = rows(project, "people")
        run_dbt(["seed", "--select", "people"])
        run_dbt(["seed", "--select", "people", "--full-refresh"])
        assert rows(project, "people") == before


@pytest.mark.portable
class TestFailingSeed:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"stock.csv": "id,count\n1,5\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"test": {"stock": {"+column_types": {"count": "int"}}}}}

    def test_a_value_that_does_not_fit_is_named_and_the_old_table_stays(self, project: Any) -> None:
        run_dbt(["seed"])
        write_file("id,count\n1,many\n", project.project_root, "seeds", "stock.csv")
        results = run_dbt(["seed", "--full-refresh"], expect_pass=False)
        assert "'many', which is not a int" in results[0].message
        assert rows(project, "stock") == [(1, 5)]


@pytest.mark.portable(in_all=True)
class TestLargeSeed:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        lines = "".join(f"{n},name {n},{n}.25\n" for n in range(20_000))
        return {"large.csv": "id,name,amount\n" + lines}

    def test_twenty_thousand_rows_load(self, project: Any) -> None:
        results = run_dbt(["seed"])
        assert results[0].adapter_response["rows_affected"] == 20_000
        total = project.run_sql(
            f"select count(*), sum(amount) from {project.test_schema}.large", fetch="one"
        )
        assert tuple(total) == (20_000, sum(n + 0.25 for n in range(20_000)))


@pytest.mark.portable
class TestEmptySeed:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"nothing.csv": "id,name\n"}

    def test_a_seed_without_rows_is_an_empty_table(self, project: Any) -> None:
        run_dbt(["seed"])
        assert rows(project, "nothing") == []
        assert not list(Path(project.project_root).glob("metastore_db"))
