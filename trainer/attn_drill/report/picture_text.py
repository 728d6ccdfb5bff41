"""Pictures of a wrong output as terminal text.

A picture shows how far values are off along two dimensions, or a matrix of True and False next to
the expected matrix. Symbols tell everything, and colour only helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from attn_drill.model.report import ErrorMap
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.wording import dimension


class Level(NamedTuple):
    """How far a cell of an error map is off."""

    most: float  # the greatest difference, in units of the tolerance
    symbol: str
    style: str
    words: str


LEVELS = (
    Level(1.0, "·", RIGHT, "right"),
    Level(1e2, "░", WRONG, "up to 100 x the tolerance"),
    Level(1e4, "▒", WRONG, "up to 10,000 x the tolerance"),
    Level(math.inf, "█", f"bold {WRONG}", "far off"),
    Level(math.nan, "!", f"bold {WRONG}", "not finite"),
)
_GAP = 3  # columns between two matrices


def level(off: float | None) -> int:
    """Return the index of a cell's level.

    Args:
        off: the difference in units of the tolerance; None if it is not finite.
    """
    if off is None:
        return len(LEVELS) - 1
    return next(index for index, found in enumerate(LEVELS) if off <= found.most)


def tells(found: ErrorMap) -> bool:
    """Return whether the cells of a map differ. A map of equal cells shows nothing."""
    return len(_levels(found)) > 1


def _levels(found: ErrorMap) -> list[int]:
    return sorted({level(off) for row in found.off for off in row})


def draw_errors(found: ErrorMap, width: int) -> Iterator[Text]:
    """Yield the rows of an error map, then the meaning of its symbols.

    Args:
        found: the map.
        width: the columns of the terminal that a picture may fill.
    """
    labels = [_label(found, row) for row in range(len(found.off))]
    label_width = max(map(len, labels))
    columns = len(found.off[0])
    times = 2 if label_width + 2 + 2 * columns <= width else 1
    for label, row in zip(labels, found.off, strict=True):
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{label:>{label_width}}  ", style=QUIET)
        for off in row:
            cell = LEVELS[level(off)]
            text.append(cell.symbol * times, style=cell.style)
        yield text
    used = [LEVELS[index] for index in _levels(found)]
    yield Text("; ".join(f"{cell.symbol} {cell.words}" for cell in used), style=QUIET)


def _label(found: ErrorMap, row: int) -> str:
    """Return the indices of a row: `h=2`, or `l=4-5` if the row joins several; "" for no name."""
    first = row * found.row_step
    last = min(first + found.row_step, found.row_count) - 1
    if not found.rows:
        return ""
    return f"{found.rows.lower()}={first}" + (f"-{last}" if last > first else "")


def title_of(found: ErrorMap) -> str:
    """Return the dimensions of a map in words, e.g. "heads (H) by positions (L)"."""
    columns = dimension(found.columns)
    if found.column_step > 1:
        columns += f", {found.column_step} in a cell"
    return f"{dimension(found.rows)} by {columns}" if found.rows else columns


def draw_masks(
    actual: Sequence[str], expected: Sequence[str], width: int, cached: int = 0
) -> Iterator[Text]:
    """Yield two matrices of `#` and `.`: side by side if there is room, else below each other.

    All columns are shown. A matrix that is wider than the screen is folded into blocks. A bar
    stands between the keys of a cache and the other keys.

    Args:
        actual: rows of the submission.
        expected: the expected rows.
        width: the columns of the terminal that a picture may fill.
        cached: the number of columns that belong to a cache.
    """
    columns = len(expected[0]) if expected else 0
    bars = 1 if 0 < cached < columns else 0
    room = max(columns + bars, len("yours"))
    if 2 * room + _GAP <= width:
        yield Text(f"{'yours':<{room}}{'':{_GAP}}expected", style=QUIET)
        for row, other in zip(actual, expected, strict=True):
            line = Text(no_wrap=True)
            line.append_text(_cells(row, other, 0, cached, WRONG))
            line.append(" " * (room - columns - bars + _GAP))
            line.append_text(_cells(other, row, 0, cached, RIGHT))
            yield line
        return
    most = max(8, width - bars)
    for start in range(0, columns, most):
        stop = min(columns, start + most)
        part = f" (columns {start}-{stop - 1} of {columns})" if columns > most else ""
        for label, rows, others, style in (
            ("yours", actual, expected, WRONG),
            ("expected", expected, actual, RIGHT),
        ):
            yield Text(f"{label}{part}", style=QUIET)
            for row, other in zip(rows, others, strict=True):
                yield _cells(row[start:stop], other[start:stop], start, cached, style)


def _cells(row: str, other: str, start: int, cached: int, style: str) -> Text:
    """Return the cells of a row. Cells that differ from the other row have a style."""
    text = Text(no_wrap=True)
    for place, (cell, other_cell) in enumerate(zip(row, other, strict=True), start):
        if place == cached and place > 0:
            text.append("│", style=QUIET)
        text.append(cell, style=f"bold {style}" if cell != other_cell else "")
    return text
