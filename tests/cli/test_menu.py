"""`attn-drill` without a command."""

import os
from pathlib import Path

from tests.support.cli import drill
from tests.support.session import read_until, terminal


def test_without_a_terminal_the_challenges_are_listed(tmp_path: Path) -> None:
    """The output is the same as of `list`."""
    assert drill(cwd=tmp_path).stdout == drill("list", cwd=tmp_path).stdout


def test_menu_starts_the_chosen_challenge(tmp_path: Path) -> None:
    """Typing filters, and Enter starts. The stub is written."""
    with terminal(["-m", "trainer"], tmp_path) as (_, end):
        read_until(end, lambda seen: "New (" in seen)
        os.write(end, b"usual")
        read_until(end, lambda seen: "New (1)" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "Every save of masks.py" in seen)
        os.write(end, b"q")
        read_until(end, lambda seen: "as you left it" in seen)
    assert (tmp_path / "masks.py").exists()
