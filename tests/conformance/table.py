"""Runs the conformance tests and tells the result per area; `--write` puts it into docs/conformance.md.

python -m tests.conformance.table [--write]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.not_applicable import ABSTRACT, NOT_APPLICABLE
from tests.conformance.package import area_of, classes, is_of_package, key_of, names_of_tests

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
REMEMBERED = ROOT / ".conformance.json"
NOTHING = {"passed": 0, "failed": 0}


@dataclass
class Outcomes:
    """A pytest plugin that counts outcomes per area of the package."""

    areas: dict[str, str] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        for item in items:
            for base in item.cls.__mro__ if item.cls else ():
                if is_of_package(base):
                    self.areas[item.nodeid] = area_of(base)
                    break

    def pytest_runtest_logreport(self, report: Any) -> None:
        area = self.areas.get(report.nodeid)
        if area is None:
            return
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed[area] += 1

    def per_area(self) -> dict[str, dict[str, int]]:
        failed = Counter(self.areas[node] for node in self.failed)
        return {
            area: {"passed": self.passed[area], "failed": failed[area]}
            for area in sorted(set(self.areas.values()))
        }


def not_applicable() -> Counter[str]:
    """Tests per area that the table of reasons leaves out; abstract classes hold none of their own."""
    known = {key_of(cls): cls for cls in classes()}
    found: Counter[str] = Counter()
    for key, reason in NOT_APPLICABLE.items():
        area, name, *test = key.split(".")
        if reason != ABSTRACT:
            found[area] += 1 if test else len(names_of_tests(known[f"{area}.{name}"]))
    return found


def page(told: Mapping[str, Mapping[str, int]]) -> str:
    missing = not_applicable()
    areas = sorted({*told, *missing})
    lines = [
        "# Conformance",
        "",
        f"dbt-tests-adapter {version('dbt-tests-adapter')} on dbt-core {version('dbt-core')}, "
        f"pyspark {version('pyspark')} and Delta {version('delta-spark')}. "
        "Made by `python -m tests.conformance.table --write`.",
        "",
        "| area | passed | applicable | not applicable |",
        "|---|---:|---:|---:|",
    ]
    for area in areas:
        passed, failed = told.get(area, NOTHING)["passed"], told.get(area, NOTHING)["failed"]
        lines.append(f"| {area} | {passed} | {passed + failed} | {missing[area] or ''} |")
    total = sum(found["passed"] for found in told.values())
    applicable = total + sum(found["failed"] for found in told.values())
    lines += [
        f"| all | {total} | {applicable} | {sum(missing.values())} |",
        "",
        "## Not applicable",
        "",
        "| class or test | reason |",
        "|---|---|",
        *(f"| `{key}` | {reason} |" for key, reason in NOT_APPLICABLE.items()),
        "",
        "A fixture is overridden only where it speaks Postgres or names another database; what a "
        "test checks stays as the package has it. `tests/conformance/test_completeness.py` fails "
        "when the package has a class that is neither run nor in this table.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    wanted = [argument for argument in arguments if not argument.startswith("-")]
    folder = ROOT / "tests/conformance"
    paths = [str(folder / f"test_{area}.py") for area in wanted] or [str(folder)]
    outcomes = Outcomes()
    # Workers collect for themselves, so the areas are learnt before they start.
    pytest.main(["-qq", "--collect-only", *paths], plugins=[outcomes])
    workers = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadscope"]
    code = pytest.main(["-q", "--no-header", *workers, *paths], plugins=[outcomes])
    told = json.loads(REMEMBERED.read_text()) if wanted and REMEMBERED.exists() else {}
    told |= outcomes.per_area()
    REMEMBERED.write_text(json.dumps(told))
    text = page(told)
    print(text)
    for node in outcomes.failed:
        print("FAILED", node)
    if "--write" in arguments:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
