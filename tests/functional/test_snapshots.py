"""Snapshots: hard deletes in all modes, new columns, several keys, names that need quoting."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

SNAPSHOTS = """
snapshots:
  - name: ignored
    relation: source('raw', 'people')
    config: {strategy: check, unique_key: id, check_cols: [name]}
  - name: invalidated
    relation: source('raw', 'people')
    config: {strategy: check, unique_key: id, check_cols: [name], hard_deletes: invalidate}
  - name: recorded
    relation: source('raw', 'people')
    config: {strategy: check, unique_key: id, check_cols: all, hard_deletes: new_record}
  - name: stamped
    relation: source('raw', 'people')
    config:
      strategy: timestamp
      unique_key: [id, kind]
      updated_at: changed
      hard_deletes: new_record
      dbt_valid_to_current: "timestamp '9999-12-31'"
      snapshot_meta_column_names: {dbt_is_deleted: gone, dbt_valid_to: until}
"""
SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: people}]
"""


@pytest.mark.portable
class TestSnapshots:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sources.yml": SOURCES}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshots.yml": SNAPSHOTS}

    def rows(self, project: Any, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in project.run_sql(sql, fetch="all")]

    def test_every_mode_of_hard_deletes_keeps_its_history(self, project: Any) -> None:
        people = f"{project.test_schema}.people"
        project.run_sql(
            f"create table {people} as select * from values "
            "(1, 'a', 'Ann', timestamp '2024-01-01'), (2, 'a', 'Bob', timestamp '2024-01-01') "
            "as t(id, kind, name, changed)"
        )
        run_dbt(["snapshot"])
        project.run_sql(f"update {people} set name = 'Ann B', changed = '2024-02-01' where id = 1")
        project.run_sql(f"delete from {people} where id = 2")
        for _ in range(2):  # the second changes nothing
            run_dbt(["snapshot"])
            schema = project.test_schema
            history = "id, name, dbt_valid_to is null"
            two = "where id = 2 order by dbt_valid_from, dbt_updated_at"
            assert self.rows(project, f"select {history} from {schema}.ignored order by 1, 3") == [
                (1, "Ann", False),
                (1, "Ann B", True),
                (2, "Bob", True),
            ]
            assert self.rows(project, f"select {history} from {schema}.invalidated {two}") == [
                (2, "Bob", False)
            ]
            assert self.rows(
                project, f"select {history}, dbt_is_deleted from {schema}.recorded {two}"
            ) == [(2, "Bob", False, "False"), (2, "Bob", True, "True")]
            assert self.rows(
                project, f"select id, name, year(until), gone from {schema}.stamped {two}"
            ) == [(2, "Bob", 2026, "False"), (2, "Bob", 9999, "True")]


ODD_SNAPSHOTS = """
snapshots:
  - name: by_expression
    relation: source('raw', 'order')
    config: &odd
      strategy: check
      unique_key: "coalesce(`id key`, 0) || `select`"
      check_cols: [FULL name, d.e]
      hard_deletes: invalidate
      tblproperties: {delta.columnMapping.mode: name}
  - name: by_all
    relation: source('raw', 'order')
    config: {<<: *odd, unique_key: id key, check_cols: all, hard_deletes: new_record}
  - name: by_names
    relation: source('raw', 'order')
    config: {<<: *odd, unique_key: [id key, select]}
  - name: by_time
    relation: source('raw', 'order')
    config:
      strategy: timestamp
      unique_key: "`id key`"
      updated_at: up at
      hard_deletes: invalidate
      tblproperties: {delta.columnMapping.mode: name}
"""


@pytest.mark.portable(in_all=True)
class TestOddSnapshots:
    """Names that need quotes, and NULL in keys and values."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"sources.yml": SOURCES.replace("people", "order")}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshots.yml": ODD_SNAPSHOTS}

    def test_odd_names_and_null_keys_keep_their_history(self, project: Any) -> None:
        people = f"{project.test_schema}.`order`"
        project.run_sql(
            f"create table {people} tblproperties ('delta.columnMapping.mode' = 'name') as "
            "select * from values (1, 'k', 'Ann', 1, timestamp '2024-01-01'), "
            "(2, 'k', 'Bob', null, timestamp '2024-01-01'), "
            "(null, 'n', 'Nul', null, timestamp '2024-01-01') "
            "as t(`id key`, `select`, `Full Name`, `d.e`, `up at`)"
        )
        run_dbt(["snapshot"])
        project.run_sql(
            f"update {people} set `Full Name` = 'Ann B', `up at` = '2024-02-01' where `id key` = 1"
        )
        project.run_sql(f"delete from {people} where `id key` = 2")
        for _ in range(2):  # the second changes nothing
            run_dbt(["snapshot"])
            for name in ("by_names", "by_all", "by_time", "by_expression"):
                rows = project.run_sql(
                    f"select `id key`, `Full Name`, dbt_valid_to is null from "
                    f"{project.test_schema}.{name} order by 1, 2, 3",
                    fetch="all",
                )
                gone = [(2, "Bob", False)] + [(2, "Bob", True)] * (name == "by_all")
                assert [tuple(row) for row in rows] == [
                    (None, "Nul", True),
                    (1, "Ann", False),
                    (1, "Ann B", True),
                    *gone,
                ], name
