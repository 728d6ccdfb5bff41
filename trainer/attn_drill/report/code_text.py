"""The lines of code around a line of the learner's file, with a marker at the line."""

from __future__ import annotations

from rich.text import Text

from attn_drill.report.literal import one_row
from attn_drill.report.styles import QUIET, WRONG
from attn_drill.report.visible import visible

_AROUND = 2  # lines above and below
_MOST_BETWEEN = 8  # lines from an earlier line that are all shown


def source_lines(source: str) -> list[str]:
    """Return the lines of a source as Python counts them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def code_around(source: str, line: int, start: int | None = None) -> list[Text]:
    """Return the line and up to two lines above and below it; [] if there is no such line."""
    lines = [text.expandtabs(4) for text in source_lines(source)]
    if not 0 < line <= len(lines):
        return []
    # An earlier line `start` is shown too, with a dot.
    first, last = max(1, min(line - _AROUND, start or line)), min(len(lines), line + _AROUND)
    # Blank lines at both ends are left out, and the indentation that all lines share.
    while first < line and not lines[first - 1].strip():
        first += 1
    while last > line and not lines[last - 1].strip():
        last -= 1
    # Of many lines between both lines, only the first and the last are shown.
    gap = range(first + _AROUND, line - 1) if line - first > _MOST_BETWEEN else range(0)
    numbers = [number for number in range(first, last + 1) if number not in gap]
    filled = [lines[number - 1] for number in numbers if lines[number - 1].strip()]
    shared = min((len(text) - len(text.lstrip()) for text in filled), default=0)
    digits = len(str(last))
    shown: list[Text] = []
    for number in numbers:
        if gap and number == gap.stop:
            shown.append(Text(f"  {'':>{digits}} …", style=QUIET))
        marker = "❯" if number == line else "·" if number == start else ""
        text = Text(style="bold" if marker else "")
        text.append(f"{marker or ' '} ", style=f"bold {WRONG}" if marker else "")
        text.append(f"{number:>{digits}} │ ", style=f"bold {WRONG}" if marker else QUIET)
        text.append(visible(lines[number - 1][shared:]))
        shown.append(text)
    return [one_row(text) for text in shown]
