"""The table of `pack check`: mistakes, and the checks that refuse them."""

from __future__ import annotations

from collections.abc import Sequence

from attn_drill.model.checks import CHECK_ORDER
from attn_drill.packs.pack_items import Row


def mistakes_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a row for each mistake or pair, and a column for each check."""
    mistakes = [row for row in rows if row.kind in ("mistake", "pair")]
    used = [check for check in CHECK_ORDER if any(check in row.refused_by for row in mistakes)]
    if not mistakes:
        return "No mistakes were graded."
    table = [["challenge", "mistake", *used]]
    for row in mistakes:
        # The diagnosis must name a mistake that a check refuses.
        fault = "NOT NAMED" if row.refused_by else "NOT REFUSED"
        name = row.name if row.ok else f"{row.name} ({fault})"
        marks = ["x" if check in row.refused_by else "" for check in used]
        table.append([row.challenge, name, *marks])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines: list[str] = []
    for cells in table:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append(f"| {' | '.join(padded)} |")
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
