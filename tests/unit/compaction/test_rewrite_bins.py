"""Bins of files are those that the plan counts, and rows stay in the order they were written in."""

from __future__ import annotations

from dbt.adapters.delta_maint.core.packing import next_fit
from dbt.adapters.delta_maint.core.rewrite_bins import InputFile, pack_files, share_among_tasks
from hypothesis import given
from hypothesis import strategies as st

SIZES = st.lists(st.integers(1, 40), max_size=40)


def files(sizes: list[int], key: str | None = "1") -> list[InputFile]:
    return [InputFile(f"p={key}/f{n:03d}", s, (key,), {"p": key}) for n, s in enumerate(sizes)]


@given(SIZES, st.integers(1, 100), st.integers(1, 41))
def test_packing_is_that_of_the_plan(sizes: list[int], cap_bytes: int, below_bytes: int) -> None:
    bins = pack_files(files(sizes), below_bytes=below_bytes, cap_bytes=cap_bytes)
    planned = next_fit(sorted(s for s in sizes if s < below_bytes), cap_bytes)
    assert [(len(b.files), b.size_bytes) for b in bins] == [
        (b.files, b.size_bytes) for b in planned if b.files > 1
    ]
    assert [b.number for b in bins] == list(range(len(bins)))


@given(SIZES, st.integers(1, 8))
def test_every_bin_is_in_one_task(sizes: list[int], cores: int) -> None:
    bins = pack_files(files(sizes), below_bytes=99, cap_bytes=50)
    tasks = share_among_tasks(bins, cores=cores, large_bytes=30)
    assert sorted(b.number for task in tasks for b in task) == [b.number for b in bins]
    assert all(len(task) == 1 for task in tasks if any(b.size_bytes > 30 for b in task))


def test_two_notations_of_a_partition_are_one_and_commits_give_the_order() -> None:
    early = InputFile("p=b/x", 9, ("b",), {"p": "b"}, modified_ms=1)
    late = [InputFile(f"p=a/{n}", n, ("a",), {"p": "a"}, modified_ms=2) for n in (3, 2)]
    (found,) = pack_files([*late, early], below_bytes=99, cap_bytes=99, unite=lambda key: ("a",))
    assert [file.path for file in found.files] == ["p=b/x", "p=a/2", "p=a/3"]
    assert found.folder == "p=b/"
