"""From a profile to the confs and JVM options of the embedded session. Reads the machine, starts nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlparse

from dbt.adapters.delta_maint.core.errors import ProfileError, WarehouseError
from dbt.adapters.delta_maint.environments.catalog import EMBEDDED, IN_MEMORY, CatalogChoice

GIB = 1024**3
SMALL_HEAP_BYTES = 8 * GIB
FEW_CORES = 4
STARTUP_MODES = ("auto", "fast", "standard")


@dataclass(frozen=True)
class SessionSettings:
    """Everything the session environment needs to know, resolved and absolute."""

    # Two projects on one warehouse and catalog can share a session: only its log and scratch lie here.
    home: Path = field(compare=False)
    warehouse: str
    catalog: CatalogChoice
    master: str = "local[*]"
    driver_memory: str | None = None
    startup: str = "auto"
    delta_jars: str | tuple[str, ...] | None = None
    catalog_wait_seconds: float = 5.0
    confs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "spark.log"

    @property
    def cores(self) -> int:
        found = re.match(r"local\[(\d+)", self.master)
        return int(found.group(1)) if found else os.cpu_count() or 1

    @property
    def heap(self) -> str:
        return self.confs.get("spark.driver.memory") or self.driver_memory or default_heap()

    @property
    def favours_start(self) -> bool:
        """C1-only compilation: right for small local work, wrong for big."""
        if not self.is_local or self.startup == "standard":
            return False
        small = self.cores <= FEW_CORES and heap_bytes(self.heap) <= SMALL_HEAP_BYTES
        return self.startup == "fast" or small


def resolve_settings(
    *,
    project_root: Path,
    warehouse: str | None,
    catalog: str | None,
    catalog_path: str | None,
    master: str,
    driver_memory: str | None,
    startup: str,
    delta_jars: str | Sequence[str] | None,
    confs: Mapping[str, str],
    catalog_wait_seconds: float = 5.0,
) -> SessionSettings:
    """Fills what the profile leaves open; refuses what cannot work together."""
    home = project_root.absolute() / ".delta_maint"
    location = _absolute_location(warehouse, project_root, default=home / "warehouse")
    return SessionSettings(
        home=home,
        warehouse=location,
        catalog=_choose_catalog(catalog or EMBEDDED, catalog_path, location, project_root),
        master=master,
        driver_memory=driver_memory,
        startup=startup,
        delta_jars=tuple(delta_jars) if isinstance(delta_jars, list | tuple) else delta_jars,  # type: ignore[arg-type]
        catalog_wait_seconds=catalog_wait_seconds,
        confs=dict(confs),
    )


def prepare_folders(settings: SessionSettings) -> None:
    """Creates what is local and refuses what cannot be written, before any JVM starts."""
    folders = [settings.home, settings.log_file.parent]
    warehouse = local_path(settings.warehouse)
    if warehouse is not None:
        folders.append(warehouse)
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as exc:
            raise WarehouseError(
                f"The folder {folder} cannot be written ({exc.strerror}): make it writable or set "
                "another `warehouse` in the profile."
            ) from exc
    ignore = settings.home / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def local_path(location: str) -> Path | None:
    """The folder a location names on this machine; None for an object store or HDFS."""
    parsed = urlparse(location)
    if parsed.scheme == "file":
        return Path(parsed.path)
    return None if parsed.scheme else Path(location)


def default_heap() -> str:
    """Half of the machine's memory, at least 1 GiB and at most 8."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        total = 4 * GIB
    return f"{max(1024, min(8 * 1024, total // 2 // 1024**2))}m"


def heap_bytes(text: str) -> int:
    """
    >>> heap_bytes("2g") == 2 * GIB
    True
    """
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    if not found:
        raise ProfileError(f"driver_memory is {text!r}: write a number with a unit, such as 4g.")
    return int(found.group(1)) * 1024 ** "kmgt".index(found.group(2) or "m") * 1024


def _absolute_location(warehouse: str | None, project_root: Path, *, default: Path) -> str:
    if warehouse is None:
        return str(default)
    parsed = urlparse(warehouse)
    if parsed.scheme:
        return warehouse.rstrip("/")
    return str((project_root / Path(warehouse).expanduser()).absolute())


def _choose_catalog(
    kind: str, catalog_path: str | None, warehouse: str, project_root: Path
) -> CatalogChoice:
    if kind != EMBEDDED:
        if kind != IN_MEMORY and not re.match(r"thrifts?://[^/]+", kind):
            raise ProfileError(
                f"catalog is {kind!r}: use embedded, in_memory, or the URI of a Hive metastore "
                "such as thrift://host:9083."
            )
        if catalog_path is not None:
            raise ProfileError(
                f"catalog_path belongs to `catalog: embedded`, but catalog is {kind!r}: remove "
                "one of the two."
            )
        return CatalogChoice(kind)
    if catalog_path is not None:
        folder = (project_root / Path(catalog_path).expanduser()).absolute()
        return CatalogChoice(EMBEDDED, folder)
    local = local_path(warehouse)
    if local is None:
        raise ProfileError(
            f"warehouse {warehouse} is not on this machine, so the embedded catalog has no folder: "
            "set `catalog_path` to a local folder, or `catalog: thrift://host:9083` for a Hive "
            "metastore."
        )
    return CatalogChoice(EMBEDDED, local / "_catalog")
