"""Jars that are missing or do not fit are named, with the names that would."""

from pathlib import Path

import pytest
from dbt.adapters.delta_maint.core.errors import JarsError
from dbt.adapters.delta_maint.environments.jars import (
    DeltaVersions,
    cached_jar_folder,
    check_spark_home,
    find_delta_jars,
    obtain_delta_jars,
)

VERSIONS = DeltaVersions(spark="4.2.0", delta="4.4.0")


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DELTA_MAINT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"jar")


def test_the_names_follow_the_installed_versions() -> None:
    assert VERSIONS.jar_names == (
        "delta-spark_4.2_2.13-4.4.0.jar",
        "delta-storage-4.4.0.jar",
        "delta-kernel-api-4.4.0.jar",
    )


def test_nothing_is_found_on_an_empty_machine() -> None:
    assert find_delta_jars(VERSIONS) is None


def test_the_cache_is_looked_at_first() -> None:
    put(cached_jar_folder(VERSIONS), *VERSIONS.jar_names)
    found = find_delta_jars(VERSIONS)
    assert found is not None
    assert {jar.parent for jar in found} == {cached_jar_folder(VERSIONS)}


def test_the_caches_of_ivy_and_maven_serve_too(empty_home: Path) -> None:
    put(empty_home / "home" / ".ivy2.5.2" / "jars", *(f"io.delta_{n}" for n in VERSIONS.jar_names))
    assert find_delta_jars(VERSIONS) is not None


def test_a_half_filled_cache_is_not_used(empty_home: Path) -> None:
    put(cached_jar_folder(VERSIONS), *VERSIONS.jar_names[:2])
    (cached_jar_folder(VERSIONS) / VERSIONS.jar_names[2]).write_bytes(b"")
    assert find_delta_jars(VERSIONS) is None


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["delta-spark_4.2_2.13-4.3.0.jar", "delta-storage-4.3.0.jar"], "is Delta 4.3.0 but"),
        (["delta-spark_4.0_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"], "built for Spark/Scala"),
        (["delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"], "lacks delta-kernel-api"),
        (["something-else.jar"], "holds no delta-spark jar"),
    ],
)
def test_jars_that_do_not_fit_are_refused_by_name(
    empty_home: Path, names: list[str], sentence: str
) -> None:
    put(empty_home / "given", *names)
    with pytest.raises(JarsError, match=sentence):
        find_delta_jars(VERSIONS, given=str(empty_home / "given"))


def test_the_folder_that_ivy_fills_can_be_given(empty_home: Path) -> None:
    put(empty_home / "given", *(f"io.delta_{name}" for name in VERSIONS.jar_names), "other-1.jar")
    found = find_delta_jars(VERSIONS, given=str(empty_home / "given"))
    assert found is not None
    assert len(found) == 4


def test_a_list_of_jars_must_exist(empty_home: Path) -> None:
    with pytest.raises(JarsError, match="does not exist"):
        find_delta_jars(VERSIONS, given=[str(empty_home / "delta-spark_4.2_2.13-4.4.0.jar")])


def test_an_air_gapped_machine_is_told_which_three_files_go_where(empty_home: Path) -> None:
    """A resolution that cannot reach anything: a Spark home whose spark-submit finds nothing."""
    home = empty_home / "spark"
    put(home / "bin")
    submit = home / "bin" / "spark-submit"
    submit.write_text("#!/bin/sh\necho 'unresolved dependency: io.delta#delta-spark' >&2\nexit 1\n")
    submit.chmod(0o755)
    with pytest.raises(JarsError) as told:
        obtain_delta_jars(VERSIONS, spark_home=home)
    for name in (*VERSIONS.jar_names, str(cached_jar_folder(VERSIONS)), "delta_jars"):
        assert name in str(told.value)
    assert not cached_jar_folder(VERSIONS).exists()


def test_a_spark_home_of_another_version_is_refused(empty_home: Path) -> None:
    put(empty_home / "spark" / "jars", "spark-core_2.13-3.5.1.jar")
    with pytest.raises(JarsError, match=r"Spark 3\.5\.1 but pyspark 4\.2\.0"):
        check_spark_home(empty_home / "spark", VERSIONS)


def test_a_spark_home_without_spark_is_refused(empty_home: Path) -> None:
    with pytest.raises(JarsError, match="unset SPARK_HOME"):
        check_spark_home(empty_home, VERSIONS)
