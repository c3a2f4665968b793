"""The three Delta jars that fit the installed pyspark and delta-spark.

Looked for in this package's cache and in the caches that Ivy and Maven keep; fetched once, through
Spark's own package resolution, when they are nowhere. Two processes that start at once fetch once: a
file lock guards the cache and every jar arrives by rename.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from dbt.adapters.delta_maint.core.errors import JarsError
from dbt.adapters.delta_maint.environments.cache_folder import cache_folder
from filelock import FileLock

SCALA = "2.13"
# Ivy puts the organisation before the name.
_JAR_NAME = re.compile(
    r"^(?:io\.delta_)?(?P<stem>delta-[a-z-]+?)(?:_(?P<binary>[0-9._]+))?-(?P<version>\d[^/]*)\.jar$"
)


@dataclass(frozen=True)
class DeltaVersions:
    """The installed pair; decides the names of the jars."""

    spark: str
    delta: str

    @classmethod
    def installed(cls) -> DeltaVersions:
        try:
            return cls(spark=metadata.version("pyspark"), delta=metadata.version("delta-spark"))
        except metadata.PackageNotFoundError as exc:
            raise JarsError(
                f"the package {exc.name} is not installed: `pip install dbt-delta-maint[session]`."
            ) from exc

    @property
    def spark_binary(self) -> str:
        return ".".join(self.spark.split(".")[:2])

    @property
    def coordinate(self) -> str:
        return f"io.delta:delta-spark_{self.spark_binary}_{SCALA}:{self.delta}"

    @property
    def jar_names(self) -> tuple[str, str, str]:
        return (
            f"delta-spark_{self.spark_binary}_{SCALA}-{self.delta}.jar",
            f"delta-storage-{self.delta}.jar",
            f"delta-kernel-api-{self.delta}.jar",
        )


def find_spark_home() -> Path:
    """SPARK_HOME, else the folder of the installed pyspark, without importing pyspark."""
    named = os.environ.get("SPARK_HOME")
    if named:
        return Path(named)
    from importlib.util import find_spec

    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError(
            "the package pyspark is not installed: `pip install dbt-delta-maint[session]`."
        )
    return Path(spec.origin).parent


def check_spark_home(home: Path, versions: DeltaVersions) -> None:
    """Refuses a SPARK_HOME whose Spark is not the one the installed pyspark speaks to."""
    cores = sorted((home / "jars").glob(f"spark-core_{SCALA}-*.jar"))
    if not cores:
        raise JarsError(
            f"SPARK_HOME is {home}, which holds no jars/spark-core_{SCALA}-*.jar: unset SPARK_HOME "
            f"to use the Spark inside the installed pyspark {versions.spark}."
        )
    found = cores[-1].stem.rsplit("-", 1)[-1]
    if found.split(".")[:2] != versions.spark.split(".")[:2]:
        raise JarsError(
            f"SPARK_HOME holds Spark {found} but pyspark {versions.spark} is installed: unset "
            f"SPARK_HOME, or install pyspark {found}."
        )


def cached_jar_folder(versions: DeltaVersions) -> Path:
    return cache_folder() / "jars" / f"delta-{versions.delta}-spark-{versions.spark_binary}"


def find_delta_jars(
    versions: DeltaVersions, *, given: str | Sequence[str] | None = None
) -> tuple[Path, ...] | None:
    """The jars without fetching anything; None when they are nowhere on this machine."""
    if given is not None:
        return _given_jars(given, versions)
    for folder in (cached_jar_folder(versions), *_known_caches()):
        found = _jars_under(folder, versions)
        if found:
            return found
    return None


def obtain_delta_jars(
    versions: DeltaVersions,
    *,
    spark_home: Path,
    given: str | Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> tuple[Path, ...]:
    """The jars, fetched once when they are not on this machine yet; `tell` is told before that."""
    found = find_delta_jars(versions, given=given)
    if found:
        return found
    target = cached_jar_folder(versions)
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(target) + ".lock"):
        found = _jars_under(target, versions)
        if found:
            return found
        tell(f"Fetching the jars of Delta {versions.delta}, once, into {target}")
        _fetch(versions, spark_home=spark_home, target=target)
    found = _jars_under(target, versions)
    if not found:
        raise JarsError(_air_gapped(versions, "the resolution ended without the three files"))
    return found


def _given_jars(given: str | Sequence[str], versions: DeltaVersions) -> tuple[Path, ...]:
    names = [given] if isinstance(given, str) else list(given)
    paths = [Path(name).expanduser().absolute() for name in names]
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        paths = sorted(folder.glob("*.jar"))
        if not any("delta-spark" in path.name for path in paths):
            raise JarsError(
                f"delta_jars names the folder {folder}, which holds no delta-spark jar: put "
                f"{_sentence_list(versions.jar_names)} there."
            )
    for path in paths:
        if not path.is_file():
            raise JarsError(f"delta_jars names {path}, which does not exist.")
    _refuse_misfits(paths, versions)
    return tuple(paths)


def _refuse_misfits(paths: Iterable[Path], versions: DeltaVersions) -> None:
    stems = set()
    for path in paths:
        match = _JAR_NAME.match(path.name)
        if match is None:
            continue
        stems.add(match["stem"])
        if match["version"] != versions.delta:
            raise JarsError(
                f"{path.name} is Delta {match['version']} but delta-spark {versions.delta} is "
                f"installed: use {_sentence_list(versions.jar_names)}."
            )
        wanted = f"{versions.spark_binary}_{SCALA}"
        if match["stem"] == "delta-spark" and match["binary"] != wanted:
            raise JarsError(
                f"{path.name} is built for Spark/Scala {match['binary']} but pyspark "
                f"{versions.spark} is installed: use {versions.jar_names[0]}."
            )
    missing = {"delta-spark", "delta-storage", "delta-kernel-api"} - stems
    if missing:
        raise JarsError(
            f"delta_jars lacks {_sentence_list(sorted(missing))}: Delta needs "
            f"{_sentence_list(versions.jar_names)}."
        )


def _known_caches() -> list[Path]:
    home = Path.home()
    maven = home / ".m2" / "repository"
    return [*sorted(home.glob(".ivy2*/jars")), maven]


def _jars_under(folder: Path, versions: DeltaVersions) -> tuple[Path, ...] | None:
    found = []
    for name in versions.jar_names:
        path = _in_layout(folder, name, versions)
        if path is None:
            return None
        found.append(path)
    return tuple(found)


def _in_layout(folder: Path, name: str, versions: DeltaVersions) -> Path | None:
    artifact = name[: -len(f"-{versions.delta}.jar")]
    for candidate in (
        folder / name,
        folder / f"io.delta_{name}",
        folder / "io" / "delta" / artifact / versions.delta / name,
    ):
        if candidate.is_file() and candidate.stat().st_size > 0:
            return candidate
    return None


def _fetch(versions: DeltaVersions, *, spark_home: Path, target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="resolve-", dir=target.parent))
    try:
        done = subprocess.run(
            [
                str(spark_home / "bin" / "spark-submit"),
                "--packages",
                versions.coordinate,
                "--conf",
                f"spark.jars.ivy={work / 'ivy'}",
                # Spark brings these itself; without them the download is a tenth.
                "--exclude-packages",
                "org.apache.hadoop:hadoop-client-api,org.apache.hadoop:hadoop-client-runtime",
                # Resolution comes before the main class runs; this one prints and leaves.
                "--class",
                "org.apache.spark.deploy.SparkSubmit",
                "spark-internal",
                "--version",
            ],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "SPARK_HOME": str(spark_home)},
            check=False,
        )
        jars = _jars_under(work / "ivy" / "jars", versions)
        if jars is None:
            raise JarsError(_air_gapped(versions, _resolution_fault(done.stdout + done.stderr)))
        staged = work / "jars"
        staged.mkdir()
        for jar, name in zip(jars, versions.jar_names, strict=True):
            shutil.copyfile(jar, staged / name)
        if target.exists():
            shutil.rmtree(target)
        staged.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _resolution_fault(output: str) -> str:
    for line in output.splitlines():
        if "unresolved dependenc" in line.lower() or "UnknownHost" in line or "not found" in line:
            return line.strip(" :\t")
    return "Spark's package resolution did not find them"


def _air_gapped(versions: DeltaVersions, why: str) -> str:
    return (
        f"The Delta jars could not be fetched ({why}): put {_sentence_list(versions.jar_names)} "
        f"into {cached_jar_folder(versions)}, or name their folder as `delta_jars` in the profile."
    )


def _sentence_list(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
