"""Facts about attention heads as terminal text or as plain values for JSON.

The text is a table, then a picture of each head in shade characters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.text import Text

from trainer.report.literal import console
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.visible import visible
from trainer.report.wording import number

if TYPE_CHECKING:  # not at run time: it imports torch
    from trainer.tools.attention_heads import HeadFacts

MOST_DRAWN = 12
SCHEMA = "attn-drill.heads/1"
_ROOM, _WHOLE_ROOM = 22, 64  # most columns of a small and a large picture
_GAP = "  "


def small_cells(length: int, width: int = 80) -> tuple[int, int]:
    """Return the rows and columns of a picture that is next to others.

    A character is twice as high as wide. A picture of few positions has two characters for each
    cell. A picture of many positions has half as many rows as columns.
    """
    room = min(_ROOM, width - 2)
    if 2 * length <= room:
        return length, length
    columns = max(1, min(length, room))
    return (columns + 1) // 2, columns


def whole_cells(length: int, width: int) -> tuple[int, int]:
    """Return the rows and columns of the only picture in a terminal of this width."""
    columns = max(1, min(length, _WHOLE_ROOM, width - 2))
    return columns, columns


def show_heads(
    facts: Sequence[HeadFacts], file: str, stream: TextIO, *, whole: bool = False
) -> None:
    """Print a table and a picture of each head that has a grid, and a count of the other heads.

    Args:
        facts: the facts about all heads.
        file: the name of the file that the heads come from.
        stream: the file to print to.
        whole: draw the picture of the only head in full size.
    """
    out = console(stream)
    out.print(render(facts, file, out.width, whole=whole))


def render(
    facts: Sequence[HeadFacts],
    file: str,
    width: int = 80,
    *,
    whole: bool = False,
) -> RenderableType:
    """Return the table, the notes and the pictures as one renderable.

    Args:
        facts: the facts about all heads.
        file: the name of the file that the heads come from.
        width: the columns of the terminal.
        whole: draw the picture of the only head in full size.
    """
    drawn = [head for head in facts if head.grid]
    room = min(_WHOLE_ROOM if whole else _ROOM, width - 2)
    parts: list[RenderableType] = [_headline(facts, file), Text(), *_table(drawn, width)]
    if notes := [_note(head) for head in drawn if head.notes]:
        parts += [Text(), *notes]
    parts += [Text(), *_pictures(drawn, width, room), _legend(drawn)]
    if more := len(facts) - len(drawn):
        strange = sum(bool(head.notes) for head in facts if not head.grid)
        also = f", {strange} of them unlike attention weights" if strange else ""
        parts.append(
            Text(
                f"{more} more head{'s' if more > 1 else ''}{also}: "
                "--head N shows one, --html OUT.html all, --json all numbers."
            )
        )
    return Group(*parts)


def _headline(facts: Sequence[HeadFacts], file: str) -> Text:
    """Return the file's name and a summary of the heads."""
    line = Text(one_line(file), style="bold")
    line.append(f"  {summary(facts)}", style="not bold")
    return line


def summary(facts: Sequence[HeadFacts]) -> str:
    """Return the count of heads, their length and classes: `12 heads  L=16  12 backward`."""
    lengths = sorted({head.length for head in facts})
    span = f"L={lengths[0]}" if len(lengths) == 1 else f"L={lengths[0]} to {lengths[-1]}"
    kinds = Counter(head.kind or "without class" for head in facts).most_common()
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds)
    return f"{len(facts)} head{'' if len(facts) == 1 else 's'}  {span}  {counts}"


def one_line(text: str) -> str:
    """Return a name from a file without control characters and line ends."""
    return " ".join(visible(text, lines=True).split())


def _table(facts: Sequence[HeadFacts], width: int) -> Iterator[Text]:
    """Yield the name of each tensor, then a line for each of its heads."""
    indexed = any(len(head.index) > 1 for head in facts)
    lengths = len({head.length for head in facts}) > 1
    header = [
        "head",
        *(["index"] if indexed else []),
        *(["L"] if lengths else []),
        "entropy",
        "/ln L",
        "distance",
        "class",
    ]
    rows = [_row(head, indexed=indexed, lengths=lengths) for head in facts]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= width else " "
    yield Text(_joined(header, widths, gap), style=QUIET)
    for name, group in groupby(zip(facts, rows, strict=True), key=lambda pair: pair[0].tensor):
        if name:
            yield Text(one_line(name), no_wrap=True, overflow="ellipsis")
        for head, row in group:
            line = Text(_joined(row, widths, gap))
            if head.notes:
                line.append(" !", style=WRONG)
            yield line


