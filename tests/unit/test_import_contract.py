"""The walls between the rooms.

import-linter cannot look into a package below `dbt`, which dbt-core owns as a regular package, so the
contract is read from the source itself.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = "dbt.adapters.delta_maint"
ROOT = Path(__file__).parents[2] / "dbt" / "adapters" / "delta_maint"
STANDARD_LIBRARY = __import__("sys").stdlib_module_names

ALLOWED = {
    "core": {f"{PACKAGE}.core"},
    "lake": {f"{PACKAGE}.core", f"{PACKAGE}.lake", "pyspark", "pyarrow", "py4j", "delta"},
    "report": {f"{PACKAGE}.core", f"{PACKAGE}.report", "jinja2", "rich"},
}
EXCEPTIONS = {"core/footer_stats.py": {"pyarrow"}}


def imported_modules(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which room they enter"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_its_wall_lets_in(room: str) -> None:
    for path in sorted((ROOT / room).rglob("*.py")):
        allowed = ALLOWED[room] | EXCEPTIONS.get(str(path.relative_to(ROOT)), set())
        for module in imported_modules(path):
            inside = any(module == name or module.startswith(f"{name}.") for name in allowed)
            standard = module.split(".")[0] in STANDARD_LIBRARY
            assert inside or standard, f"{path.relative_to(ROOT)} imports {module}"


def test_executors_never_see_dbt_through_the_environments() -> None:
    for path in sorted((ROOT / "environments").rglob("*.py")):
        foreign = [
            module
            for module in imported_modules(path)
            if module.startswith(("dbt_common", "dbt.")) and not module.startswith(PACKAGE)
        ]
        assert not foreign, f"{path.name} imports {foreign}"
