"""One isolated session per connection; errors that lead with Delta's own sentence."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from dbt.adapters.delta_maint import connections
from dbt.adapters.delta_maint.core.errors import DeltaMaintError
from dbt.adapters.delta_maint.environments.base import Cursor
from dbt.adapters.delta_maint.environments.session_cursor import SessionCursor
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtDatabaseError

from tests.long_query import LONG_QUERY


@pytest.mark.portable(in_all=True)
class TestConnections:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"one.sql": "select 1 as id"}

    @pytest.fixture
    def handles(self, project: Any) -> Any:
        """Two connections as two threads of dbt would have them."""
        environment = connections.environment_of(project.adapter.config.credentials)
        opened = [environment.open() for _ in range(2)]
        yield opened
        for handle in opened:
            handle.close()

    def run(self, handle: Any, sql: str, bindings: list[Any] | None = None) -> Cursor:
        cursor: Cursor = handle.cursor()
        cursor.execute(sql, bindings)
        return cursor

    def test_settings_views_and_current_schema_stay_in_their_connection(self, handles: Any) -> None:
        left, right = handles
        for handle, number in ((left, 3), (right, 7)):
            self.run(handle, f"set spark.sql.shuffle.partitions = {number}")
            self.run(handle, f"create or replace temporary view same_name as select {number} as n")
        self.run(left, "create schema if not exists only_left")
        self.run(left, "use only_left")
        for handle, number, schema in ((left, 3, "only_left"), (right, 7, "default")):
            conf = self.run(handle, "set spark.sql.shuffle.partitions").fetchone()
            assert conf is not None
            assert conf[1] == str(number)
            assert self.run(handle, "select n from same_name").fetchall() == [(number,)]
            assert self.run(handle, "select current_schema()").fetchall() == [(schema,)]
        self.run(right, "drop schema only_left")

    @pytest.mark.portable(only_on=["session"])
    def test_a_cancelled_connection_stops_at_once_and_the_other_goes_on(self, handles: Any) -> None:
        left, right = handles
        faults: list[BaseException] = []
        started = threading.Event()

        def long_query() -> None:
            cursor = left.cursor()
            try:
                cursor.execute(LONG_QUERY)
                started.set()
                cursor.fetchall()
            except BaseException as exc:
                faults.append(exc)

        thread = threading.Thread(target=long_query)
        thread.start()
        started.wait(30)
        tracker = left.spark.sparkContext.statusTracker()
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        left.cancel()
        thread.join(5)
        assert not thread.is_alive()
        assert faults
        with pytest.raises(DeltaMaintError, match="cancelled"):
            self.run(left, "select 1")
        assert self.run(right, "select 1").fetchall() == [(1,)]

    @pytest.mark.portable(only_on=["session"])
    def test_a_statement_that_is_cancelled_before_its_first_job_does_not_start_one(
        self, handles: Any
    ) -> None:
        handle = handles[0]

        def cancelled_while_it_is_planned() -> None:
            handle.mark_thread()
            handle.cancel()

        cursor = SessionCursor(handle.spark, cancelled_while_it_is_planned, lambda: None)
        began = time.monotonic()
        with pytest.raises(Exception, match=r"(?i)cancel"):
            cursor.execute(f"create or replace table never_made using delta as {LONG_QUERY}")
        assert time.monotonic() - began < 60
        handle.close()
        assert not handles[1].spark.catalog.tableExists("default.never_made")

    def test_who_opens_one_connection_at_once_gets_one_handle(self, project: Any) -> None:
        manager = project.adapter.connections
        with project.adapter.connection_named("shared"):
            connection = manager.get_thread_connection()
            barrier = threading.Barrier(2)
            found: list[Any] = []

            def open_it() -> None:
                barrier.wait()
                found.append(connection.handle)

            threads = [threading.Thread(target=open_it) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert found[0] is found[1]

    def test_parameters_are_values_never_text(self, handles: Any) -> None:
        nasty = "O'Hara % ? \\ `x`"
        cursor = self.run(
            handles[0], "select ? as a, ? as b, ? as c", [nasty, None, 9007199254740993]
        )
        assert cursor.fetchall() == [(nasty, None, 9007199254740993)]

    def test_a_cursor_holds_the_rows_of_its_last_statement_only(self, handles: Any) -> None:
        cursor = handles[0].cursor()
        cursor.execute("select 1 as a")
        assert cursor.fetchall() == [(1,)]
        cursor.execute("select 2 as b;")
        assert cursor.description[0][0] == "b"
        assert cursor.fetchone() == (2,)
        assert cursor.fetchone() is None

    def test_some_rows_can_be_fetched_of_many(self, handles: Any) -> None:
        cursor = self.run(handles[0], "select * from range(0, 10, 1, 1)")
        assert cursor.fetchmany(3) == [(0,), (1,), (2,)]
        assert cursor.fetchmany(3) == [(3,), (4,), (5,)]
        assert cursor.fetchone() == (6,)
        assert len(cursor.fetchall()) == 3
        assert cursor.fetchmany(3) == []

    def test_statements_that_count_rows_say_how_many(self, project: Any) -> None:
        name = f"{project.test_schema}.counted"
        with project.adapter.connection_named("count"):
            project.adapter.execute(f"create or replace table {name} as select * from range(10)")
            response, _ = project.adapter.execute(f"delete from {name} where id < 4")
            assert response.rows_affected == 4
            response, _ = project.adapter.execute(f"update {name} set id = 0 where id > 7")
            assert response.rows_affected == 2

    def test_a_query_nobody_fetches_is_still_run(self, project: Any) -> None:
        with (
            project.adapter.connection_named("hook"),
            pytest.raises(DbtDatabaseError, match="stop"),
        ):
            project.adapter.execute("select raise_error('stop here')", fetch=False)

    @pytest.mark.parametrize(
        ("sql", "sentence"),
        [
            ("select * from no_such_table", "[TABLE_OR_VIEW_NOT_FOUND] The table or view"),
            ("selec 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near"),
            ("select raise_error('told so')", "[USER_RAISED_EXCEPTION] told so"),
            (
                "create or replace table {schema}.c "
                "tblproperties ('delta.constraints.positive' = 'id > 0') as select -1 as id",
                "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive",
            ),
            (
                "merge into {schema}.m t using (select 1 as other) s on t.id = s.missing "
                "when matched then delete",
                "[DELTA_MERGE_UNRESOLVED_EXPRESSION] Cannot resolve s.missing",
            ),
            (
                "alter table {schema}.m drop column id",
                "[DELTA_UNSUPPORTED_DROP_COLUMN]",
            ),
        ],
    )
    def test_errors_lead_with_the_sentence_of_spark_or_delta(
        self, project: Any, sql: str, sentence: str
    ) -> None:
        with project.adapter.connection_named("fault"):
            project.adapter.execute(
                f"create or replace table {project.test_schema}.m as select 1 as id, 2 as n"
            )
            with pytest.raises(DbtDatabaseError) as told:
                project.adapter.execute(sql.format(schema=project.test_schema), fetch=True)
        message = str(told.value).split("\n", 1)[1].strip()
        assert message.startswith(sentence), message
        assert "\tat " not in message

    def test_dbt_works_with_it(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 1


@pytest.mark.portable(in_all=True)
class TestThreads:
    """dbt's own threads: equal temporary names, different settings, one run."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        model = (
            "{{{{ config(materialized='table', pre_hook=["
            '"set spark.sql.shuffle.partitions = {n}",'
            '"create or replace temporary view shared as select {n} as n"]) }}}}'
            "select n, cast('${{spark.sql.shuffle.partitions}}' as int) as conf from shared"
        )
        return {f"m{n}.sql": model.format(n=n) for n in range(3, 9)}

    def test_a_hook_of_one_model_never_reaches_another(self, project: Any) -> None:
        run_dbt(["run", "--threads", "4"])
        for n in range(3, 9):
            row = project.run_sql(f"select n, conf from {project.test_schema}.m{n}", fetch="one")
            assert tuple(row) == (n, n)
