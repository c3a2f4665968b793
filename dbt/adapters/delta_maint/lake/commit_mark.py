"""The mark our commits carry in Delta's `userMetadata`: who did what, readable in the history.

One line of JSON. A commit whose user gave it metadata of their own keeps that; reading accepts whatever
is there and answers None for what is not ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TOOL = "dbt-delta-maint"
CONF = "spark.databricks.delta.commitInfo.userMetadata"
WRITE = "write"
COMPACT = "compact"


@dataclass(frozen=True)
class CommitMark:
    action: str
    version: str
    invocation_id: str | None = None
    node: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """
        >>> CommitMark("compact", "1.0", node="model.shop.orders", details={"policy": "bins"}).text()
        '{"tool":"dbt-delta-maint","version":"1.0","action":"compact","node":"model.shop.orders","policy":"bins"}'
        """
        known = {
            "tool": TOOL,
            "version": self.version,
            "action": self.action,
            "invocation_id": self.invocation_id,
            "node": self.node,
        }
        told = {key: value for key, value in known.items() if value is not None}
        extra = {key: value for key, value in self.details.items() if key not in known}
        return json.dumps(told | extra, separators=(",", ":"))


def read_mark(user_metadata: str | None) -> CommitMark | None:
    """The mark of a commit, or None where it is somebody else's."""
    try:
        found = json.loads(user_metadata or "")
    except ValueError:
        return None
    if not isinstance(found, dict) or found.pop("tool", None) != TOOL:
        return None
    return CommitMark(
        action=str(found.pop("action", "")),
        version=str(found.pop("version", "")),
        invocation_id=found.pop("invocation_id", None),
        node=found.pop("node", None),
        details=found,
    )
