"""`attn-drill` without a command."""

import os
import time
from pathlib import Path

import pytest

from attn_drill.cli._practise import command_words
from attn_drill.model.errors import DrillError
from attn_drill.practice.statistics import Stats
from attn_drill.session import MenuChoice
from tests.support.cli import drill
from tests.support.menu import ENTRIES, record_pass
from tests.support.session import read_until, terminal


def test_without_a_terminal_the_challenges_are_listed(tmp_path: Path) -> None:
    """The output is the same as of `list`."""
    assert drill(cwd=tmp_path).stdout == drill("list", cwd=tmp_path).stdout


@pytest.mark.thorough
@pytest.mark.parametrize("words", [[], ["start"]], ids=["attn-drill", "attn-drill start"])
def test_menu_comes_back_after_a_challenge(tmp_path: Path, words: list[str]) -> None:
    """Typing filters, and Enter starts. The stub is written. Then q goes back to the menu."""
    with terminal(["-m", "attn_drill", *words], tmp_path) as (_, end):
        read_until(end, lambda seen: "Enter writes sdpa.py." in seen)
        os.write(end, b"usual")
        read_until(end, lambda seen: "Enter writes masks.py." in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "Every save of masks.py" in seen)
        os.write(end, b"q")
        shown = read_until(end, lambda seen: "Under way" in seen)
        os.write(end, b"\x1b")
        read_until(end, lambda seen: False)  # until the program ends
    assert "masks: not passed yet" in shown
    assert (tmp_path / "masks.py").exists()


@pytest.mark.thorough
def test_menu_comes_back_after_another_command(tmp_path: Path, home: Path) -> None:
    """The output stays to be read until the learner presses Enter."""
    record_pass(home, "sdpa", time.time())
    with terminal(["-m", "attn_drill"], tmp_path) as (_, end):
        read_until(end, lambda seen: f"1 of {len(ENTRIES)} passed" in seen)
        os.write(end, b"stats")
        read_until(end, lambda seen: "own mistakes" in seen)
        os.write(end, b"\r")
        shown = read_until(end, lambda seen: "Enter goes back to the menu" in seen)
        assert "1 attempt" in shown
        os.write(end, b"\r")
        read_until(end, lambda seen: "Recommended" in seen)


@pytest.mark.thorough
def test_command_that_fails_says_why_in_the_menu(tmp_path: Path) -> None:
    """The learner chooses something else."""
    with terminal(["-m", "attn_drill"], tmp_path) as (_, end):
        read_until(end, lambda seen: "Enter writes sdpa.py." in seen)
        os.write(end, b"hunt\r")
        read_until(end, lambda seen: "No challenge is passed yet" in seen)


def test_command_has_the_packs_of_the_menu() -> None:
    """The command sees the same challenges. A hunt without a challenge takes a passed challenge."""
    passed = Stats(passed=("gqa",), challenges=18)
    assert command_words(MenuChoice("quiz"), passed, []) == ["quiz"]
    assert command_words(MenuChoice("stats"), passed, ["my pack"]) == ["stats", "--pack", "my pack"]
    assert command_words(MenuChoice("hunt"), passed, []) == ["hunt", "gqa"]
    sdpa = MenuChoice("hunt", next(entry for entry in ENTRIES if entry.challenge.id == "sdpa"))
    assert command_words(sdpa, passed, []) == ["hunt", "sdpa"]


def test_hunt_needs_a_passed_challenge() -> None:
    """A bug hunt shows the reference, so no other challenge is chosen at random."""
    with pytest.raises(DrillError, match="No challenge is passed yet"):
        command_words(MenuChoice("hunt"), Stats(), [])
