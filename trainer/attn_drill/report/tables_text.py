"""Tables of costs, of the checks of a pack, and of the progress of a class."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from attn_drill.classroom.records import StudentResult
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.words import in_bytes, plural
from attn_drill.packs.content_check import Row
from attn_drill.report.class_words import VERDICTS
from attn_drill.report.code_text import LiteralTable, Trimmed, console
from attn_drill.report.words import QUIET, RIGHT
from attn_drill.tools.attention_costs import ELEMENT_BYTES, Configuration, Cost, Preset

_WIDE = 70  # least width at which the table has bars


def render(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost], width: int = 80
) -> RenderableType:
    """Return the configuration, which may be that of a published model, the table and its notes."""
    model = f"{preset.name}: " if preset else ""
    title = (
        f"{model}d_model {sizes.d_model}, {plural(sizes.num_heads, 'head')} of {sizes.head_dim}, "
        f"{plural(sizes.seq_len, 'token')}, batch {sizes.batch}, {sizes.dtype}, "
        f"{plural(sizes.num_layers, 'layer')}"
    )
    notes = (Text(note, style=QUIET) for note in _notes(sizes, preset))
    return Trimmed(Group(Text(title), Text(), _table(rows, width), Text(), *notes))


def as_values(
    sizes: Configuration, preset: Preset | None, rows: Sequence[Cost]
) -> dict[str, object]:
    """Return the contents of the table as plain values for JSON."""
    return {
        "schema": "attn-drill.compare/2",
        "preset": preset.name if preset else None,
        "configuration": dataclasses.asdict(sizes),
        "rows": [dataclasses.asdict(row) for row in rows],
    }


def _table(rows: Sequence[Cost], width: int) -> RenderableType:
    """Return a row for each variant. A wide terminal also gets bars of the caches."""
    is_wide = width >= _WIDE
    table = LiteralTable(
        box=None, pad_edge=False, collapse_padding=not is_wide, header_style="bold"
    )
    table.add_column("variant")
    for heading in ("parameters", "KV cache", "of MHA", "a token"):
        table.add_column(heading, justify="right")
    if is_wide:
        table.add_column(max_width=40)
    greatest = max(row.cache_bytes for row in rows)
    for row in rows:
        heads = f", {plural(row.num_kv_heads or 0, 'KV head')}" if row.variant == "GQA" else ""
        # The smallest cache still has a visible bar.
        bar = Bar(greatest, 0, max(row.cache_bytes, greatest / 64), color=RIGHT)
        table.add_row(
            f"{row.variant}{heads}",
            f"{row.parameters:,}",
            in_bytes(row.cache_bytes),
            f"{row.cache_percent:,.1f} %",
            in_bytes(row.bytes_per_token),
            *([bar] if is_wide else []),
        )
    return table


def _notes(sizes: Configuration, preset: Preset | None) -> Iterator[str]:
    """Yield notes on counting rules and on the published model."""
    if sizes.num_layers > 1:
        yield f"Parameters and cache are those of all {sizes.num_layers} layers."
    yield (
        "Parameters: the projections, no biases. "
        "A token: what one more token of a sequence adds to the cache. "
        f"A number of {sizes.dtype} has {plural(ELEMENT_BYTES[sizes.dtype], 'byte')}."
    )
    query = "is projected at once (q_rank makes a low-rank pair of it)"
    if sizes.q_rank is not None:
        query = f"goes through q_rank {sizes.q_rank}, a low-rank pair"
    yield (
        f"MLA caches kv_rank + rope_dim = {sizes.kv_rank} + {sizes.rope_dim} numbers a token and "
        f"layer. Its query {query}."
    )
    if preset is not None:
        yield f"{preset.name} itself has {preset.variant}."


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


class CountedProgress(Progress):
    """A bar, the count of items, the time left, and a few words; in a file, the last state only."""

    def __init__(self, total: int, stream: TextIO, done: int = 0, **options: Any) -> None:
        super().__init__(
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console(stream),
            **options,
        )
        self._items = self.add_task("", total=total, completed=done)

    def count(self, words: str) -> None:
        """Count one more item and show the words."""
        self.update(self._items, advance=1, description=words)


def in_counts(verdicts: Counter[str | None]) -> str:
    """Return counts of verdicts in the usual order.

    >>> in_counts(Counter(["failed", "passed", "passed"]))
    '2 passed, 1 failed'
    """
    return ", ".join(
        f"{verdicts[name]} {words}" for name, (_, words) in VERDICTS.items() if verdicts[name]
    )


def summary(results: Sequence[StudentResult]) -> tuple[str, int]:
    """Return a few lines about the results of a class, and the number of failed gradings."""
    verdicts: Counter[str | None] = Counter(result.verdict for result in results)
    text = f"{len(results)} results: {in_counts(verdicts)}"
    # A student's file may be for several challenges.
    ungraded = {(result.student, result.file) for result in results if result.is_ungraded}
    if ungraded:
        students = plural(len({student for student, _ in ungraded}), "student")
        were = "was" if len(ungraded) == 1 else "were"
        text += (
            f"\n{plural(len(ungraded), 'file')} of {students} {were} not graded: a person must"
            " settle this; the report says why."
        )
    return text, sum(result.verdict is None and not result.is_ungraded for result in results)
