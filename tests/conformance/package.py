"""What dbt-tests-adapter holds: its areas, its classes, their tests."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import dbt.tests.adapter as package

PREFIX = "dbt.tests.adapter."


def modules() -> Iterator[str]:
    root = Path(package.__path__[0])
    for path in sorted(root.rglob("*.py")):
        yield PREFIX + ".".join(path.relative_to(root).with_suffix("").parts)


def names_of_tests(cls: type) -> list[str]:
    return [name for name in dir(cls) if name.startswith("test") and callable(getattr(cls, name))]


def area_of(cls: type) -> str:
    return cls.__module__.removeprefix(PREFIX).split(".")[0]


def key_of(cls: type) -> str:
    return f"{area_of(cls)}.{cls.__name__}"


def is_of_package(cls: type) -> bool:
    return cls.__module__.startswith(PREFIX)


def classes() -> list[type]:
    """Every class with tests. The package's own runs on Postgres, named Test*, are subclasses of these."""
    found = []
    for name in modules():
        module = importlib.import_module(name)
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == name and names_of_tests(cls):
                found.append(cls)
    return [cls for cls in found if not _is_a_postgres_run(cls)]


def _is_a_postgres_run(cls: type) -> bool:
    return cls.__name__.startswith("Test") and any(
        is_of_package(base) and names_of_tests(base) for base in cls.__mro__[1:]
    )
