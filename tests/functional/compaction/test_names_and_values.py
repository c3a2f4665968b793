"""Names and values that SQL text could misread: exactly the chosen partitions are touched, by one statement."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.delta_maint.core.sql_text import identifier, string_literal
from dbt.adapters.delta_maint.core.table import PartitionKey

from tests.functional.compaction.small_table import SmallTable

VALUES = [
    "plain", " ", "it's", 'd"q', "back\\slash", "new\nline", "50%", "a/b", "a=b", "{x}", "`tick`",
    "'; drop table t; --", "/* c */", "${spark.app.name}", "{{ this }}", "emoji 🙂", "x' or '1'='1", None,
]  # fmt: skip
COLUMNS = ["p", "o`p; drop table t --"]


def touched(table: SmallTable) -> set[PartitionKey]:
    return {key for key, files in table.files().items() if files == 1}


@pytest.mark.parametrize("column", COLUMNS)
def test_exactly_the_chosen_partitions_are_rewritten(spark: Any, column: str) -> None:
    name = identifier(column)
    table = SmallTable.create(
        spark,
        columns=f"id bigint, {name} string",
        layout=f"partitioned by ({name})",
        properties="'delta.columnMapping.mode' = 'name'",
    )
    literals = ["null" if v is None else string_literal(v) for v in VALUES]
    values = ", ".join(f"({n}, {literal})" for n, literal in enumerate(literals))
    for _ in range(2):
        table.run(
            f"insert into {{t}} values {values}".replace("{x}", "{{x}}")
            .replace("{{ this }}", "{{{{ this }}}}")
            .replace("${spark.app.name}", "${{spark.app.name}}")
        )
    before = table.rows()
    keys = sorted(table.files(), key=str)
    chosen = frozenset(keys[::2])
    result = table.compact(touched=chosen)
    assert result.errors == []
    assert touched(table) == chosen
    assert table.rows() == before
    assert table.operations()[-2:] == ["WRITE", "OPTIMIZE"]
    assert table.compact(touched=frozenset(keys) - chosen).errors == []
    assert touched(table) == frozenset(keys)
    assert table.rows() == before


def test_values_of_every_type_name_their_partition(spark: Any) -> None:
    columns = {
        "i": ("int", "-7"),
        "d": ("date", "date'2026-01-02'"),
        "ts": ("timestamp", "timestamp'2026-01-02 03:04:05.123456'"),
        "n": ("timestamp_ntz", "timestamp_ntz'2026-01-02 03:04:05'"),
        "m": ("decimal(10,2)", "1.50"),
        "b": ("boolean", "true"),
        "f": ("double", "0.1"),
        "l": ("bigint", "9007199254740993"),
    }
    table = SmallTable.create(
        spark,
        columns="id bigint, " + ", ".join(f"{n} {kind}" for n, (kind, _) in columns.items()),
        layout=f"partitioned by ({', '.join(columns)})",
    )
    given = ", ".join(value for _, value in columns.values())
    nulls = ", ".join(["null"] * len(columns))
    for n in range(2):
        table.run(f"insert into {{t}} values ({n}, {given}), ({n}, {nulls})")
    keys = sorted(table.files(), key=str)
    assert len(keys) == 2
    for key in keys:
        assert table.compact(touched=frozenset({key})).errors == []
        assert table.files()[key] == 1


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("binary", ["X'616263'", "X'01'", "X'C3BC'", "X''", "null"]),
        ("double", ["double('NaN')", "double('Infinity')", "-1.5e300", "0.0", "null"]),
        ("decimal(38,18)", ["-0.000000000000000001", "1", "null"]),
        ("date", ["date'0001-01-01'", "date'9999-12-31'", "null"]),
        ("timestamp", ["timestamp'1969-12-31 23:59:59.999999'", "timestamp'2026-03-29 02:30:00'"]),
        ("boolean", ["true", "false", "null"]),
        ("varchar(5)", ["'a  '", "' a'", "'null'", "null"]),
    ],
)
def test_odd_values_of_a_type_name_their_partition_and_no_other(
    spark: Any, kind: str, values: list[str]
) -> None:
    table = SmallTable.create(spark, columns=f"id bigint, p {kind}", layout="partitioned by (p)")
    for n in range(2):
        table.run(f"insert into {{t}} values {', '.join(f'({n}, {value})' for value in values)}")
    before = str(table.rows())  # NaN equals nothing, not even itself
    keys = sorted(table.files(), key=str)
    for done, key in enumerate(keys, start=1):
        assert table.compact(touched=frozenset({key})).errors == []
        assert touched(table) == frozenset(keys[:done])
    assert str(table.rows()) == before


def test_a_partition_column_with_a_dot_is_refused_and_nothing_is_rewritten(spark: Any) -> None:
    table = SmallTable.create(
        spark,
        columns="id bigint, `a.b` int",
        layout="partitioned by (`a.b`)",
        properties="'delta.columnMapping.mode' = 'name'",
    )
    for _ in range(2):
        table.run("insert into {t} values (1, 1), (2, 2)")
    result = table.compact(touched=frozenset({("1",)}))
    assert "has a dot in its name" in result.sentence()
    assert "OPTIMIZE" not in table.operations()


@pytest.mark.parametrize("is_named", [False, True])
def test_a_folder_of_any_name_is_read_and_compacted(
    spark: Any, tmp_path: Path, is_named: bool
) -> None:
    folder = tmp_path / "a b" / "50% it's [c] {d,e} #f +g é"
    table = SmallTable(spark.newSession(), f"delta.{identifier(str(folder))}")
    if is_named:
        table.name = f"t_{uuid.uuid4().hex}"
        place = f" location {string_literal(folder.as_uri())}"
        table.spark.sql(f"create table {table.name} (id bigint, p int) using delta{place}")
    else:
        table.spark.sql(f"create table {table.name} (id bigint, p int) using delta")
    table.spark.sql(f"insert into {table.name} select id, 1 from range(0, 8, 1, 4)")
    result = table.compact()
    assert result.errors == []
    assert table.files() == {(): 1}
    assert table.spark.sql(f"select count(*) from {table.name}").collect()[0][0] == 8


def test_with_column_mapping_only_the_modified_partition_is_rewritten(spark: Any) -> None:
    """Delta's own auto compaction rewrites the others too."""
    table = SmallTable.create(
        spark, layout="partitioned by (p)", properties="'delta.columnMapping.mode' = 'name'"
    )
    for p in ("1", "2", "3", "4"):
        table.append(2, p=p)
    table.compact(touched=frozenset({("1",)}))
    assert table.files() == {("1",): 1, ("2",): 2, ("3",): 2, ("4",): 2}
