"""Facts about attention heads as terminal text: a table, then a picture of each head in shade characters. Decides nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.text import Text

from trainer.report import literal
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.terminal import has_unicode
from trainer.report.visible import visible
from trainer.report.wording import number

if TYPE_CHECKING:  # not at run time: it imports torch
    from trainer.tools.attention_heads import HeadFacts

MOST_DRAWN = 12
SCHEMA = "attn-drill.heads/1"
_ROOM, _WHOLE_ROOM = 22, 64
_GAP = "  "


def small_cells(length: int, width: int = 80) -> tuple[int, int]:
    """Rows and columns of a picture beside others. A character is twice as high as wide: many positions get half as many rows as columns."""
    room = min(_ROOM, width - 2)
    if 2 * length <= room:
        return length, length
    columns = max(1, min(length, room))
    return (columns + 1) // 2, columns


def whole_cells(length: int, width: int) -> tuple[int, int]:
    """Rows and columns of a picture alone in a terminal of `width` columns."""
    columns = max(1, min(length, _WHOLE_ROOM, width - 2))
    return columns, columns


def terminal(stream: TextIO) -> Console:
    """The console that the facts are shown on."""
    return literal.console(stream)


def show_heads(
    facts: Sequence[HeadFacts], file: str, console: Console, *, whole: bool = False
) -> None:
    """Print the facts: all heads that have a grid, in a table and as pictures; of the others how many they are. `whole`: one, in full size."""
    console.print(render(facts, file, console.width, unicode=has_unicode(console), whole=whole))


def render(
    facts: Sequence[HeadFacts],
    file: str,
    width: int = 80,
    *,
    unicode: bool = True,
    whole: bool = False,
) -> RenderableType:
    """The whole as one renderable; `unicode`: whether there are more characters than ASCII."""
    drawn = [one for one in facts if one.grid]
    room = min(_WHOLE_ROOM if whole else _ROOM, width - 2)
    parts: list[RenderableType] = [_headline(facts, file), Text(), *_table(drawn, width)]
    if notes := [_note(one) for one in drawn if one.notes]:
        parts += [Text(), *notes]
    parts += [
        Text(),
        *_pictures(drawn, width, room, unicode=unicode),
        _legend(drawn, unicode=unicode),
    ]
    if more := len(facts) - len(drawn):
        strange = sum(bool(one.notes) for one in facts if not one.grid)
        also = f", {strange} of them unlike attention weights" if strange else ""
        parts.append(
            Text(
                f"{more} more head{'s' if more > 1 else ''}{also}: --head N shows one, --html OUT.html all, --json all numbers."
            )
        )
    return Group(*parts)


def _headline(facts: Sequence[HeadFacts], file: str) -> Text:
    """How many heads there are, of which length and class."""
    line = Text(one_line(file), style="bold")
    line.append(f"  {summary(facts)}", style="not bold")
    return line


def summary(facts: Sequence[HeadFacts]) -> str:
    """`12 heads  L=16  7 backward, 5 mixed`."""
    lengths = sorted({one.length for one in facts})
    span = f"L={lengths[0]}" if len(lengths) == 1 else f"L={lengths[0]} to {lengths[-1]}"
    kinds = Counter(one.kind or "without class" for one in facts).most_common()
    return f"{len(facts)} head{'' if len(facts) == 1 else 's'}  {span}  {', '.join(f'{count} {kind}' for kind, count in kinds)}"


def one_line(text: str) -> str:
    """A name from a file: no control characters, no line ends."""
    return " ".join(visible(text, lines=True).split())


def _table(facts: Sequence[HeadFacts], width: int) -> Iterator[Text]:
    """A line for each head, below the name of its tensor."""
    indexed = any(len(one.index) > 1 for one in facts)
    lengths = len({one.length for one in facts}) > 1
    header = [
        "head",
        *(["index"] if indexed else []),
        *(["L"] if lengths else []),
        "entropy",
        "/ln L",
        "distance",
        "class",
    ]
    rows = [_row(one, indexed=indexed, lengths=lengths) for one in facts]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= width else " "
    yield Text(_joined(header, widths, gap), style=QUIET)
    for name, group in groupby(zip(facts, rows, strict=True), key=lambda pair: pair[0].tensor):
        if name:
            yield Text(one_line(name), no_wrap=True, overflow="ellipsis")
        for one, row in group:
            line = Text(_joined(row, widths, gap))
            if one.notes:
                line.append(" !", style=WRONG)
            yield line


def _joined(row: Sequence[str], widths: Sequence[int], gap: str) -> str:
    return gap.join(
        [*(word.rjust(width) for word, width in zip(row[:-1], widths[:-1], strict=True)), row[-1]]
    )


def _row(one: HeadFacts, *, indexed: bool, lengths: bool) -> list[str]:
    share = "-" if math.isnan(one.entropy_share) else f"{one.entropy_share:.0%}"
    numbers = ["-" if math.isnan(value) else number(value) for value in (one.entropy, one.distance)]
    index = [index_in_words(one)] if indexed else []
    return [
        str(one.number),
        *index,
        *([str(one.length)] if lengths else []),
        numbers[0],
        share,
        numbers[1],
        one.kind or "-",
    ]


def index_in_words(one: HeadFacts) -> str:
    """`[3, 0, 11]`, of the leading dims; nothing where one number says it all."""
    return str(list(one.index)) if len(one.index) > 1 else ""


def _note(one: HeadFacts) -> Text:
    return Text(f"! head {one.number}: ", style=WRONG).append("; ".join(one.notes), style="default")


def _pictures(
    facts: Sequence[HeadFacts], width: int, room: int, *, unicode: bool
) -> Iterator[Text]:
    """As many side by side as the width allows."""
    pictures = [_picture(one, room, unicode=unicode) for one in facts]
    wide = max((cell_len(line) for picture in pictures for line in picture), default=1)
    beside = max(1, (width + len(_GAP)) // (wide + len(_GAP)))
    for start in range(0, len(pictures), beside):
        some = pictures[start : start + beside]
        for line in range(max(map(len, some))):
            cells = [
                set_cell_size(picture[line] if line < len(picture) else "", wide)
                for picture in some
            ]
            yield Text(
                _GAP.join(cells).rstrip(),
                style=RIGHT if line > 1 else "",
                no_wrap=True,
                overflow="crop",
            )
        yield Text()


def _picture(one: HeadFacts, room: int, *, unicode: bool) -> list[str]:
    """Two lines of caption, then the head in a frame."""
    corners, across, down = ("┌┐└┘", "─", "│") if unicode else ("++++", "-", "|")
    most = greatest(one)
    wide = 2 if len(one.grid) == len(one.grid[0]) and 2 * len(one.grid[0]) <= room else 1
    rows = [
        "".join(_shade(value, most, unicode=unicode) * wide for value in row) for row in one.grid
    ]
    edge = across * len(rows[0])
    caption = f"head {one.number} {index_in_words(one)}".rstrip()
    kind = f"{one.kind or 'no class'}  max {number(most)}"
    return [
        caption,
        kind,
        corners[0] + edge + corners[1],
        *(down + row + down for row in rows),
        corners[2] + edge + corners[3],
    ]


def greatest(one: HeadFacts) -> float:
    """The greatest cell of a head's picture; 0 where none is above it."""
    return max((value for row in one.grid for value in row if value > 0), default=0.0)


