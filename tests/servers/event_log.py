"""Which executor ran what, as Spark's own event log tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def event_log_confs(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def events(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            if f'"Event":"SparkListener{kind}"' in line:
                yield json.loads(line)


def executors_of_jobs(folder: Path, text: str) -> list[set[str]]:
    """Per job whose stages mention `text`: the executors on which its tasks succeeded."""
    ran: dict[int, set[str]] = {}
    for event in events(folder, "TaskEnd"):
        if event["Task End Reason"]["Reason"] == "Success":
            ran.setdefault(event["Stage ID"], set()).add(event["Task Info"]["Executor ID"])
    return [
        set().union(*(ran.get(stage, set()) for stage in event["Stage IDs"]))
        for event in events(folder, "JobStart")
        if text in json.dumps(event["Stage Infos"]) or text in json.dumps(event["Properties"])
    ]


def lost_tasks(folder: Path) -> list[str]:
    """Why tasks failed, one reason each."""
    reasons = (event["Task End Reason"]["Reason"] for event in events(folder, "TaskEnd"))
    return [reason for reason in reasons if reason != "Success"]
