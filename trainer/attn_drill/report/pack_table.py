"""The progress of `pack check`, and its table of mistakes and the checks that refuse them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from attn_drill.model.checks import CHECK_ORDER
from attn_drill.packs.pack_items import Row
from attn_drill.report.literal import console


def mistakes_table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with a row for each mistake or pair, and a column for each check.

    A cell has an `x` if the check refuses the mistake. A mistake that no check refuses has `NOT
    REFUSED` after its name. A refused mistake that the diagnosis does not name has `NOT NAMED`.
    """
    mistakes = [row for row in rows if row.kind in ("mistake", "pair")]
    used = [check for check in CHECK_ORDER if any(check in row.refused_by for row in mistakes)]
    if not mistakes:
        return "No mistakes were graded."
    table = [["challenge", "mistake", *used]]
    for row in mistakes:
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


class PackProgress(Progress):
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int, stream: TextIO) -> None:
        out = console(stream)
        super().__init__(
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=out,
            disable=not out.is_terminal,
        )
        self._items = self.add_task("", total=total)

    def count(self, name: str) -> None:
        """Count one more item and show its name."""
        self.update(self._items, advance=1, description=name)
