"""Files of the right size on real Delta: what is written, by which plan, under which settings."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from dbt.adapters.delta_maint import connections
from dbt.adapters.delta_maint.core.calibration import SizedFile, Source
from dbt.adapters.delta_maint.core.write_choice import Mode, Way, WritePolicy
from dbt.adapters.delta_maint.lake import query_facts, write_settings
from dbt.adapters.delta_maint.lake.commit_mark import WRITE, CommitMark
from dbt.adapters.delta_maint.lake.last_commit import last_committed_version
from dbt.adapters.delta_maint.lake.prepared_write import PreparedWrite
from dbt.adapters.delta_maint.lake.recent_writes import added_files, read_commit
from dbt.adapters.delta_maint.lake.session_catalog import table_location
from dbt.adapters.delta_maint.lake.write_target import WriteTarget
from dbt.adapters.delta_maint.lake.writer import Preparation
from pyspark.sql import functions as F

KIB = 1024
TARGET = 128 * KIB
SCHEMA = "placed_files"
ALL = bool(os.environ.get("DELTA_MAINT_TEST_ALL"))


@dataclass
class Written:
    prepared: PreparedWrite
    files: list[SizedFile]

    def sizes(self, partition: Any) -> list[int]:
        return [file.bytes for file in self.files if file.partition == (str(partition),)]


@dataclass
class Lake:
    """A session of its own, and writes into tables of one schema."""

    spark: Any

    def target(self, name: str, partition_by: str | None) -> WriteTarget:
        columns = (partition_by,) if partition_by else ()
        if not self.spark.catalog.tableExists(f"{SCHEMA}.{name}"):
            return WriteTarget(columns)
        found = WriteTarget.existing(
            self.spark, f"{SCHEMA}.{name}", partition_columns=columns or None
        )
        assert found is not None
        return found

    def prepare(
        self, name: str, query: Any, *, partition_by: str | None = "p", **policy: Any
    ) -> PreparedWrite:
        wanted = WritePolicy(**{"target_bytes": TARGET, **policy})
        frame = self.spark.sql(query) if isinstance(query, str) else query
        preparation = Preparation(
            self.spark, wanted, self.target(name, partition_by), CommitMark(WRITE, "test")
        )
        return preparation.rows(frame)

    def run(self, prepared: PreparedWrite, name: str, statement: str) -> Written:
        prepared.show_as(f"{name}__placed")
        with prepared.running(self.spark):
            self.spark.sql(statement.format(table=f"{SCHEMA}.{name}", rows=f"{name}__placed"))
        version = last_committed_version(self.spark)
        assert version is not None
        location = table_location(self.spark, schema=SCHEMA, name=name)
        return Written(prepared, added_files(read_commit(self.spark, location, version)))

    def create(
        self, name: str, query: Any, *, partition_by: str | None = "p", **policy: Any
    ) -> Written:
        clause = f"partitioned by ({partition_by})" if partition_by else ""
        prepared = self.prepare(name, query, partition_by=partition_by, **policy)
        statement = (
            f"create or replace table {{table}} using delta {clause} as select * from {{rows}}"
        )
        return self.run(prepared, name, statement)

    def insert(self, name: str, query: Any, **policy: Any) -> Written:
        prepared = self.prepare(name, query, partition_by=None, **policy)
        return self.run(prepared, name, "insert into {table} select * from {rows}")

    def difference(self, left: str, right: str) -> int:
        """Rows that only one of two queries gives, as multisets."""
        found = self.spark.sql(
            f"select (select count(*) from (({left}) except all ({right}))) + "
            f"(select count(*) from (({right}) except all ({left})))"
        ).first()
        return int(found[0])


@pytest.fixture(scope="module")
def open_lake(session_target: dict[str, Any], tmp_path_factory: Any) -> Callable[[], Lake]:
    """Sessions as connections have them; the same settings as the tests that run dbt in-process."""
    from dbt.adapters.delta_maint.credentials import DeltaMaintCredentials

    keys = {key: value for key, value in session_target.items() if key not in ("type", "threads")}
    credentials = DeltaMaintCredentials.from_dict({"schema": SCHEMA, **keys})
    settings = credentials.session_settings(tmp_path_factory.getbasetemp())
    environment = connections.session_environment(settings)
    return lambda: Lake(environment.open().spark)


@pytest.fixture(scope="module")
def lake(open_lake: Callable[[], Lake]) -> Iterator[Lake]:
    lake = open_lake()
    lake.spark.sql(f"create schema if not exists {SCHEMA}")
    # Values 0 to 29, each half as frequent as one of half its number; 8 files, so 8 map tasks.
    lake.spark.range(0, 160_000, 1, 8).selectExpr(
        "id",
        "cast(least(29, floor(pow(30, pmod(hash(id), 10000) / 10000.0) - 1)) as int) as p",
        "sha1(cast(id as string)) as token",
        "cast(id % 1000 as int) as n",
    ).write.saveAsTable(f"{SCHEMA}.source")
    yield lake
    lake.spark.sql(f"drop schema {SCHEMA} cascade")


SOURCE = f"select * from {SCHEMA}.source"


def plan_of(prepared: PreparedWrite) -> str:
    assert prepared.frame is not None
    return str(prepared.frame._jdf.queryExecution().executedPlan().toString())


class TestSizes:
    def test_exact_gives_the_ideal_files_and_learns_from_its_own_commit(self, lake: Lake) -> None:
        first = lake.create("skewed", SOURCE)
        second = lake.create("skewed", SOURCE)
        assert first.prepared.choice.way is second.prepared.choice.way is Way.EXACT
        assert second.prepared.calibration is not None
        assert second.prepared.calibration.source.is_measured
        per_value: dict[Any, list[int]] = {}
        for file in second.files:
            per_value.setdefault(file.partition, []).append(file.bytes)
        ideal = sum(max(1, round(sum(sizes) / TARGET)) for sizes in per_value.values())
        assert abs(len(second.files) - ideal) <= 0.1 * ideal
        big = [size for sizes in per_value.values() if sum(sizes) > 1.5 * TARGET for size in sizes]
        assert len(big) > 20
        assert max(size for sizes in per_value.values() for size in sizes) <= 1.45 * TARGET
        assert min(big) >= 0.6 * TARGET
        assert sum(abs(size / TARGET - 1) <= 0.3 for size in big) / len(big) >= 0.95
        assert lake.difference(SOURCE, f"select * from {SCHEMA}.skewed") == 0

    @pytest.mark.parametrize(
        ("name", "query"),
        [
            # As many rows of every value.
            (
                "uniform",
                "select id, cast(pmod(hash(id), 4) as int) as p, sha1(cast(id as string)) as s "
                "from range(0, 120000, 1, 6)",
            ),
            # Values whose rows are of very different length, met in the order of the values.
            (
                "lengths",
                "select id, cast(id div 20000 as int) as p, "
                "substr(repeat(sha2(cast(id as string), 512), 6), 1, 5 + 100 * cast(id div 20000 as int)) as s "
                "from range(0, 120000, 1, 6)",
            ),
            # One value with nearly everything, and values far smaller than a file.
            (
                "lopsided",
                "select id, if(id % 50 = 0, id % 2500, 1) as p, sha1(cast(id as string)) as s "
                "from range(0, 120000, 1, 3)",
            ),
            # A key kept once: rows are shuffled, sorted and filtered before they are written.
            (
                "deduplicated",
                "select * except (n) from (select id % 60000 as id, cast(id % 4 as int) as p, "
                "sha1(cast(id as string)) as s, row_number() over (partition by id % 60000 "
                "order by id) as n from range(0, 120000, 1, 8)) where n = 1",
            ),
            # One input task, whose rows a generator multiplies.
            (
                "generated",
                "select id, cast(id % 3 as int) as p, sha1(cast(id as string)) as s "
                "from (select explode(sequence(1, 90000)) as id)",
            ),
        ],
    )
    def test_a_first_write_of_any_distribution_is_near_its_target(
        self, lake: Lake, name: str, query: str
    ) -> None:
        written = lake.create(name, query)
        per_value: dict[Any, list[int]] = {}
        for file in written.files:
            per_value.setdefault(file.partition, []).append(file.bytes)
        big = [size for sizes in per_value.values() if sum(sizes) > 2 * TARGET for size in sizes]
        assert len(big) > 5
        told = (written.prepared.choice, written.prepared.calibration, sorted(big))
        assert sum(abs(size / TARGET - 1) <= 0.3 for size in big) / len(big) >= 0.85, told
        assert lake.difference(query, f"select * from {SCHEMA}.{name}") == 0

    def test_rebalance_bounds_the_largest_file(self, lake: Lake) -> None:
        for _ in range(2):
            written = lake.create("rebalanced", SOURCE, mode=Mode.REBALANCE)
        assert written.prepared.choice.way is Way.REBALANCE
        assert max(file.bytes for file in written.files) <= 2 * TARGET
        assert lake.difference(SOURCE, f"select * from {SCHEMA}.rebalanced") == 0

    @pytest.mark.parametrize("repartition", ["hash", "round_robin"])
    @pytest.mark.parametrize("mode", [Mode.EXACT, Mode.REBALANCE])
    def test_both_kinds_of_repartition_write_the_same_rows(
        self, lake: Lake, repartition: str, mode: Mode
    ) -> None:
        written = lake.create(
            f"dealt_{repartition}_{mode.value}", f"{SOURCE} where p < 3", repartition=repartition, mode=mode
        )  # fmt: skip
        if mode is Mode.EXACT:
            rows = [file.rows for file in written.files if file.partition == ("0",)]
            assert len(rows) > 2
            assert max(rows) <= 1.1 * min(rows)
        name = f"{SCHEMA}.dealt_{repartition}_{mode.value}"
        assert lake.difference(f"{SOURCE} where p < 3", f"select * from {name}") == 0

    def test_rows_that_are_alike_are_still_spread(self, lake: Lake) -> None:
        query = (
            "select cast(1 as int) as p, sha2(cast(pmod(hash(id), 4) as string), 512) as s "
            "from range(200000)"
        )
        lake.spark.sql(query).write.mode("overwrite").saveAsTable(f"{SCHEMA}.alike_source")
        # A dictionary makes these rows tiny: the smallest target that still asks for several files.
        written = lake.create(
            "alike", f"select * from {SCHEMA}.alike_source", mode=Mode.EXACT, target_bytes=4 * KIB
        )
        assert written.prepared.planned_files is not None
        rows = sorted(file.rows for file in written.files)
        assert len(rows) >= 2
        assert rows[-1] <= 1.5 * rows[0]

    def test_a_row_cap_is_honoured_by_an_insert(self, lake: Lake) -> None:
        lake.create("capped", f"{SOURCE} where id < 0", partition_by=None)
        lake.spark.conf.set("spark.sql.files.maxRecordsPerFile", "5000")
        try:
            written = lake.insert("capped", SOURCE)
        finally:
            lake.spark.conf.unset("spark.sql.files.maxRecordsPerFile")
        assert max(file.rows for file in written.files) <= 5000
        assert sum(file.rows for file in written.files) == 160_000
        rows = lake.spark.sql(SOURCE).coalesce(1)
        rows.write.option("maxRecordsPerFile", 50_000).format("delta").saveAsTable(
            f"{SCHEMA}.capped_by_option"
        )
        files = lake.spark.sql(f"describe detail {SCHEMA}.capped_by_option").first()["numFiles"]
        assert files == 4

    @pytest.mark.parametrize(
        ("query", "files", "count"),
        [
            (f"{SOURCE} where id < 0", 0, 0),
            (f"{SOURCE} where id = 5", 1, 1),
            (f"{SOURCE} where p = 7", 1, None),
            ("select id, cast(null as int) as p from range(1000)", 1, 1000),
            ("select id, cast(id % 3 as string) as p from range(2)", 2, 2),
        ],
    )
    @pytest.mark.parametrize("mode", [Mode.EXACT, Mode.REBALANCE])
    def test_few_rows_make_one_file_per_value(
        self, lake: Lake, query: str, files: int, count: int | None, mode: Mode
    ) -> None:
        # Names of their own: Spark's in-memory catalog cannot replace a partitioned table by one of
        # another schema.
        name = f"few_{mode.value}_{abs(hash(query))}"
        written = lake.create(name, query, mode=mode, target_bytes=1024 * KIB)
        assert len(written.files) == files
        if count is not None:
            assert sum(file.rows for file in written.files) == count

    def test_thousands_of_values_share_tasks(self, lake: Lake) -> None:
        values = 5_000
        query = f"select id, cast(id % {values} as int) as p from range({3 * values})"
        prepared = lake.prepare("many", query, mode=Mode.EXACT)
        assert prepared.placement is not None
        assert prepared.placement.files == values
        assert prepared.placement.tasks <= values // 15
        assert prepared.frame is not None
        assert prepared.frame.count() == 3 * values
        per_task = prepared.frame.selectExpr("spark_partition_id() as t", "p").distinct()
        assert per_task.count() == values  # no value in two tasks

    def test_a_value_that_appears_after_the_count_lands_in_the_plan(self, lake: Lake) -> None:
        from dbt.adapters.delta_maint.lake import placed_rows

        prepared = lake.prepare("late", SOURCE, mode=Mode.EXACT)
        assert prepared.placement is not None
        late = lake.spark.sql("select id, cast(1000 + id % 50 as int) as p from range(500)")
        prepared.frame = placed_rows.place_rows(late, prepared.placement, [late["p"]])
        # Tasks open as many files as they were planned to hold, and these are more.
        assert int(prepared.settings[write_settings.OPEN_FILES]) < 50
        statement = "create or replace table {table} partitioned by (p) as select * from {rows}"
        written = lake.run(prepared, "late", statement)
        assert sum(file.rows for file in written.files) == 500
        assert len({file.partition for file in written.files}) == 50


class TestPlans:
    def test_rows_are_sorted_only_where_a_table_is_too_wide_to_open_its_files_at_once(
        self, lake: Lake
    ) -> None:
        narrow = lake.create("narrow", SOURCE)
        assert narrow.prepared.frame is not None
        assert "Sort" not in plan_of(narrow.prepared)
        columns = ", ".join(f"id + {index} as c{index}" for index in range(300))
        query = f"select {columns}, cast(id % 40 as int) as p from range(400)"
        wide = lake.create("wide", query, mode=Mode.EXACT, target_bytes=1024 * KIB)
        assert write_settings.OPEN_FILES not in wide.prepared.settings
        assert "Sort" in plan_of(wide.prepared)
        for written, values in ((narrow, 29), (wide, 40)):
            assert len({file.partition for file in written.files}) == values
        assert lake.difference(SOURCE, f"select * from {SCHEMA}.narrow") == 0
        # Files that grow side by side: each has the statistics of its own rows.
        location = table_location(lake.spark, schema=SCHEMA, name="narrow")
        told = set()
        for action in read_commit(lake.spark, location, 0):
            if "add" in action:
                stats = json.loads(action["add"]["stats"])
                told.add((stats["numRecords"], stats["minValues"]["id"], stats["maxValues"]["id"]))
        found = lake.spark.sql(
            f"select count(*), min(id), max(id) from {SCHEMA}.narrow group by input_file_name()"
        ).collect()
        assert told == {tuple(row) for row in found}

    def test_planning_lists_the_files_of_a_source_once(self, lake: Lake) -> None:
        context = lake.spark.sparkContext
        lake.prepare("planned", SOURCE, mode=Mode.EXACT)
        context.setJobGroup("planning", "a first write")
        try:
            prepared = lake.prepare("planned", SOURCE, mode=Mode.EXACT)
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)
        assert prepared.calibration is not None
        assert prepared.calibration.source is Source.SAMPLE
        # One job lists files; two count, two sample.
        assert len(context.statusTracker().getJobIdsForGroup("planning")) <= 5

    @pytest.mark.parametrize(
        "ending",
        [
            f"select /*+ REPARTITION(50) */ * from {SCHEMA}.source",
            f"select /*+ COALESCE(1) */ * from {SCHEMA}.source",
            f"select * from {SCHEMA}.source distribute by n",
            f"select * from {SCHEMA}.source order by p",
        ],
    )
    @pytest.mark.parametrize("mode", [Mode.EXACT, Mode.REBALANCE])
    def test_the_users_own_distribution_disappears(
        self, lake: Lake, ending: str, mode: Mode
    ) -> None:
        prepared = lake.prepare("plan", ending, mode=mode)
        assert prepared.frame is not None
        assert query_facts.exchange_count(prepared.frame) == 1

    def test_the_tables_own_optimized_write_does_not_shuffle_again(self, lake: Lake) -> None:
        lake.spark.sql(
            f"create or replace table {SCHEMA}.with_property (id long, p int, token string, n int) "
            "using delta partitioned by (p) "
            "tblproperties ('delta.autoOptimize.optimizeWrite' = 'true')"
        )
        written = lake.insert("with_property", SOURCE, mode=Mode.EXACT)
        # Delta's own bins of 512 MiB would have joined the files of every value.
        assert len(written.files) == written.prepared.planned_files
        values = {file.partition for file in written.files}
        assert len(written.files) > len(values)
        plain = lake.insert("with_property", SOURCE, mode=Mode.OFF)
        assert len(plain.files) > len(values), "off is off, whatever the property says"

    def test_an_order_that_is_not_the_partitions_is_kept(self, lake: Lake) -> None:
        written = lake.create("ordered", f"{SOURCE} order by token")
        assert written.prepared.choice.way is Way.CAP
        assert "ordered by token" in written.prepared.choice.reason
        disorder = lake.spark.sql(
            "select count(*) from (select token, lag(token) over (partition by f order by i) as l "
            "from (select token, input_file_name() as f, monotonically_increasing_id() as i "
            f"from {SCHEMA}.ordered)) where token < l"
        ).first()[0]
        assert disorder == 0

    def test_within_places_the_rows_and_sorts_each_file(self, lake: Lake) -> None:
        written = lake.create("within", f"{SOURCE} order by token", sorted_query="within")
        assert written.prepared.choice.way is Way.EXACT
        disorder = lake.spark.sql(
            "select count(*) from (select token, lag(token) over (partition by f order by i) as l "
            "from (select token, input_file_name() as f, monotonically_increasing_id() as i "
            f"from {SCHEMA}.within)) where token < l"
        ).first()[0]
        assert disorder == 0
        assert max(file.bytes for file in written.files) <= 1.5 * TARGET

    def test_write_order_gives_files_of_disjoint_ranges(self, lake: Lake) -> None:
        written = lake.create("ranged", SOURCE, write_order=("id",))
        assert (
            json.loads(written.prepared.settings["spark.databricks.delta.commitInfo.userMetadata"])[
                "salt"
            ]
            == "range"
        )
        assert max(file.bytes for file in written.files) <= 1.5 * TARGET
        overlaps = lake.spark.sql(
            "select count(*) from (select low, lag(high) over (partition by p order by low) as before "
            "from (select p, input_file_name() as f, min(id) as low, max(id) as high "
            f"from {SCHEMA}.ranged group by p, input_file_name())) where low <= before"
        ).first()[0]
        assert overlaps == 0

    def test_a_query_that_is_not_deterministic_is_evaluated_once(self, lake: Lake) -> None:
        thinned = lake.prepare("random", f"{SOURCE} where rand() < 0.5")
        assert thinned.choice.way is Way.REBALANCE
        # Chance fills a column here: the rows are the same ones, so they can be counted.
        coloured = lake.create("coloured", f"select *, uuid() as u from {SCHEMA}.source")
        assert (coloured.prepared.choice.way, coloured.prepared.choice.is_staged) == (
            Way.EXACT,
            False,
        )
        assert sum(file.rows for file in coloured.files) == 160_000
        assert max(file.bytes for file in coloured.files) <= 1.5 * TARGET
        evaluated = lake.spark.sparkContext.accumulator(0)

        @F.udf("int")
        def counted(number: int) -> int:
            evaluated.add(1)
            return number

        frame = lake.spark.sql(f"{SOURCE} where id < 3000").withColumn(
            "c", counted.asNondeterministic()("n")
        )
        written = lake.create("random", frame, mode=Mode.EXACT)
        assert evaluated.value == 3000
        assert sum(file.rows for file in written.files) == 3000
        staged = lake.create("random_rows", frame.where("c >= 0 and rand() < 2"), mode=Mode.EXACT)
        assert staged.prepared.choice.is_staged
        assert evaluated.value == 6000
        assert sum(file.rows for file in staged.files) == 3000

    @pytest.mark.parametrize(
        ("conf", "value"),
        [
            ("spark.sql.adaptive.enabled", "false"),
            ("spark.sql.optimizer.disableHints", "true"),
        ],
    )
    def test_where_spark_would_not_rebalance_rows_are_staged_and_placed(
        self, lake: Lake, conf: str, value: str
    ) -> None:
        lake.spark.conf.set(conf, value)
        try:
            written = lake.create("no_rebalance", f"{SOURCE} where p = 3", mode=Mode.REBALANCE)
        finally:
            lake.spark.conf.unset(conf)
        assert written.prepared.choice.way is Way.EXACT
        assert written.prepared.choice.is_staged

    def test_small_data_without_partitions_is_one_file_and_not_shuffled(self, lake: Lake) -> None:
        frame = lake.spark.range(0, 100, 1, 4)
        written = lake.create("tiny", frame, partition_by=None, target_bytes=None)
        assert len(written.files) == 1
        assert written.prepared.frame is not None
        assert query_facts.exchange_count(written.prepared.frame) == 0

    def test_chunks_keep_the_order_of_rows_and_cut_large_tasks(self, lake: Lake) -> None:
        frame = lake.spark.sql(
            "select id, sha1(cast(id as string)) as s from range(0, 60000, 1, 2)"
        )
        written = lake.create("chunks", frame, partition_by=None, mode=Mode.EXACT)
        assert written.prepared.choice.way is Way.CHUNKS
        assert len(written.files) > 10
        ranges = lake.spark.sql(
            f"select max(id) - min(id) + 1 - count(*) from {SCHEMA}.chunks group by input_file_name()"
        ).collect()
        assert all(row[0] == 0 for row in ranges)


class TestProgress:
    def test_a_long_write_says_how_far_it_is(self, lake: Lake) -> None:
        from dbt.adapters.delta_maint.lake.progress import told_progress

        told: list[str] = []
        enough = threading.Event()

        def tell(line: str) -> None:
            told.append(line)
            if len(told) >= 2:
                enough.set()

        def write() -> None:
            context.setJobGroup("progress", "a write of many tasks")
            waiting = F.udf(lambda number: __import__("time").sleep(0.1) or number, "long")
            frame = lake.spark.range(0, 60, 1, 60).select(waiting("id").alias("id"))
            frame.write.format("delta").saveAsTable(f"{SCHEMA}.slow")

        context = lake.spark.sparkContext
        with told_progress(lake.spark, "progress", tell, first_after=0.5, then_every=0.5):
            write()
        assert enough.is_set()
        assert all(line.endswith("of 60 tasks done") for line in told), told
        with told_progress(lake.spark, "progress", tell, first_after=60):
            count = len(told)
            lake.spark.range(10).count()
        assert len(told) == count


class TestRows:
    """Whatever the values: what goes in comes out."""

    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            ("string", ["'a'", "''", "null", "'a/b=c'", "'ü %20 ''\"'", "'new\\nline'"]),
            ("date", ["'2024-02-29'", "'0001-01-01'", "null"]),
            ("timestamp", ["'2024-02-29 12:00:00.123456'", "null"]),
            ("decimal(20, 4)", ["1.5", "-0.0001", "null"]),
            ("boolean", ["true", "false", "null"]),
            ("double", ["'NaN'", "0.0", "'Infinity'", "null"]),
            ("bigint", ["-9223372036854775808", "0", "null"]),
        ],
    )
    def test_every_kind_of_partition_value(self, lake: Lake, kind: str, values: list[str]) -> None:
        rows = " union all ".join(
            f"select id, cast({value} as {kind}) as p, cast('NaN' as double) as f from range(50)"
            for value in values
        )
        name = f"kind_{kind.split('(')[0]}"
        written = lake.create(name, rows, mode=Mode.EXACT)
        assert sum(file.rows for file in written.files) == 50 * len(values)
        # Delta keeps an empty partition value as null.
        nulled = rows.replace("cast('' as string)", "cast(null as string)")
        assert lake.difference(nulled, f"select * from {SCHEMA}.{name}") == 0

    def test_tables_with_everything_delta_offers(self, lake: Lake) -> None:
        lake.spark.sql(
            f"""create or replace table {SCHEMA}.everything (
              number bigint generated always as identity,
              `odd, name` string, day date generated always as (cast(moment as date)),
              moment timestamp, short varchar(8), v variant, nested struct<a: int, b: array<int>>,
              m map<string, int>, positive int)
            using delta partitioned by (day)
            tblproperties ('delta.columnMapping.mode' = 'name', 'delta.constraints.sign' = 'positive > 0')
            """
        )
        query = (
            "select concat('x', id) as `odd, name`, timestamp'2024-01-01' + make_dt_interval(id % 3) "
            "as moment, 'short' as short, parse_json('{\"a\": 1}') as v, "
            "named_struct('a', 1, 'b', array(1, 2)) as nested, map('k', 1) as m, "
            "cast(id + 1 as int) as positive from range(300)"
        )
        names = "`odd, name`, moment, short, v, nested, m, positive"
        statement = f"insert into {{table}} ({names}) select {names} from {{rows}}"
        written = lake.run(
            lake.prepare("everything", query, partition_by=None, mode=Mode.EXACT),
            "everything",
            statement,
        )
        assert len(written.files) == 3
        found = lake.spark.sql(
            f"select count(*), count(distinct number), count(distinct day) from {SCHEMA}.everything"
        ).first()
        assert tuple(found) == (300, 300, 3)
        bad = query.replace("cast(id + 1 as int)", "cast(id as int)")
        with pytest.raises(Exception, match="sign"):
            lake.run(
                lake.prepare("everything", bad, partition_by=None, mode=Mode.EXACT),
                "everything",
                statement,
            )
        assert lake.spark.table(f"{SCHEMA}.everything").count() == 300

    def test_columns_of_void_and_char_come_out_as_a_plain_write_leaves_them(
        self, lake: Lake
    ) -> None:
        """Delta pads char, checks varchar and keeps no values of void; a placed row is no other row."""
        schema = "id bigint, nothing void, code char(4), name varchar(6), p int"
        query = (
            "select id, null as nothing, cast(id % 10 as string) as code, "
            "if(id % 3 = 0, null, concat('n', id % 100)) as name, cast(id % 3 as int) as p "
            "from range(900)"
        )
        insert = "insert into {table} select * from {rows}"
        for name, mode in (("typed", Mode.EXACT), ("typed_plainly", Mode.OFF)):
            lake.spark.sql(
                f"create table {SCHEMA}.{name} ({schema}) using delta partitioned by (p)"
            )
            prepared = lake.prepare(name, query, partition_by=None, mode=mode)
            written = lake.run(prepared, name, insert)
            assert sum(file.rows for file in written.files) == 900
        columns = "id, nothing is null as is_null, length(code), code, name, p"
        found, plain = (
            f"select {columns} from {SCHEMA}.{name}" for name in ("typed", "typed_plainly")
        )
        assert lake.difference(found, plain) == 0
        assert lake.spark.sql(found).first()[2] == 4
        too_long = query.replace("concat('n', id % 100)", "'far too long'")
        with pytest.raises(Exception, match=r"(?i)exceed"):
            lake.run(
                lake.prepare("typed", too_long, partition_by=None, mode=Mode.EXACT), "typed", insert
            )
        assert lake.spark.table(f"{SCHEMA}.typed").count() == 900

    def test_a_source_that_grows_between_count_and_write_loses_nothing(self, lake: Lake) -> None:
        lake.spark.sql(f"create or replace table {SCHEMA}.growing as {SOURCE} where id < 1000")
        prepared = lake.prepare("grown", f"select * from {SCHEMA}.growing", mode=Mode.EXACT)
        lake.spark.sql(f"insert into {SCHEMA}.growing {SOURCE} where id between 1000 and 1999")
        written = lake.run(
            prepared,
            "grown",
            "create or replace table {table} partitioned by (p) as select * from {rows}",
        )
        # The rows are those of the version the plan was made for, or all: never a part.
        assert sum(file.rows for file in written.files) in (1000, 2000)

    def test_a_task_that_fails_leaves_the_table_as_it_was(self, lake: Lake) -> None:
        """A local master does not retry tasks: the write fails whole."""
        lake.create("failed", "select id, cast(0 as int) as p from range(5)")
        query = (
            "select if(id = 19999, raise_error('injected'), id) as id, cast(0 as int) as p "
            "from range(0, 20000, 1, 4)"
        )
        prepared = lake.prepare("failed", query, mode=Mode.EXACT)
        with pytest.raises(Exception, match="injected"):
            lake.run(
                prepared,
                "failed",
                "create or replace table {table} partitioned by (p) as select * from {rows}",
            )
        assert lake.spark.table(f"{SCHEMA}.failed").count() == 5
        assert lake.spark.conf.get("spark.databricks.delta.optimizeWrite.enabled", None) is None


class TestSessions:
    def test_eight_threads_reach_eight_targets_and_leave_their_settings_as_they_were(
        self, lake: Lake, open_lake: Callable[[], Lake]
    ) -> None:
        targets = [(64 + 32 * index) * KIB for index in range(8 if ALL else 4)]
        found: dict[int, Written] = {}
        changed: list[Any] = []
        start = threading.Barrier(len(targets))
        modes = [Mode.EXACT, Mode.REBALANCE]

        def write(index: int) -> None:
            own = open_lake()
            before = dict(own.spark.conf.getAll)
            start.wait()
            for _ in range(2):
                found[index] = own.create(
                    f"thread_{index}",
                    f"{SOURCE} where p < 3",
                    target_bytes=targets[index],
                    mode=modes[index % 2],
                )
            # Delta leaves some settings of its own behind; those of the write are as before.
            after = dict(own.spark.conf.getAll)
            changed.extend(
                key for key in found[index].prepared.settings if before.get(key) != after.get(key)
            )

        threads = [threading.Thread(target=write, args=(index,)) for index in range(len(targets))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not changed
        for index, target in enumerate(targets):
            largest = max(file.bytes for file in found[index].files)
            assert largest <= (1.45 if index % 2 == 0 else 2.2) * target
            assert largest >= 0.6 * target


class TestMerge:
    def test_merge_gets_a_bin_and_off_leaves_it_alone(self, lake: Lake) -> None:
        lake.create("merged", SOURCE)
        lake.spark.sql(
            f"alter table {SCHEMA}.merged set tblproperties ('delta.enableChangeDataFeed' = 'true')"
        )
        merge = (
            f"merge into {SCHEMA}.merged t using (select * from {SCHEMA}.source where id % 3 = 0) s "
            "on t.id = s.id and t.p = s.p when matched then update set n = t.n + 1"
        )
        target = WriteTarget.existing(lake.spark, f"{SCHEMA}.merged")
        assert target is not None
        schema = lake.spark.table(f"{SCHEMA}.merged").schema
        columns = [(field.name, field.dataType.simpleString()) for field in schema.fields]
        mark = CommitMark(WRITE, "test")
        policy = WritePolicy(target_bytes=1024 * KIB)
        prepared = Preparation(lake.spark, policy, target, mark).merge(columns, "merge")
        assert prepared.choice.way is Way.DELTA
        with prepared.running(lake.spark):
            lake.spark.sql(merge)
        version = last_committed_version(lake.spark)
        assert version is not None
        location = table_location(lake.spark, schema=SCHEMA, name="merged")
        actions = read_commit(lake.spark, location, version)
        assert any("cdc" in action for action in actions)
        values = {file.partition for file in added_files(actions)}
        assert len(added_files(actions)) <= 2 * len(values)
        off = Preparation(lake.spark, WritePolicy(Mode.OFF), target, mark).merge(columns, "merge")
        assert off.choice.way is Way.PLAIN

    def test_deltas_own_bins_hold_whole_blocks(self, lake: Lake) -> None:
        """Six equal blocks of about 0.4 MiB, one of five times as much, bins of 1 MiB."""
        frame = (
            lake.spark.range(0, 7 * 2600, 1, 7)
            .selectExpr("id", "explode(sequence(1, if(id >= 15600, 5, 1))) as n")
            .selectExpr("n", "sha2(concat(id, '-', n), 512) as token")
        )
        # Two blocks fill a bin of 1 MiB; the large one is not split.
        lake.spark.conf.set("spark.databricks.delta.optimizeWrite.enabled", "true")
        lake.spark.conf.set("spark.databricks.delta.optimizeWrite.binSize", "1")
        try:
            frame.write.format("delta").saveAsTable(f"{SCHEMA}.bins")
        finally:
            lake.spark.conf.unset("spark.databricks.delta.optimizeWrite.enabled")
            lake.spark.conf.unset("spark.databricks.delta.optimizeWrite.binSize")
        rows = lake.spark.sql(
            f"select count(*) as rows from {SCHEMA}.bins group by input_file_name() order by 1"
        ).collect()
        assert [row[0] for row in rows] == [5200, 5200, 5200, 13000]

    def test_optimize_is_never_touched(self, lake: Lake) -> None:
        lake.create("optimized", SOURCE, target_bytes=64 * KIB)
        location = table_location(lake.spark, schema=SCHEMA, name="optimized")
        for statement in ("optimize {}", "optimize {} zorder by (id)"):
            lake.spark.sql(statement.format(f"{SCHEMA}.optimized"))
            version = last_committed_version(lake.spark)
            assert version is not None
            files = added_files(read_commit(lake.spark, location, version))
            assert len(files) == len({file.partition for file in files}) > 1
