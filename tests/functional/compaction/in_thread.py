"""Another writer: its own thread, its own session, run to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def in_thread(work: Callable[[], Any]) -> Any:
    """Runs `work` in a new thread and waits; what it raised is raised here."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = work()
        except BaseException as exc:
            outcome["fault"] = exc

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "the other writer did not come to its end"
    if "fault" in outcome:
        raise outcome["fault"]
    return outcome.get("value")
