"""Writes the table of connection methods into its page: python scripts/write_capabilities.py"""

import re
from pathlib import Path

from dbt.adapters.delta_maint.environments.capabilities import as_markdown

PAGE = Path(__file__).parents[1] / "docs" / "connection_methods.md"
BETWEEN = re.compile(r"(<!-- table -->\n).*?(\n<!-- end -->)", re.DOTALL)

if __name__ == "__main__":
    table = as_markdown()
    PAGE.write_text(BETWEEN.sub(lambda found: found[1] + table + found[2], PAGE.read_text()))
