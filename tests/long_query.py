"""A query that takes an hour and no processor: it waits, and ends at once where its tasks are interrupted.

One that counts would go on after it was cancelled, in a Connect server or in the session that all tests share: Spark
interrupts a task there, and generated code does not look.
"""

from __future__ import annotations

LONG_QUERY = (
    "select count(waited) as n from ("
    "select reflect('java.lang.Thread', 'sleep', 1000L) as waited from range(0, 3600, 1, 1))"
)
IN_LONG_QUERY = "java.lang.Thread"
