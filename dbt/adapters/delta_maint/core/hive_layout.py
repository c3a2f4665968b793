"""Partition folders <-> column names and values.

`country=DE/day=2024-01-01` below a table's root names one value per partition column. Names and values
are unescaped exactly once, as Hive and Spark do it: `%2F` is a slash, `%252F` is the text `%2F`.
Folders without `=` carry no meaning, wherever they stand. Nothing above the root counts, so a root
that itself looks like a partition is just a root.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.delta_maint.core.errors import PartitionLayoutError

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
# What Hive escapes in a folder name: control characters and these.
_UNSAFE = set("\"#%'*/:=?\\\x7f{[]^") | {chr(code) for code in range(1, 32)}

# What java.net.URI encodes in a path, and Delta with it. Other characters outside of ASCII stay: VACUUM
# compares this text with the names it lists, so it has to be the very same.
_URI_ENCODED = re.compile(
    '[\\x00-\\x20"#%<>?\\[\\\\\\]^`{|}\\x7f-\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
)

PartitionPairs = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class PartitionColumn:
    """A partition column with the type it has in the table, spelled as in a Spark schema."""

    name: str
    type_name: str


def unescape(text: str) -> str:
    """
    >>> unescape("a%3Ab%252F")
    'a:b%2F'
    """
    if "%" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)


def escape(text: str) -> str:
    """The folder name Hive and Spark write for a name or value; the inverse of `unescape`.

    >>> escape("a:b/c")
    'a%3Ab%2Fc'
    """
    return "".join(f"%{ord(char):02X}" if char in _UNSAFE else char for char in text)


def is_hidden_file(name: str) -> bool:
    return name.startswith(("_", "."))


def is_hidden_folder(name: str) -> bool:
    """`_temporary` is hidden, the partition `_key=1` is not."""
    return name.startswith(("_", ".")) and "=" not in name


def partition_pairs(relative_folder: str) -> PartitionPairs:
    """The names and values a folder stands for; None is null.

    >>> partition_pairs("country=DE/batch/day=__HIVE_DEFAULT_PARTITION__")
    (('country', 'DE'), ('day', None))
    """
    pairs = []
    for segment in relative_folder.split("/"):
        if "=" not in segment:
            continue
        name, _, value = segment.partition("=")
        if not name:
            raise PartitionLayoutError(
                f"The folder {relative_folder} has a part without a column name before `=`: "
                "rename it to name=value."
            )
        pairs.append((unescape(name), None if value in ("", HIVE_NULL) else unescape(value)))
    return tuple(pairs)


def common_columns(folders: Iterable[str]) -> tuple[str, ...]:
    """The partition columns that every folder has, in path order.

    The first folder in path order is the measure; the first that differs is named with it. Names
    are compared without case, as Spark does.
    """
    expected: tuple[str, ...] | None = None
    witness = ""
    for folder in sorted(folders):
        names = tuple(name for name, _ in partition_pairs(folder))
        if expected is None:
            expected, witness = names, folder
            _refuse_repeated(names, folder)
        elif [name.lower() for name in names] != [name.lower() for name in expected]:
            raise PartitionLayoutError(
                f"{_difference(expected, names, folder)} The folder it was compared with is "
                f"{witness or '.'}: every file must lie below the same partition columns."
            )
    return expected or ()


def require_columns(expected: Sequence[str], folders: Iterable[str]) -> None:
    """Every folder has exactly these columns, in this order."""
    for folder in sorted(folders):
        names = [name for name, _ in partition_pairs(folder)]
        if [name.lower() for name in names] != [name.lower() for name in expected]:
            raise PartitionLayoutError(_difference(expected, names, folder))


def encode_path(relative_path: str) -> str:
    """A path on disk as the `path` of an add action: a URI, encoded once more than the disk has it.

    >>> encode_path("k=a b%3Ac/x.parquet")
    'k=a%20b%253Ac/x.parquet'
    """
    encoded = _URI_ENCODED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), relative_path
    )
    # In front of the first slash a colon would end a URI's scheme; after it, Java leaves it alone.
    first, slash, rest = encoded.partition("/")
    return first.replace(":", "%3A") + slash + rest


def _difference(expected: Sequence[str], names: Sequence[str], folder: str) -> str:
    if len(names) != len(expected):
        return (
            "[DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME] "
            f"Expecting {len(expected)} partition column(s): [{', '.join(expected)}], but found "
            f"{len(names)} partition column(s): [{', '.join(names)}] from parsing the file name: "
            f"{folder or '.'}"
        )
    wanted, found = next(
        (left, right)
        for left, right in zip(expected, names, strict=True)
        if left.lower() != right.lower()
    )
    return (
        "[DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME] "
        f"Expecting partition column {wanted}, but found partition column {found} from parsing "
        f"the file name: {folder or '.'}"
    )


def _refuse_repeated(names: Sequence[str], folder: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise PartitionLayoutError(
                f"[DELTA_DUPLICATE_COLUMNS_FOUND] The folder {folder} names the partition column "
                f"{name} twice: each may stand once in a path."
            )
        seen.add(name.lower())