def _joined(row: Sequence[str], widths: Sequence[int], gap: str) -> str:
    return gap.join(
        [*(word.rjust(width) for word, width in zip(row[:-1], widths[:-1], strict=True)), row[-1]]
    )


def _row(head: HeadFacts, *, indexed: bool, lengths: bool) -> list[str]:
    share = "-" if math.isnan(head.entropy_share) else f"{head.entropy_share:.0%}"
    entropy, distance = (
        "-" if math.isnan(value) else number(value) for value in (head.entropy, head.distance)
    )
    index = [index_in_words(head)] if indexed else []
    return [
        str(head.head_index),
        *index,
        *([str(head.length)] if lengths else []),
        entropy,
        share,
        distance,
        head.kind or "-",
    ]


def index_in_words(head: HeadFacts) -> str:
    """Return a head's index in the leading dims, e.g. `[3, 0, 11]`; "" if there is only one dim."""
    return str(list(head.index)) if len(head.index) > 1 else ""


def _note(head: HeadFacts) -> Text:
    note = Text(f"! head {head.head_index}: ", style=WRONG)
    return note.append("; ".join(head.notes), style="default")


def _pictures(facts: Sequence[HeadFacts], width: int, room: int) -> Iterator[Text]:
    """Yield the lines of the pictures, with as many pictures side by side as fit."""
    pictures = [_picture(head, room) for head in facts]
    wide = max((cell_len(line) for picture in pictures for line in picture), default=1)
    per_row = max(1, (width + len(_GAP)) // (wide + len(_GAP)))
    for start in range(0, len(pictures), per_row):
        row = pictures[start : start + per_row]
        for line in range(max(map(len, row))):
            cells = [
                set_cell_size(picture[line] if line < len(picture) else "", wide) for picture in row
            ]
            yield Text(
                _GAP.join(cells).rstrip(),
                style=RIGHT if line > 1 else "",
                no_wrap=True,
                overflow="crop",
            )
        yield Text()


def _picture(head: HeadFacts, room: int) -> list[str]:
    """Return two lines of caption, then the head in a frame."""
    most = greatest(head)
    wide = 2 if len(head.grid) == len(head.grid[0]) and 2 * len(head.grid[0]) <= room else 1
    rows = ["".join(_shade(value, most) * wide for value in row) for row in head.grid]
    edge = "─" * len(rows[0])
    caption = f"head {head.head_index} {index_in_words(head)}".rstrip()
    kind = f"{head.kind or 'no class'}  max {number(most)}"
    return [caption, kind, f"┌{edge}┐", *(f"│{row}│" for row in rows), f"└{edge}┘"]


def greatest(head: HeadFacts) -> float:
    """Return the greatest value in a head's picture; 0 if no value is greater than 0."""
    return max((value for row in head.grid for value in row if value > 0), default=0.0)


def _shade(value: float, most: float) -> str:
    """Return the shade of a value. Each shade means twice as much as the shade before."""
    if math.isnan(value):
        return "?"
    if value < 0:
        return "-"
    return " ░▒▓█"[sum(value >= most / part for part in (16, 8, 4, 2))] if most else " "


def _legend(facts: Sequence[HeadFacts]) -> Text:
    pooled = any(len(head.grid) < head.length for head in facts)
    words = "Queries down, keys across. ░ ▒ ▓ █ from 1/16, 1/8, 1/4, 1/2 of the head's max."
    return Text(
        words + (" A cell is the mean over neighbouring positions." if pooled else ""), style=QUIET
    )


def as_object(facts: Sequence[HeadFacts], file: str) -> dict[str, Any]:
    """Return the facts as dicts and lists for JSON. An undefined number is None."""
    return {"schema": SCHEMA, "file": file, "heads": [_object(head) for head in facts]}


def _object(head: HeadFacts) -> dict[str, Any]:
    scalars = {
        "entropy": head.entropy,
        "entropy_share": head.entropy_share,
        "distance": head.distance,
    }
    return {
        "number": head.head_index,
        "tensor": head.tensor or None,
        "index": list(head.index),
        "length": head.length,
        **{name: value if math.isfinite(value) else None for name, value in scalars.items()},
        "class": head.kind or None,
        "notes": list(head.notes),
    }
