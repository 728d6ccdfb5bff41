"""Dialogs above a screen."""

from typing import Any

import pytest
from textual.pilot import Pilot

from attn_drill.session._drill_app import Confirm, Help
from attn_drill.session._practice_model import ACTIONS
from tests.support.session import drive, screen, until, words


@pytest.mark.parametrize(
    ("key", "answer"),
    [("enter", True), ("escape", False), ("q", False)],
)
def test_question_is_answered_with_a_key(key: str, answer: bool) -> None:
    """Other keys do not answer it."""

    async def script(pilot: Pilot[Any]) -> None:
        await until(
            pilot, lambda: "Hand in" in words(pilot) and "enter yes  esc no" in screen(pilot)
        )
        await pilot.press("z", "n", "h", key)

    assert drive(Confirm("Hand in gqa.py?"), script) is answer


@pytest.mark.parametrize("size", [(80, 40), (40, 10)])
def test_list_has_every_key(size: tuple[int, int]) -> None:
    """It scrolls in a low terminal."""

    async def script(pilot: Pilot[Any]) -> None:
        seen = words(pilot)
        for _ in range(8):
            await pilot.press("pagedown")
            await pilot.pause(0.02)
            seen += words(pilot)
        for action in ACTIONS.values():
            assert action.explains.split()[-1] in seen, action.name
        await pilot.press("question_mark")

    drive(Help({"edit"}), script, size)


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (40, 10)])
def test_keys_of_a_long_dialog_stay_in_view(size: tuple[int, int]) -> None:
    """The text scrolls to its end above them."""

    async def script(pilot: Pilot[Any]) -> None:
        assert screen(pilot).splitlines()[-1].strip() == "enter yes  esc no"
        assert "END" not in screen(pilot)
        await pilot.press("end")
        await until(pilot, lambda: "END" in screen(pilot))
        await pilot.press("escape")

    drive(Confirm("A long text. " * 200 + "END"), script, size)


def test_no_two_actions_have_the_same_key_at_once() -> None:
    """Enter is only for the answer of a question."""
    keys = [action.key for action in ACTIONS.values()]
    assert len(keys) == len(set(keys))
