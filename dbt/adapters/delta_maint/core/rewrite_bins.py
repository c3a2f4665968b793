"""Which files become one file: Delta's own selection and packing, with the files themselves.

OPTIMIZE takes every file of the named partitions below a size, orders them by size and packs each
partition next-fit; a bin of one file is left alone. A rewriter that does not go through OPTIMIZE must
choose the same, so that the plan is what happens whoever rewrites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.table import PartitionKey


@dataclass(frozen=True, slots=True)
class InputFile:
    """A live file as the log has it; `partition_values` are written to new files as they stand."""

    path: str
    size_bytes: int
    partition: PartitionKey
    partition_values: Mapping[str, str | None]
    num_records: int | None = None
    modified_ms: int = 0
    refusal: str | None = None


@dataclass(frozen=True)
class FileBin:
    """Files of one partition that become one, in the order in which they were written."""

    number: int
    partition: PartitionKey
    files: tuple[InputFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def folder(self) -> str:
        """Where the first file lies, as the log spells it: with a slash at its end, or empty."""
        head, slash, _ = self.files[0].path.rpartition("/")
        return head + slash


def pack_files(
    files: Sequence[InputFile],
    *,
    below_bytes: int,
    cap_bytes: int,
    unite: Callable[[PartitionKey], PartitionKey] = lambda key: key,
) -> list[FileBin]:
    """The bins of two files and more; `unite` gives the notations of one partition one key."""
    grouped: dict[PartitionKey, list[InputFile]] = {}
    for file in files:
        if file.size_bytes < below_bytes:
            grouped.setdefault(unite(file.partition), []).append(file)
    bins: list[FileBin] = []
    for key, members in grouped.items():
        members.sort(key=lambda file: file.size_bytes)
        for part in _next_fit(members, cap_bytes):
            if len(part) > 1:
                # Rows that were written in an order keep it: by commit, then by task.
                part.sort(key=lambda file: (file.modified_ms, _name(file.path)))
                bins.append(FileBin(len(bins), key, tuple(part)))
    return bins


def share_among_tasks(
    bins: Sequence[FileBin], *, cores: int, large_bytes: int
) -> list[list[FileBin]]:
    """Tasks for the bins: a large bin is one, small ones share, the largest come first."""
    total = sum(found.size_bytes for found in bins)
    share = min(large_bytes, total // (3 * max(1, cores)) + 1)
    tasks: list[list[FileBin]] = []
    room = 0
    for found in sorted(bins, key=lambda found: -found.size_bytes):
        if not tasks or found.size_bytes > room:
            tasks.append([])
            room = share
        tasks[-1].append(found)
        room -= found.size_bytes
    return tasks


def _next_fit(ascending: Sequence[InputFile], cap_bytes: int) -> list[list[InputFile]]:
    parts: list[list[InputFile]] = []
    room = -1
    for file in ascending:
        if not parts or file.size_bytes > room:
            parts.append([])
            room = cap_bytes
        parts[-1].append(file)
        room -= file.size_bytes
    return parts


def _name(path: str) -> str:
    return path.rpartition("/")[2]
