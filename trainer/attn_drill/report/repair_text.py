"""The progress of a bug hunt as terminal text: bugs left, parts, and the loss over a training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from attn_drill.model.report import Curve, Repair
from attn_drill.report.styles import QUIET, RIGHT, WRONG

_HEIGHT, _MOST_COLUMNS, _LABEL_COLUMNS = 7, 60, 8
_SYMBOLS = {"right": "✓", "wrong": "✗", "unknown": "?"}
_YOURS, _REFERENCE, _BOTH = "●", "·", "◉"
_STYLES = {"right": RIGHT, "wrong": f"bold {WRONG}", "unknown": QUIET}


def render_repair(repair: Repair, width: int) -> Iterator[RenderableType]:
    """Yield the progress of a hunt with several bugs.

    Args:
        repair: the progress.
        width: the columns of the terminal.
    """
    yield Text(bugs_left(repair), style="bold")
    if repair.parts:
        yield Padding(_parts(repair), (0, 0, 0, 2), expand=False)
    if any(part.state == "unknown" for part in repair.parts):
        words = "?  fails, but it uses a part that is wrong"
        yield Padding(Text(words, style=QUIET), (0, 0, 0, 2), expand=False)
    if repair.curve is not None:
        yield from _picture(repair.curve, width)


def bugs_left(repair: Repair) -> str:
    """Return the number of bugs that are left, in words."""
    if repair.left is None:
        return "Your change traded one bug for another, or repaired only a part of a bug."
    count = len(repair.left)
    if count == 0:
        return f"All {repair.planted} bugs are repaired."
    return f"{count} of {repair.planted} bugs {'is' if count == 1 else 'are'} left."


def _parts(repair: Repair) -> Text:
    line = Text()
    for part in repair.parts:
        line.append("  " if line else "")
        line.append(f"{_SYMBOLS[part.state]} {part.name}", style=_STYLES[part.state])
    return line


def _picture(curve: Curve, width: int) -> Iterator[RenderableType]:
    """Yield the losses of the file next to those of the reference."""
    steps = len(curve.expected)
    if not curve.actual:
        yield Text(f"The small training of {steps} steps raised an exception.", style=QUIET)
        return
    title = Text(f"loss over {steps} training steps  ")
    title.append(f"{_YOURS} yours", style=WRONG)
    title.append(f"  {_REFERENCE} reference", style=RIGHT)
    title.append(f"  {_BOTH} both", style=QUIET)
    yield title
    columns = max(10, min(_MOST_COLUMNS, width - _LABEL_COLUMNS - 2))
    yield from plotted(curve, columns)
    lost = sum(loss is None for loss in curve.actual)
    if lost:
        words = f"{lost} of {steps} losses are not finite"
        yield Padding(Text(words, style=WRONG), (0, 0, 0, 2), expand=False)


def plotted(curve: Curve, columns: int) -> list[Text]:
    """Return the rows of the picture, the highest loss first."""
    known = [loss for loss in curve.expected if loss is not None]
    top = max([*known, 1e-6]) * 1.25
    yours = _rows_of(_means(curve.actual, columns), top)
    reference = _rows_of(_means(curve.expected, columns), top)
    rows: list[Text] = []
    for level in reversed(range(_HEIGHT)):
        value = top * (level + 0.5) / _HEIGHT
        row = Text(f"{value:>{_LABEL_COLUMNS - 2}.2f} ┤", style=QUIET)
        for own, wanted in zip(yours, reference, strict=True):
            if own == level and wanted == level:
                row.append(_BOTH, style=QUIET)
            elif own == level:
                row.append(_YOURS, style=WRONG)
            else:
                row.append(_REFERENCE if wanted == level else " ", style=RIGHT)
        rows.append(row)
    rows.append(Text(" " * (_LABEL_COLUMNS - 1) + "└" + "─" * columns, style=QUIET))
    return rows


def _means(losses: Sequence[float | None], columns: int) -> list[float | None]:
    """Return the mean loss of the steps of each column; None if a loss is not finite."""
    found: list[float | None] = []
    for column in range(columns):
        first = column * len(losses) // columns
        part = losses[first : max(first + 1, (column + 1) * len(losses) // columns)]
        values = [loss for loss in part if loss is not None]
        found.append(sum(values) / len(values) if part and len(values) == len(part) else None)
    return found


def _rows_of(losses: Sequence[float | None], top: float) -> list[int | None]:
    """Return the row of each loss, from 0 at the bottom. A loss above the top is in the top row."""
    return [
        None if loss is None else max(0, min(_HEIGHT - 1, int(loss / top * _HEIGHT)))
        for loss in losses
    ]
