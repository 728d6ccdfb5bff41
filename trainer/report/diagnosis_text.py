"""A diagnosis as terminal text: the line, the likely mistake, the effective mask, what is ruled out."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.model.report import Diagnosis, EffectiveMask
from trainer.report.literal import grid
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.visible import visible

_MOST_KEYS = 24  # columns of a picture


def diagnosed(found: Diagnosis, shown: int | None, *, why: bool) -> Iterator[RenderableType]:
    """Where it went wrong and, with `why`, the mistake that gives exactly this; `shown`: the number of the case that the report explains."""
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    for label, value in _rows(found, shown, why=why):
        rows.add_row(label, value)
    if rows.row_count:
        yield Padding(rows, (0, 0, 0, 2), expand=False)


def _rows(
    found: Diagnosis, shown: int | None, *, why: bool
) -> Iterator[tuple[RenderableType, RenderableType]]:
    if found.first_line is not None:
        text = Text(visible(found.first_line.text, lines=True), style="bold")
        text.append(_reached(found, shown), style="not bold")
        yield f"line {found.first_line.line}", text
    elif found.last_reached or found.first_missed:
        yield "where", Text(_reached(found, shown).strip())
    if found.layout:
        yield "result", visible(found.layout, lines=True)
    if found.effective_mask is not None:
        yield "mask", _picture(found.effective_mask)
    if found.mistakes:
        if why:
            label = "LIKELY"
            for mistake in found.mistakes:
                yield Text(label, style=f"bold {WRONG}"), Text(mistake.says)
                label = "and"
        else:
            yield "why", "known; the same check with --why tells"
    if found.cleared:
        yield "cleared", ", ".join(found.cleared)


def _reached(found: Diagnosis, shown: int | None) -> str:
    """What was made rightly before, and what was not."""
    if not found.last_reached:
        text = f"no line makes {found.first_missed}" if found.first_missed else ""
    elif found.last_reached == found.first_missed:
        text = "everything before it agrees"
    else:
        text = f"{found.last_reached} is as it must be" + (
            f", {found.first_missed} is not" if found.first_missed else ""
        )
    case = f"in case {found.case} " if found.case is not None and found.case != shown else ""
    made = f" ({case}it makes {found.made})" if found.made else ""
    return f"\n{text}{made}" if text else ""


def _picture(mask: EffectiveMask) -> RenderableType:
    """Return both patterns side by side: a row a query, a column a key.

    Of more keys than have room those around the first difference are shown.
    """
    table = grid(padding=(0, 3))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_row(Text("yours", style=QUIET), Text("expected", style=QUIET))
    keys = len(mask.expected[0]) if mask.expected else 0
    start = max(0, min(_first_difference(mask), keys - _MOST_KEYS))
    for mine, right in zip(mask.actual, mask.expected, strict=True):
        row = Text()
        for seen, want in list(zip(mine, right, strict=True))[start : start + _MOST_KEYS]:
            row.append(seen, style=WRONG if seen != want else "")
        style = RIGHT if mine != right else ""
        table.add_row(row, Text(right[start : start + _MOST_KEYS], style=style))
    stop = min(start + _MOST_KEYS, keys)
    part = f"; keys {start}-{stop - 1} of {keys}" if keys > _MOST_KEYS else ""
    legend = f"a row a query, # a key that it attends to{part}"
    return Group(Text(f"{mask.what} (batch item {mask.item}; {legend})"), table)


def _first_difference(mask: EffectiveMask) -> int:
    """Return the first column in which the patterns differ; 0 if none does."""
    pairs = zip(mask.actual, mask.expected, strict=True)
    columns = [
        column
        for mine, right in pairs
        for column, (seen, want) in enumerate(zip(mine, right, strict=True))
        if seen != want
    ]
    return min(columns, default=0)
