"""Dialogs above a screen."""

from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.session import drive, screen, until, words
from trainer.session.actions import ACTIONS
from trainer.session.dialogs import Confirm, Help, Opening


@pytest.mark.parametrize(
    ("key", "answer"),
    [("enter", True), ("y", True), ("n", False), ("escape", False), ("q", False)],
)
def test_question_is_answered_with_a_key(key: str, answer: bool) -> None:
    """Other keys do not answer it."""

    async def script(pilot: Pilot[Any]) -> None:
        await until(
            pilot, lambda: "Hand in" in words(pilot) and "enter yes  esc no" in screen(pilot)
        )
        await pilot.press("z", "h", key)

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


def test_opening_page_starts_or_leaves() -> None:
    """The clock starts only with Enter."""

    async def start(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "Stage 1" in words(pilot) and "q leave" in words(pilot))
        await pilot.press("n", "h", "enter")

    async def leave(pilot: Pilot[Any]) -> None:
        await pilot.press("escape")

    assert drive(Opening("Stage 1 of 2"), start) is True
    assert drive(Opening("Stage 1 of 2"), leave) is False
