"""Dialogs above a screen."""

from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.session import drive, screen, until, words
from trainer.session.actions import ACTIONS
from trainer.session.dialogs import Confirm, Help


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
