"""Finds the Java that Spark would start, and says plainly when it cannot be used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dbt.adapters.delta_maint.core.errors import JavaError

MINIMUM_JAVA = 17
HOW_TO_GET_JAVA = (
    f"install Java {MINIMUM_JAVA} or newer (`apt-get install openjdk-17-jre-headless`, "
    "`brew install openjdk@17`) or point JAVA_HOME at one"
)


@dataclass(frozen=True)
class Java:
    executable: Path
    version: str

    @property
    def major(self) -> int:
        return _major(self.version)


def find_java() -> Java:
    """The Java of JAVA_HOME, else of PATH, in the order Spark's own scripts use."""
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if not candidate.exists():
            raise JavaError(f"JAVA_HOME is {home}, but there is no {candidate}: {HOW_TO_GET_JAVA}.")
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise JavaError(
                f"Java was not found (no JAVA_HOME, no `java` on PATH): {HOW_TO_GET_JAVA}."
            )
        candidate = Path(on_path)
    java = Java(candidate, _read_version(candidate))
    if java.major < MINIMUM_JAVA:
        raise JavaError(
            f"Java {java.version} at {candidate} is too old for Spark 4: {HOW_TO_GET_JAVA}."
        )
    return java


@lru_cache(maxsize=8)
def _read_version(executable: Path) -> str:
    try:
        done = subprocess.run(
            [str(executable), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except OSError as exc:
        raise JavaError(f"{executable} cannot be started ({exc}): {HOW_TO_GET_JAVA}.") from exc
    text = done.stderr + done.stdout
    found = re.search(r"java\.runtime\.version = (\S+)", text) or re.search(
        r'version "([^"]+)"', text
    )
    if done.returncode != 0 or found is None:
        first = text.strip().splitlines()[:1]
        raise JavaError(f"{executable} does not answer as Java does ({first}): {HOW_TO_GET_JAVA}.")
    return found.group(1)


def _major(version: str) -> int:
    """17 from 17.0.15+6, 8 from 1.8.0_402."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
