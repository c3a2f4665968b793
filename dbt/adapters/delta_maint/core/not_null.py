"""A CHECK that a column is not NULL -> the NOT NULL of the table's schema.

The CHECK has been enforced since the version that holds it, so no row can be NULL, and the change is one of
metadata alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def tightened(metadata: Mapping[str, Any], checks: Mapping[str, str]) -> dict[str, Any] | None:
    """The metaData action with `checks` (column -> its property) made NOT NULL; None when none is there.

    >>> schema = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true}]}'
    >>> before = {"schemaString": schema, "configuration": {"c": "a is not null"}}
    >>> tightened(before, {"A": "c"})["configuration"]
    {}
    >>> tightened(before, {"a": "d"}) is None
    True
    """
    configuration = dict(metadata["configuration"])
    held = {name.lower(): key for name, key in checks.items() if key in configuration}
    if not held:
        return None
    schema = json.loads(metadata["schemaString"])
    for field in schema["fields"]:
        key = held.get(field["name"].lower())
        if key is not None:
            field["nullable"] = False
            configuration.pop(key, None)
    return {**metadata, "schemaString": json.dumps(schema), "configuration": configuration}
