from __future__ import annotations

import json

import pytest
from dbt.adapters.delta_maint.core.commit_metrics import CommitMetrics
from dbt.adapters.delta_maint.response import enlarged, message, of_statement

MERGE = {
    "numOutputRows": "3",
    "numTargetRowsInserted": "1",
    "numTargetRowsUpdated": "1",
    "numTargetRowsDeleted": "0",
    "numTargetRowsCopied": "1",
    "numTargetFilesAdded": "2",
    "numTargetFilesRemoved": "1",
    "numTargetBytesAdded": "1488",
    "numTargetBytesRemoved": "765",
}


@pytest.mark.parametrize(
    ("operation", "metrics", "rows", "files", "bytes_"),
    [
        ("WRITE", {"numOutputRows": "4", "numFiles": "2", "numOutputBytes": "9"}, 4, (2, None), 9),
        (
            "WRITE",
            {"numOutputRows": "21", "numCopiedRows": "20", "numFiles": "2", "numRemovedFiles": "2"},
            1,
            (2, 2),
            None,
        ),
        ("MERGE", MERGE, 2, (2, 1), 1488),
        (
            "DELETE",
            {"numDeletedRows": "5", "numAddedFiles": "0", "numRemovedFiles": "1"},
            5,
            (0, 1),
            None,
        ),
        (
            "UPDATE",
            {"numUpdatedRows": "5", "numCopiedRows": "7", "numAddedFiles": "1"},
            5,
            (1, None),
            None,
        ),
        ("SET TBLPROPERTIES", {}, None, (None, None), None),
    ],
)
def test_every_operation_tells_rows_files_and_bytes_in_its_own_words(
    operation: str,
    metrics: dict[str, str],
    rows: int | None,
    files: tuple[int | None, int | None],
    bytes_: int | None,
) -> None:
    found = CommitMetrics.of(operation, metrics)
    assert found.rows_affected == rows
    assert (found.files_added, found.files_removed) == files
    assert found.bytes_added == bytes_


def test_a_commit_line_without_commit_info_tells_nothing() -> None:
    assert CommitMetrics.of_commit_line(json.dumps({"protocol": {}})) is None


def test_a_later_step_adds_its_numbers_and_its_sentence() -> None:
    told = of_statement(rows_affected=3, table_version=4).with_part(
        "compaction", {"files_before": 9}, sentence="compacted 9 -> 1 files"
    )
    assert told.to_dict(omit_none=True) == {
        "_message": "3 rows, compacted 9 -> 1 files",
        "rows_affected": 3,
        "table_version": 4,
        "compaction": {"files_before": 9},
    }


def test_a_response_that_is_only_text_can_be_enlarged() -> None:
    assert str(enlarged("OK").with_metrics(CommitMetrics.of("WRITE", {}))) == message(None) == "OK"
