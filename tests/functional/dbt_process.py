"""A dbt project in a folder of its own, run as users run it: one process per command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

DBT = Path(sys.executable).parent / "dbt"


@dataclass
class DbtFolder:
    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path, models: dict[str, str], **profile: Any) -> DbtFolder:
        (root / "models").mkdir(parents=True)
        for name, text in models.items():
            (root / "models" / name).write_text(text)
        (root / "dbt_project.yml").write_text(
            "name: shop\nprofile: shop\nversion: '1.0'\nconfig-version: 2\n"
            "flags: {send_anonymous_usage_stats: false, use_colors: false}\n"
        )
        folder = cls(root)
        folder.write_profile(**profile)
        return folder

    def write_profile(self, **keys: Any) -> None:
        target = {"type": "delta_maint", "schema": "analytics", "threads": 2, **keys}
        profile = {"shop": {"target": "dev", "outputs": {"dev": target}}}
        (self.root / "profiles.yml").write_text(yaml.safe_dump(profile))

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(DBT), "--no-use-colors", *arguments],
            cwd=self.root,
            env={**os.environ, **self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_as_from_a_terminal,
        )

    def run(self, *arguments: str, expect: int = 0, **environment: str) -> str:
        process = self.start(*arguments, **environment)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == expect, output
        return output

    def files_with(self, secret: str) -> list[Path]:
        """Logs, artifacts and whatever else a command left, without the profile itself."""
        return [
            path
            for path in self.root.rglob("*")
            if path.is_file()
            and path.name != "profiles.yml"
            and secret in path.read_text(errors="replace")
        ]


def _as_from_a_terminal() -> None:
    """A suite that was started in the background ignores Ctrl-C, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
