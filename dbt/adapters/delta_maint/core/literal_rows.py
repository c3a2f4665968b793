"""Rows of text as SQL text, for connections over which nothing but SQL travels.

A batch of rows is one string literal that holds JSON: the parser reads one token, whatever the number of
cells, and JSON says for itself what is null, a quote, a line break or any other character.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dbt.adapters.delta_maint.core.sql_text import string_literal

# A server keeps the text of its last few hundred statements.
BATCH_BYTES = 512 * 1024

TextRow = Sequence["str | None"]


def batches(rows: Sequence[TextRow], most_bytes: int = BATCH_BYTES) -> Iterator[Sequence[TextRow]]:
    """Consecutive rows, at least one batch, none longer than `most_bytes` unless a single row is.

    >>> [len(batch) for batch in batches([("abc",), ("d",), (None,)], most_bytes=12)]
    [2, 1]
    >>> list(batches([]))
    [[]]
    """
    first, size = 0, 0
    for index, row in enumerate(rows):
        added = sum(4 + len((cell or "").encode()) for cell in row)
        if index > first and size + added > most_bytes:
            yield rows[first:index]
            first, size = index, 0
        size += added
    yield rows[first:]


def rows_query(rows: Sequence[TextRow], names: Sequence[str]) -> str:
    r"""A query whose rows are these, every column a string.

    >>> print(rows_query([("O'Hara", None)], ["c0", "c1"]))
    select row[0] as c0, row[1] as c1 from (select explode(from_json('[["O\'Hara",null]]', 'array<array<string>>', map('mode', 'FAILFAST'))) as row)
    """
    text = json.dumps([list(row) for row in rows], ensure_ascii=False, separators=(",", ":"))
    # Spark puts confs and variables in the place of ${...}, in literals too.
    literal = string_literal(text).replace("$", "\\u0024")
    columns = ", ".join(f"row[{index}] as {name}" for index, name in enumerate(names))
    return (
        f"select {columns} from (select explode(from_json({literal}, 'array<array<string>>', "
        "map('mode', 'FAILFAST'))) as row)"
    )