def _shade(value: float, most: float, *, unicode: bool) -> str:
    """Each shade is twice as much as the one before."""
    if math.isnan(value):
        return "?"
    if value < 0:
        return "-"
    shades = " ░▒▓█" if unicode else " .:*#"
    return shades[sum(value >= most / part for part in (16, 8, 4, 2))] if most else " "


def _legend(facts: Sequence[HeadFacts], *, unicode: bool) -> Text:
    shades = "░ ▒ ▓ █" if unicode else ". : * #"
    pooled = any(len(one.grid) < one.length for one in facts)
    words = f"Queries down, keys across. {shades} from 1/16, 1/8, 1/4, 1/2 of the head's max."
    return Text(
        words + (" A cell is the mean over neighbouring positions." if pooled else ""), style=QUIET
    )


def as_object(facts: Sequence[HeadFacts], file: str) -> dict[str, Any]:
    """The facts as plain dicts and lists; null where a number is not defined."""
    return {"schema": SCHEMA, "file": file, "heads": [_object(one) for one in facts]}


def _object(one: HeadFacts) -> dict[str, Any]:
    numbers = {"entropy": one.entropy, "entropy_share": one.entropy_share, "distance": one.distance}
    return {
        "number": one.number,
        "tensor": one.tensor or None,
        "index": list(one.index),
        "length": one.length,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "class": one.kind or None,
        "notes": list(one.notes),
    }
