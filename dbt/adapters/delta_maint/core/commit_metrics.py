"""What one commit did to a table, read from the metrics that Delta writes into it.

Every operation names its metrics differently. A number that the commit does not carry stays None:
nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

_ROWS_INSERTED = ("numTargetRowsInserted", "numOutputRows")
_ROWS_COPIED = ("numCopiedRows",)
_ROWS_UPDATED = ("numTargetRowsUpdated", "numUpdatedRows")
_ROWS_DELETED = ("numTargetRowsDeleted", "numDeletedRows")
_FILES_ADDED = ("numTargetFilesAdded", "numAddedFiles", "numFiles", "numCopiedFiles")
_FILES_REMOVED = ("numTargetFilesRemoved", "numRemovedFiles")
_BYTES_ADDED = ("numTargetBytesAdded", "numAddedBytes", "numOutputBytes", "copiedFilesSize")
_BYTES_REMOVED = ("numTargetBytesRemoved", "numRemovedBytes", "removedFilesSize")


@dataclass(frozen=True)
class CommitMetrics:
    operation: str
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None
    bytes_removed: int | None = None

    @classmethod
    def of(cls, operation: str, metrics: Mapping[str, str]) -> CommitMetrics:
        """
        >>> CommitMetrics.of("WRITE", {"numFiles": "2", "numOutputRows": "10"}).rows_inserted
        10
        """

        def first(names: tuple[str, ...]) -> int | None:
            return next((int(metrics[name]) for name in names if name in metrics), None)

        inserted = first(_ROWS_INSERTED)
        if inserted is not None and "numTargetRowsInserted" not in metrics:
            # Rows of a rewritten file that REPLACE WHERE does not touch are written again.
            inserted -= first(_ROWS_COPIED) or 0
        return cls(
            operation=operation,
            rows_inserted=inserted,
            rows_updated=first(_ROWS_UPDATED),
            rows_deleted=first(_ROWS_DELETED),
            files_added=first(_FILES_ADDED),
            files_removed=first(_FILES_REMOVED),
            bytes_added=first(_BYTES_ADDED),
            bytes_removed=first(_BYTES_REMOVED),
        )

    @classmethod
    def of_commit_line(cls, line: str) -> CommitMetrics | None:
        """From the first line of a commit file; None when it carries no metrics."""
        info = json.loads(line).get("commitInfo") or {}
        if "operation" not in info:
            return None
        return cls.of(info["operation"], info.get("operationMetrics") or {})

    @property
    def rows_affected(self) -> int | None:
        """Rows written by a load; rows inserted, updated and deleted by a MERGE, UPDATE or DELETE."""
        if self.operation not in ("MERGE", "UPDATE", "DELETE"):
            return self.rows_inserted
        counts = [self.rows_inserted, self.rows_updated, self.rows_deleted]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None
