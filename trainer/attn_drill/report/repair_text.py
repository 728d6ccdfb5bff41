"""The progress of a bug hunt as terminal text: bugs left, parts, and the loss over a training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from attn_drill.model.report import Curve, Repair
from attn_drill.report.literal import indented
from attn_drill.report.styles import QUIET, RIGHT, WRONG

_HEIGHT, _MOST_COLUMNS, _LABEL_COLUMNS = 7, 60, 8
_YOURS, _REFERENCE, _BOTH = "●", "·", "◉"
_SYMBOLS = {"right": "✓", "wrong": "✗", "unknown": "?"}
_STYLES = {"right": RIGHT, "wrong": f"bold {WRONG}", "unknown": QUIET}


def render_repair(repair: Repair, width: int) -> Iterator[RenderableType]:
    """Yield the progress of a hunt with several bugs."""
    yield Text(bugs_left(repair), style="bold")
    line = Text("  ").join(
        Text(f"{_SYMBOLS[part.state]} {part.name}", style=_STYLES[part.state])
        for part in repair.parts
    )
    if line:
        yield indented(line)
    if any(part.state == "unknown" for part in repair.parts):
        yield indented(Text("?  fails, but it uses a part that is wrong", style=QUIET))
    curve = repair.curve
    if curve is None:
        return
    steps = len(curve.expected)
    if not curve.actual:
        yield Text(f"The small training of {steps} steps raised an exception.", style=QUIET)
        return
    title = Text(f"loss over {steps} training steps  ")
    title.append(f"{_YOURS} yours", style=WRONG)
    title.append(f"  {_REFERENCE} reference", style=RIGHT)
    yield title.append(f"  {_BOTH} both", style=QUIET)
    yield from plotted(curve, max(10, min(_MOST_COLUMNS, width - _LABEL_COLUMNS - 2)))
    if lost := curve.actual.count(None):
        yield indented(Text(f"{lost} of {steps} losses are not finite", style=WRONG))


def bugs_left(repair: Repair) -> str:
    """Return the number of bugs that are left, in words."""
    if repair.left is None:
        return "Your change traded one bug for another, or repaired only a part of a bug."
    count = len(repair.left)
    if count == 0:
        return f"All {repair.planted} bugs are repaired."
    return f"{count} of {repair.planted} bugs {'is' if count == 1 else 'are'} left."


def plotted(curve: Curve, columns: int) -> list[Text]:
    """Return the rows of the picture, the highest loss first."""
    top = max([1e-6, *(loss for loss in curve.expected if loss is not None)]) * 1.25
    yours = _heights(curve.actual, columns, top)
    reference = _heights(curve.expected, columns, top)
    rows: list[Text] = []
    for level in reversed(range(_HEIGHT)):
        value = top * (level + 0.5) / _HEIGHT
        row = Text(f"{value:>{_LABEL_COLUMNS - 2}.2f} ┤", style=QUIET)
        for actual, wanted in zip(yours, reference, strict=True):
            if actual == level and wanted == level:
                row.append(_BOTH, style=QUIET)
            elif actual == level:
                row.append(_YOURS, style=WRONG)
            else:
                row.append(_REFERENCE if wanted == level else " ", style=RIGHT)
        rows.append(row)
    rows.append(Text(" " * (_LABEL_COLUMNS - 1) + "└" + "─" * columns, style=QUIET))
    return rows


def _heights(losses: Sequence[float | None], columns: int, top: float) -> list[int | None]:
    """Return the row of the mean loss of each column, from 0 at the bottom; None if not finite."""
    levels: list[int | None] = []
    for column in range(columns):
        first = column * len(losses) // columns
        part = losses[first : max(first + 1, (column + 1) * len(losses) // columns)]
        values = [loss for loss in part if loss is not None]
        if values and len(values) == len(part):
            # A loss above the top is in the top row.
            level = int(sum(values) / len(values) / top * _HEIGHT)
            levels.append(max(0, min(_HEIGHT - 1, level)))
        else:
            levels.append(None)
    return levels
