from pathlib import Path

import pytest
from dbt.adapters.delta_maint.environments.class_archive import KEPT_ARCHIVES, choose_archive
from dbt.adapters.delta_maint.environments.java import Java


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DELTA_MAINT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.jar"
    path.write_bytes(b"one")
    return path


JAVA = Java(Path("/usr/bin/java"), "17.0.15")


def test_an_archive_is_made_once_and_then_used(jar: Path) -> None:
    first = choose_archive(JAVA, [jar], flavour=[])
    assert first is not None
    assert not first.is_ready
    assert first.java_options()[0].startswith("-XX:ArchiveClassesAtExit=")
    first.path.write_bytes(b"archive")
    second = choose_archive(JAVA, [jar], flavour=[])
    assert second is not None
    assert second.is_ready


def test_other_java_other_jars_or_other_flags_get_their_own(jar: Path) -> None:
    def path(java: Java = JAVA, flavour: tuple[str, ...] = ()) -> Path:
        archive = choose_archive(java, [jar], flavour=flavour)
        assert archive is not None
        return archive.path

    before = path()
    assert path(java=Java(JAVA.executable, "21.0.1")) != before
    assert path(flavour=("-XX:+UseSerialGC",)) != before
    jar.write_bytes(b"another jar")
    assert path() != before


def test_old_archives_make_room(jar: Path) -> None:
    for number in range(KEPT_ARCHIVES + 2):
        archive = choose_archive(JAVA, [jar], flavour=[str(number)])
        assert archive is not None
        archive.path.write_bytes(b"archive")
    kept = list((archive.path.parent).glob("*.jsa"))
    assert len(kept) == KEPT_ARCHIVES
    assert archive.path in kept
