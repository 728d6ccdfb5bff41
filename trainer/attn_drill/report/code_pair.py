"""Show code on a screen: one text, two texts next to each other, or the difference of two texts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from attn_drill.report.literal import grid
from attn_drill.report.question_text import code_lines
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.visible import visible

# The least width at which two codes of usual width fit next to each other.
SIDE_BY_SIDE = 140
_GAP = 3


def code_pair(titles: Sequence[str], codes: Sequence[str | None], width: int) -> RenderableType:
    """Return codes below their titles: side by side on a wide screen, else one below the other."""
    is_wide = width >= SIDE_BY_SIDE
    room = (width - _GAP * (len(codes) - 1)) // len(codes) if is_wide else width
    blocks: list[Group] = []
    for title, code in zip(titles, codes, strict=True):
        rule = Rule(Text(title, style=QUIET), style=QUIET, align="left")
        blocks.append(Group(rule, code_block(code, room)))
    if not is_wide:
        return Group(*blocks)
    table = grid(padding=(0, _GAP, 0, 0))
    for _ in blocks:
        table.add_column(width=room)
    table.add_row(*blocks)
    return table


def code_block(text: str | None, width: int, language: str = "python") -> RenderableType:
    """Return code in at most `width` columns. A longer line continues below, more indented."""
    if text is None:
        return Text("(nothing)", style=QUIET)
    lines = visible(text, lines=True).strip("\n").expandtabs(4).split("\n")
    text = "\n".join(code_lines(lines, width))
    # The terminal's own colours are readable on any background.
    return Syntax(text, language, theme="ansi_dark", background_color="default")


def difference(before: str, after: str, width: int) -> RenderableType:
    """Return the changed lines of two texts, with a line around each change."""
    old, new = (visible(text, lines=True).splitlines() for text in (before, after))
    changes = difflib.unified_diff(old, new, lineterm="", n=1)
    styles = {"+": RIGHT, "-": WRONG}
    shown: list[Text] = []
    # The first two lines name files.
    for change in list(changes)[2:]:
        if not change.startswith("@@"):
            sign, style = change[0], styles.get(change[0], QUIET)
            for part in code_lines([change[1:]], max(20, width - 2), [sign]):
                shown.append(Text(part, style=style))
    return Group(*shown) if shown else Text("The texts are equal.", style=QUIET)
