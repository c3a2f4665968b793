"""Runs the portable tests on every connection method but session, side by side.

    python scripts/run_on_methods.py connect thrift [-- arguments of pytest]

A process of pytest knows one method, and each waits for its server half of the time. What a run prints
is shown when it has ended, so that no two reports are mixed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import IO

TESTS = ["tests/functional", "tests/conformance"]


def main(arguments: list[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    methods, rest = arguments[:cut], arguments[cut + 1 :]
    runs: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
    for method in methods:
        output = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        command = [sys.executable, "-m", "pytest", *TESTS, "--method", method, *rest]
        runs[method] = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT), output
    failed = False
    try:
        for method, (process, output) in runs.items():
            failed |= process.wait() != 0
            print(f"--- method: {method} ---", flush=True)
            output.seek(0)
            sys.stdout.buffer.write(output.read())
            sys.stdout.flush()
    except KeyboardInterrupt:
        # The terminal told them too; they stop their servers.
        for process, _ in runs.values():
            process.wait()
        return 130
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
