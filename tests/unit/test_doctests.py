"""Every example in a docstring is true."""

import doctest
import importlib
import pkgutil

import dbt.adapters.delta_maint as package
import pytest

MODULES = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
