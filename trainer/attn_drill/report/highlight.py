"""Python code with escape sequences that colour it."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.syntax import Syntax

from attn_drill.report.literal import console


def highlighted(lines: Sequence[str]) -> list[str]:
    """Return lines of Python code with escape sequences that colour them."""
    # The terminal's own palette is readable on any background.
    code = Syntax("", "python", theme="ansi_dark", background_color="default")
    text = code.highlight("\n".join(lines))
    width = max(map(len, lines), default=1) + 1
    terminal = console(io.StringIO(), width=width, force_terminal=True, color_system="standard")
    shown: list[str] = []
    for line in text.split("\n", allow_blank=True)[: len(lines)]:
        with terminal.capture() as capture:
            terminal.print(line, end="")
        shown.append(capture.get())
    return shown
