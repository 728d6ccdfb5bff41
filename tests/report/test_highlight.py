"""Tests of code in colour."""

import re

from attn_drill.report.code_text import highlighted

LINES = ["def attention(q):", "", "    return q @ k  # [B, L]", "    '[bold]text' "]


def test_only_escape_sequences_are_added() -> None:
    """Blank lines, brackets and blanks stay."""
    shown = highlighted(LINES)
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown]
    assert [line.rstrip() for line in plain] == [line.rstrip() for line in LINES]
    assert "\x1b[" in shown[0]
    assert highlighted([]) == []


def test_colours_are_those_of_the_terminal() -> None:
    """A fixed colour may be unreadable on the background of the terminal."""
    shown = "".join(highlighted(LINES))
    assert "38;2;" not in shown
    assert "38;5;" not in shown
    assert not re.search(r"\x1b\[(?:\d+;)*4[0-7]m", shown)
