"""The theme of the screens, and their colours in a terminal."""

import re
from pathlib import Path

import pytest

from attn_drill.session._drill_app import theme
from tests.support.session import read_until, terminal


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "textual-dark"),
        ({"COLORFGBG": "0;15"}, "textual-light"),
        ({"COLORFGBG": "15;0"}, "textual-dark"),
    ],
)
def test_environment_chooses_the_theme(environment: dict[str, str], name: str) -> None:
    """The colour of the terminal's background decides."""
    assert theme(None, environment) == name


def test_given_shade_goes_before_the_environment() -> None:
    """The settings and the key d choose the theme, whatever the environment names."""
    assert theme("light", {"COLORFGBG": "15;0"}) == "textual-light"


@pytest.mark.thorough
def test_no_color_in_a_terminal(file: Path) -> None:
    """With NO_COLOR nothing is drawn in a colour other than grey."""

    def colours(**environment: str) -> set[tuple[str, ...]]:
        with terminal(
            ["-m", "tests.support.session", str(file)],
            file.parent,
            COLORTERM="truecolor",
            **environment,
        ) as (_, end):
            file.write_text("right")
            drawn = read_until(end, lambda seen: "PASSED" in seen)
        file.write_text("")
        return set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", drawn))

    assert any(len(set(colour)) > 1 for colour in colours())
    assert all(len(set(colour)) == 1 for colour in colours(NO_COLOR="1"))
