"""Plans as EXPLAIN COST writes them."""

from dbt.adapters.delta_maint.core.plan_text import (
    SHUFFLED,
    UNKNOWN_BYTES,
    PlanText,
    heavy_operators,
)
from dbt.adapters.delta_maint.core.write_choice import SortColumn

SORTED = """\
== Optimized Logical Plan ==
Sort [p#2853L ASC NULLS FIRST, my name#7 DESC NULLS LAST], true, Statistics(sizeInBytes=2.1 KiB)
+- Join Inner, (a#1 = b#2), Statistics(sizeInBytes=8.0 EiB)
   :- Project [p#2853L], Statistics(sizeInBytes=1421.0 B)
   :  +- Relation spark_catalog.default.t[id#1L,p#2853L] parquet, Statistics(sizeInBytes=2.0 MiB)
   +- Range (0, 100, step=1, splits=Some(2)), Statistics(sizeInBytes=800.0 B)

== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- Sort [p#2853L ASC NULLS FIRST], true, 0
   +- Exchange rangepartitioning(p#2853L ASC NULLS FIRST, 2), ENSURE_REQUIREMENTS, [plan_id=1244]
      +- SortMergeJoin [a#1], [b#2], Inner
         +- Exchange hashpartitioning(a#1, 2), ENSURE_REQUIREMENTS, [plan_id=12]
"""


def test_the_leaves_say_how_much_is_read() -> None:
    assert PlanText.of(SORTED).scan_bytes == 2 * 1024**2 + 800


def test_every_branch_of_a_union_is_read() -> None:
    leaf = "Relation t[id#1] parquet, Statistics(sizeInBytes=2.0 KiB)"
    text = f"Sort [p#1 ASC NULLS FIRST], true\n+- Union false\n   :- {leaf}\n   :- {leaf}\n   +- {leaf}"
    assert PlanText(text, "").scan_bytes == 3 * 2048


def test_a_leaf_without_a_size_counts_as_very_large() -> None:
    assert PlanText("Scan JDBCRelation(t) [id#1]", "").scan_bytes == UNKNOWN_BYTES


def test_the_order_is_the_one_of_the_result() -> None:
    plan = PlanText.of(SORTED)
    assert plan.top_sort(["P", "my name"]) == (
        SortColumn("p"),
        SortColumn("my name", is_descending=True, nulls_first=False),
    )
    assert plan.top_sort(["p"]) == ()
    assert PlanText("Range (0, 1)", "").top_sort(["id"]) is None
    assert PlanText("Sort [p#1 ASC NULLS FIRST], false", "").top_sort(["p"]) is None


def test_a_projection_above_a_sort_keeps_its_order() -> None:
    text = "Project [p#1]\n+- Sort [p#1 ASC NULLS FIRST], true\n   +- Range (0, 1)"
    assert PlanText(text, "").top_sort(["p"]) == (SortColumn("p"),)


def test_chance_is_seen_and_a_plan_that_is_not_there_is_not_trusted() -> None:
    assert PlanText.of(SORTED).is_deterministic
    for name in ("rand(7)", "uuid(Some(1))", "monotonically_increasing_id()", "shuffle(a#1)"):
        assert not PlanText(f"Project [{name} AS r#2]", "").is_deterministic
    assert not PlanText.of("").is_deterministic


def test_costly_operators_and_shuffles_beside_the_counts_own() -> None:
    assert heavy_operators(PlanText.of(SORTED).physical) == ("Sort", "SortMergeJoin", SHUFFLED)
    assert heavy_operators("HashAggregate\n+- Exchange hashpartitioning(p, 2)") == ()
