"""What a request names: a folder of parquet, or a table of the catalog. Nothing is changed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.conversion import ConvertRequest
from dbt.adapters.delta_maint.core.errors import ConversionError, NotDeltaSourceError
from dbt.adapters.delta_maint.lake.catalog_entry import CatalogEntry, SessionCatalog
from dbt.adapters.delta_maint.lake.file_access import (
    DELTA_LOG,
    LocalFiles,
    TableFiles,
    open_files,
    strip_file_scheme,
)
from dbt.adapters.delta_maint.lake.jvm_delta import JvmDelta

_PROVIDED_PATH = re.compile(r"([A-Za-z0-9_]+)\.`(.+)`", re.DOTALL)
COMMIT_NAME = re.compile(r"\d{20}\.(json|checkpoint\..*parquet)")
SINK_LOG = "_spark_metadata"


@dataclass(frozen=True)
class Source:
    label: str
    files: TableFiles
    entry: CatalogEntry | None

    @property
    def is_delta_entry(self) -> bool:
        return self.entry is not None and self.entry.provider == "delta"


def resolve(
    request: ConvertRequest,
    delta: JvmDelta,
    catalog: SessionCatalog,
    *,
    allowed_roots: Sequence[str] = (),
) -> Source:
    if request.table is not None:
        source = _table_source(request.table, delta, catalog)
    else:
        assert request.path is not None
        source = _path_source(request.path, delta)
    require_allowed(source.files.root, allowed_roots)
    if not source.is_delta_entry and not source.files.exists():
        raise ConversionError(
            f"[DELTA_PATH_DOES_NOT_EXIST] {source.files.root} doesn't exist: check the path."
        )
    if source.files.root == "/":
        raise ConversionError(
            "/ is the root of this machine's files: name the folder that holds the parquet files."
        )
    if source.files.exists() and not source.files.is_folder():
        raise ConversionError(
            f"{source.files.root} is a file: name the folder that holds the parquet files."
        )
    return source


def log_version(files: TableFiles) -> int:
    """The newest version in the log by its file names; -1 when there is none."""
    versions = [int(name[:20]) for name in files.names(DELTA_LOG) if COMMIT_NAME.fullmatch(name)]
    return max(versions, default=-1)


def require_allowed(root: str, allowed_roots: Sequence[str]) -> None:
    """The profile may say which folders a conversion can touch; real paths are compared."""
    if not allowed_roots:
        return
    for allowed in allowed_roots:
        base = strip_file_scheme(allowed).rstrip("/")
        if base.startswith("/"):
            base = LocalFiles(base).root
        if root == base or root.startswith(f"{base}/"):
            return
    raise ConversionError(
        f"{root} is not below any of the profile's convert_roots ({', '.join(allowed_roots)}): "
        "add its root there, or name another folder."
    )


def split_provider(path: str) -> tuple[str, str]:
    """`parquet.`/data/x`` and /data/x -> the provider and the path.

    >>> split_provider("csv.`/data/x`")
    ('csv', '/data/x')
    """
    found = _PROVIDED_PATH.fullmatch(path.strip())
    if found:
        return found.group(1).lower(), found.group(2).replace("``", "`")
    return "parquet", path


def refuse_foreign(provider: str, name: str) -> None:
    hint = f"; for Iceberg run CONVERT TO DELTA {name} itself" if provider == "iceberg" else ""
    raise NotDeltaSourceError(
        "[DELTA_CONVERT_NON_PARQUET_TABLE] CONVERT TO DELTA only supports parquet tables, but you "
        f"are trying to convert a {provider} source: {name}{hint}"
    )


def _path_source(path: str, delta: JvmDelta) -> Source:
    provider, location = split_provider(path)
    if provider not in ("parquet", "delta"):
        refuse_foreign(provider, path)
    files = open_files(delta, location)
    return Source(f"parquet.`{files.root}`", files, None)


def _table_source(
    table: tuple[str | None, str, str], delta: JvmDelta, catalog: SessionCatalog
) -> Source:
    entry = catalog.find(table)
    label = f"{table[1]}.{table[2]}"
    if entry is None:
        raise NotDeltaSourceError(
            f"[TABLE_OR_VIEW_NOT_FOUND] There is no table {label} in the catalog: check the name, "
            "or name its folder with path."
        )
    if entry.provider not in ("parquet", "delta") and not entry.is_hive_serde:
        refuse_foreign(entry.provider, label)
    return Source(label, open_files(delta, entry.location), entry)
