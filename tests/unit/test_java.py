from pathlib import Path

import pytest
from dbt.adapters.delta_maint.core.errors import JavaError
from dbt.adapters.delta_maint.environments.java import find_java


def fake_java(folder: Path, script: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return folder


def test_a_machine_without_java_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match="install Java 17 or newer"):
        find_java()


def test_a_wrong_java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaError, match=r"JAVA_HOME is .*nowhere"):
        find_java()


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [("1.8.0_402", False), ("11.0.2", False), ("17.0.1", True), ("21", True)],
)
def test_java_17_is_the_oldest_that_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_enough: bool
) -> None:
    home = fake_java(tmp_path / "jdk", f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    if is_enough:
        assert find_java().version == version
    else:
        with pytest.raises(JavaError, match="too old"):
            find_java()


def test_a_java_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "exit 3")))
    with pytest.raises(JavaError, match="does not answer as Java does"):
        find_java()
