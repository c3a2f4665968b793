"""A new version of dbt-tests-adapter cannot add a class unnoticed."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from tests.conformance.not_applicable import ABSTRACT, NOT_APPLICABLE
from tests.conformance.package import classes, is_of_package, key_of, names_of_tests


def our_classes() -> list[type]:
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        found += [
            cls
            for cls in vars(module).values()
            if inspect.isclass(cls)
            and cls.__module__ == module.__name__
            and cls.__name__.startswith("Test")
        ]
    return found


def run_directly() -> set[type]:
    return {base for cls in our_classes() for base in cls.__bases__ if is_of_package(base)}


def run_at_all() -> set[type]:
    return {base for cls in our_classes() for base in cls.__mro__ if is_of_package(base)}


def test_every_class_of_the_package_is_run_or_has_a_reason_not_to_be() -> None:
    unknown = [cls for cls in classes() if cls not in run_at_all()]
    assert sorted(key_of(cls) for cls in unknown if key_of(cls) not in NOT_APPLICABLE) == []


def test_a_class_that_is_only_inherited_from_is_abstract() -> None:
    inherited = {cls for cls in classes() if cls in run_at_all() - run_directly()}
    missing = {key_of(cls) for cls in inherited} - set(NOT_APPLICABLE)
    assert sorted(missing) == []


def test_a_test_that_is_switched_off_has_a_reason() -> None:
    for cls in our_classes():
        for base in cls.__mro__[1:]:
            if not is_of_package(base):
                continue
            for name in set(names_of_tests(base)) - set(names_of_tests(cls)):
                assert f"{key_of(base)}.{name}" in NOT_APPLICABLE


def test_every_reason_is_about_something_that_exists_and_is_not_run() -> None:
    known = {key_of(cls): cls for cls in classes()}
    for key, reason in NOT_APPLICABLE.items():
        area, name, *test = key.split(".")
        assert f"{area}.{name}" in known, key
        cls = known[f"{area}.{name}"]
        if test:
            assert test[0].split("[")[0] in names_of_tests(cls), key
        elif reason != ABSTRACT:
            assert cls not in run_at_all(), key
