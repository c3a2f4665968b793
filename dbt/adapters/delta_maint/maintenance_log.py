"""What maintenance did in this invocation, as JSON under `target/delta_maint/`.

One file per invocation, replaced as a whole after every entry, so that a reader never sees half of one
and a killed run leaves what it had done. Operations, deferred work and microbatches have no other place.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1


class MaintenanceLog:
    def __init__(self, target: Path, invocation_id: str) -> None:
        self.path = target / "delta_maint" / f"compaction-{invocation_id}.json"
        self._invocation_id = invocation_id
        self._entries: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self._entries.append(entry)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_suffix(".partial")
            partial.write_text(
                json.dumps(
                    {
                        "schema_version": SCHEMA_VERSION,
                        "invocation_id": self._invocation_id,
                        "compactions": self._entries,
                    },
                    indent=1,
                )
            )
            os.replace(partial, self.path)
