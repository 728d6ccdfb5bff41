"""The commands as a user types them: what they print, where, and the exit code."""

import os
from pathlib import Path

from tests.support.cli import drill
from tests.support.session import read_until, terminal


def test_alone_it_lists(tmp_path: Path) -> None:
    """Without a command, into a pipe, the list."""
    assert drill(cwd=tmp_path).stdout == drill("list", cwd=tmp_path).stdout


def test_in_a_terminal(tmp_path: Path) -> None:
    """`attn-drill` alone: the menu; what is typed and entered is started, and its stub is there."""
    with terminal(["-m", "trainer"], tmp_path) as (_, end):
        read_until(end, lambda seen: "New (" in seen)
        os.write(end, b"usual")
        read_until(end, lambda seen: "New (1)" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "Every save of masks.py" in seen)
        os.write(end, b"q")
        read_until(end, lambda seen: "as you left it" in seen)
    assert (tmp_path / "masks.py").exists()
