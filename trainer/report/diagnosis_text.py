"""A diagnosis as terminal text.

The text shows the line, the likely mistake, the effective mask, and the parts that are ruled out.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.model.report import Diagnosis, EffectiveMask
from trainer.report.literal import grid
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.visible import visible

_MOST_KEYS = 24  # shown columns of a mask


def render_diagnosis(
    diagnosis: Diagnosis, shown_case: int | None, *, why: bool
) -> Iterator[RenderableType]:
    """Yield the diagnosis as a table, if there is anything to show.

    Args:
        diagnosis: the diagnosis.
        shown_case: the number, from 1, of the case that the report explains.
        why: name the likely mistake; if False, only say that it is known.
    """
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    for label, value in _rows(diagnosis, shown_case, why=why):
        rows.add_row(label, value)
    if rows.row_count:
        yield Padding(rows, (0, 0, 0, 2), expand=False)


def _rows(
    diagnosis: Diagnosis, shown_case: int | None, *, why: bool
) -> Iterator[tuple[RenderableType, RenderableType]]:
    if diagnosis.first_line is not None:
        text = Text(visible(diagnosis.first_line.text, lines=True), style="bold")
        text.append(_reached(diagnosis, shown_case), style="not bold")
        yield f"line {diagnosis.first_line.line}", text
    elif diagnosis.last_reached or diagnosis.first_missed:
        yield "where", Text(_reached(diagnosis, shown_case).strip())
    if diagnosis.layout:
        yield "result", visible(diagnosis.layout, lines=True)
    if diagnosis.effective_mask is not None:
        yield "mask", _picture(diagnosis.effective_mask)
    if diagnosis.mistakes:
        if why:
            label = "LIKELY"
            for mistake in diagnosis.mistakes:
                yield Text(label, style=f"bold {WRONG}"), Text(mistake.says)
                label = "and"
        else:
            yield "why", "known; check again with --why to see it"
    if diagnosis.cleared:
        yield "cleared", ", ".join(diagnosis.cleared)


def _reached(diagnosis: Diagnosis, shown_case: int | None) -> str:
    """Return a sentence about the last right and the first wrong named result, or ""."""
    last_right, first_wrong = diagnosis.last_reached, diagnosis.first_missed
    if not last_right:
        text = f"no line makes {first_wrong}" if first_wrong else ""
    elif last_right == first_wrong:
        text = "everything before it agrees"
    else:
        text = f"{last_right} is right"
        if first_wrong:
            text += f", {first_wrong} is not"
    is_other_case = diagnosis.case is not None and diagnosis.case != shown_case
    case = f"in case {diagnosis.case} " if is_other_case else ""
    made = f" ({case}it makes {diagnosis.made})" if diagnosis.made else ""
    return f"\n{text}{made}" if text else ""


def _picture(mask: EffectiveMask) -> RenderableType:
    """Return both masks side by side. A row is a query, a column is a key.

    If there are more than 24 keys, 24 keys around the first difference are shown.
    """
    table = grid(padding=(0, 3))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_row(Text("yours", style=QUIET), Text("expected", style=QUIET))
    keys = len(mask.expected[0]) if mask.expected else 0
    start = max(0, min(_first_difference(mask), keys - _MOST_KEYS))
    for actual, expected in zip(mask.actual, mask.expected, strict=True):
        row = Text()
        pairs = list(zip(actual, expected, strict=True))
        for actual_key, expected_key in pairs[start : start + _MOST_KEYS]:
            row.append(actual_key, style=WRONG if actual_key != expected_key else "")
        style = RIGHT if actual != expected else ""
        table.add_row(row, Text(expected[start : start + _MOST_KEYS], style=style))
    stop = min(start + _MOST_KEYS, keys)
    part = f"; keys {start}-{stop - 1} of {keys}" if keys > _MOST_KEYS else ""
    legend = f"rows: queries, #: attended keys{part}"
    return Group(Text(f"{mask.difference} (batch item {mask.item}; {legend})"), table)


def _first_difference(mask: EffectiveMask) -> int:
    """Return the first column in which the masks differ; 0 if they are equal."""
    columns = [
        column
        for actual, expected in zip(mask.actual, mask.expected, strict=True)
        for column, (actual_key, expected_key) in enumerate(zip(actual, expected, strict=True))
        if actual_key != expected_key
    ]
    return min(columns, default=0)
