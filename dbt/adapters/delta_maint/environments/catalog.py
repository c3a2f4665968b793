"""Which tables exist: the embedded catalog kept between runs, an external metastore, or memory.

The embedded catalog is Hive's metastore on an embedded Derby database, one folder, absolute paths.
Derby serves one process at a time and says so only after a minute and in a Java stack; a lock file
of our own, held as long as the Spark process lives, says it in seconds and names the process.

Why not Derby's server mode: it needs a process that outlives every run (who starts it, who stops it,
which port), and several dbt processes on one warehouse are better served by what a team has anyway,
a Hive metastore. `catalog: thrift://host:9083` takes that in one line.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.delta_maint.core.errors import CatalogLockedError, WarehouseError
from filelock import FileLock, Timeout

EMBEDDED = "embedded"
IN_MEMORY = "in_memory"


@dataclass(frozen=True)
class CatalogChoice:
    """`kind` is embedded, in_memory or the URI of a Hive metastore."""

    kind: str
    folder: Path | None = None

    @property
    def is_embedded(self) -> bool:
        return self.kind == EMBEDDED

    @property
    def is_kept(self) -> bool:
        """Whether its tables outlive dbt."""
        return self.kind != IN_MEMORY

    def describe(self) -> str:
        if self.is_embedded:
            return f"embedded, kept in {self.folder}"
        if self.kind == IN_MEMORY:
            return "in memory, forgotten when dbt ends"
        return f"Hive metastore at {self.kind}"

    def spark_confs(self) -> dict[str, str]:
        if self.kind == IN_MEMORY:
            return {"spark.sql.catalogImplementation": "in-memory"}
        confs = {"spark.sql.catalogImplementation": "hive"}
        if self.is_embedded:
            confs |= {
                "spark.hadoop.javax.jdo.option.ConnectionURL": (
                    f"jdbc:derby:;databaseName={self._database};create=true"
                ),
                "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
                "spark.hadoop.hive.metastore.schema.verification": "false",
                # Delta's schema is the truth; Hive's copy follows without a fight.
                "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
            }
        else:
            confs["spark.hadoop.hive.metastore.uris"] = self.kind
        return confs

    def java_options(self, *, log_folder: Path) -> list[str]:
        if not self.is_embedded:
            return []
        return [
            f"-Dderby.system.home={self.folder}",
            f"-Dderby.stream.error.file={log_folder / 'derby.log'}",
        ]

    @property
    def _database(self) -> Path:
        assert self.folder is not None
        return self.folder / "metastore_db"


class CatalogLock:
    """Held by one process per embedded catalog; a second one is told who holds it."""

    def __init__(self, folder: Path, *, wait_seconds: float) -> None:
        self._folder = folder
        self._wait_seconds = wait_seconds
        self._lock = FileLock(str(folder / "in_use.lock"))
        self._owner_file = folder / "in_use.json"

    def acquire(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=self._wait_seconds)
        except Timeout as exc:
            raise CatalogLockedError(
                f"Another dbt process{self._owner()} is using the embedded catalog in "
                f"{self._folder}: wait until it ends, or let several processes work at once with "
                "`catalog: thrift://host:9083` (a Hive metastore) or another `warehouse` in the "
                "profile."
            ) from exc
        except OSError as exc:
            raise WarehouseError(
                f"The catalog folder {self._folder} cannot be written ({exc.strerror}): make it "
                "writable or set `catalog_path` in the profile."
            ) from exc
        self._owner_file.write_text(
            json.dumps({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S")})
        )

    def release(self) -> None:
        self._owner_file.unlink(missing_ok=True)
        self._lock.release()

    def _owner(self) -> str:
        try:
            owner = json.loads(self._owner_file.read_text())
            return f" (process {owner['pid']}, since {owner['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return ""
