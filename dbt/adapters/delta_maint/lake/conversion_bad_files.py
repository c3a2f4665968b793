"""Files that cannot be part of the table: told apart by name or size, and refused all at once."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.delta_maint.core.conversion import ConvertRequest, RejectedFile
from dbt.adapters.delta_maint.core.errors import ConversionError
from dbt.adapters.delta_maint.lake.conversion_listing import Listing, unfit_reason

SHOWN_BAD_FILES = 20


def sift(listing: Listing, *, on_disk: bool) -> tuple[list[int], list[RejectedFile]]:
    """Numbers of the files worth opening, and those whose name or size says no."""
    kept, rejected = [], []
    for number, entry in enumerate(listing.files):
        reason = unfit_reason(entry, on_disk=on_disk)
        if reason is None:
            kept.append(number)
        else:
            rejected.append(RejectedFile(entry.path, reason, entry.size_bytes))
    return kept, rejected


def refuse_bad_files(
    request: ConvertRequest, root: str, rejected: Sequence[RejectedFile], *, must_fail: bool
) -> None:
    """`must_fail`: Spark could not read some of them either way, so leaving them out is no answer."""
    if not rejected:
        return
    skips = request.on_bad_file == "skip" and not must_fail
    if skips and (request.is_snapshot or request.accept_vacuum_loss or request.dry_run):
        return
    shown = "; ".join(f"{f.path}: {f.reason}" for f in rejected[:SHOWN_BAD_FILES])
    more = len(rejected) - SHOWN_BAD_FILES
    if skips:
        raise ConversionError(
            f"{len(rejected):,} file(s) would be left out, and a later VACUUM deletes files "
            f"that the log does not know ({shown}): move them away, or set "
            "accept_vacuum_loss: true."
        )
    way_out = "write them anew" if must_fail else "set on_bad_file: skip"
    raise ConversionError(
        f"[DELTA_FAILED_READ_FILE_FOOTER] {len(rejected):,} file(s) in {root} cannot be part of "
        f"a Delta table: {shown}{f'; and {more:,} more' if more > 0 else ''}. Remove them, or "
        f"{way_out}."
    )
