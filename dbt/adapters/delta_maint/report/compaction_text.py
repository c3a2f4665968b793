"""A compaction plan as a table of text, the same numbers as its JSON."""

from __future__ import annotations

from dbt.adapters.delta_maint.core.compaction_plan import CompactionPlan
from dbt.adapters.delta_maint.core.sizes import format_bytes

MOST_ROWS = 30


def plan_lines(plan: CompactionPlan) -> list[str]:
    """
    A header line, then one line per partition: those that would be rewritten first.
    """
    head = (
        f"{plan.table}: {plan.sentence()} (version {plan.version}, {plan.files} files, "
        f"{format_bytes(plan.size_bytes)}, target {format_bytes(plan.target_bytes)}, "
        f"policy {plan.policy})"
    )
    rows = [
        (
            work.action.value,
            work.label,
            f"{work.input_files} -> {work.output_files}",
            format_bytes(work.input_bytes),
            work.reason,
        )
        for work in plan.chosen
    ]
    rows += [
        ("skip", skip.label, str(skip.files), format_bytes(skip.size_bytes), skip.reason)
        for skip in plan.skipped
    ]
    if not rows:
        return [head]
    shown = [("action", "partition", "files", "bytes", "reason"), *rows[:MOST_ROWS]]
    widths = [max(len(row[column]) for row in shown) for column in range(4)]
    lines = [
        "  "
        + "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]
        )
        for row in shown
    ]
    if len(rows) > MOST_ROWS:
        lines.append(f"  ... and {len(rows) - MOST_ROWS} more partitions, all in the JSON")
    return [head, *lines]
