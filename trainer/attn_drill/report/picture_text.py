"""Pictures of a wrong output as terminal text: maps of errors, and matrices of True and False."""

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

    The difference is in units of the tolerance. It is None if it is not finite.

    >>> [level(off) for off in (0.0, 1.0, 50.0, 1e9, None)]
    [0, 0, 1, 3, 4]
    """
    if off is None:
        return len(LEVELS) - 1
    return next(index for index, each in enumerate(LEVELS) if off <= each.most)


def _levels(error_map: ErrorMap) -> list[int]:
    return sorted({level(off) for row in error_map.off for off in row})


def tells(error_map: ErrorMap) -> bool:
    """Return whether the cells of a map differ. A map of equal cells shows nothing."""
    return len(_levels(error_map)) > 1


def draw_errors(error_map: ErrorMap, width: int) -> Iterator[Text]:
    """Yield the rows of an error map in at most `width` columns, then its symbols in words."""
    labels: list[str] = []
    for row, _ in enumerate(error_map.off):
        # A row may join several indices.
        first = row * error_map.row_step
        last = min(first + error_map.row_step, error_map.row_count) - 1
        indices = f"{first}-{last}" if last > first else str(first)
        labels.append(f"{error_map.rows.lower()}={indices}" if error_map.rows else "")
    label_width = max(map(len, labels))
    times = 2 if label_width + 2 + 2 * len(error_map.off[0]) <= width else 1
    for label, cells in zip(labels, error_map.off, strict=True):
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{label:>{label_width}}  ", style=QUIET)
        for off in cells:
            drawn = LEVELS[level(off)]
            line.append(drawn.symbol * times, style=drawn.style)
        yield line
    used = [LEVELS[index] for index in _levels(error_map)]
    yield Text("; ".join(f"{drawn.symbol} {drawn.words}" for drawn in used), style=QUIET)


def title_of(error_map: ErrorMap) -> str:
    """Return the dimensions of a map in words, e.g. "heads (H) by positions (L)"."""
    columns = dimension(error_map.columns)
    if error_map.column_step > 1:
        columns += f", {error_map.column_step} in a cell"
    return f"{dimension(error_map.rows)} by {columns}" if error_map.rows else columns


def draw_masks(
    actual: Sequence[str], expected: Sequence[str], width: int, cached: int = 0
) -> Iterator[Text]:
    """Yield two matrices of `#` and `.`: side by side if there is room, else below each other."""
    # A bar stands between the keys of a cache, which come first, and the other keys.
    columns = len(expected[0]) if expected else 0
    bars = 1 if 0 < cached < columns else 0
    room = max(columns + bars, len("yours"))
    if 2 * room + _GAP <= width:
        yield Text(f"{'yours':<{room}}{'':{_GAP}}expected", style=QUIET)
        for row, other in zip(actual, expected, strict=True):
            line = _cells(row, other, 0, cached, WRONG)
            line.append(" " * (room - columns - bars + _GAP))
            yield line.append_text(_cells(other, row, 0, cached, RIGHT))
        return
    # A matrix that is wider than the screen is folded into blocks.
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
    for column, (cell, other_cell) in enumerate(zip(row, other, strict=True), start):
        if column == cached and column > 0:
            text.append("│", style=QUIET)
        text.append(cell, style=f"bold {style}" if cell != other_cell else "")
    return text
