"""Tests of a bug hunt in the session: the handed-out file is not graded, a pass shows it all."""

from functools import partial
from pathlib import Path

from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.session import app_on, drive, screen, until, words
from trainer.server.messages import Grade
from trainer.session.model import SessionResult

HANDED_OUT = "the reference with a mistake"


def test_text_of_a_hunt_is_graded_only_when_it_changes(file: Path, home: Path) -> None:
    """The learner has done nothing yet, so the handed-out text is no attempt."""
    file.write_text(HANDED_OUT)
    app = app_on(file, home, purpose="hunt", stage="where", untouched=HANDED_OUT)
    grader = app.grader
    assert isinstance(grader, FakeGrader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await pilot.pause(0.3)
        assert not any(isinstance(request, Grade) for request in grader.requests)
        file.write_text("another text")
        await until(pilot, lambda: app.state.attempts == 1)
        assert "The scores are not scaled" not in screen(pilot)
        assert "scores = q @ k" not in screen(pilot)

    drive(app, script)


def test_pass_of_a_hunt_shows_what_was_wrong(file: Path, home: Path) -> None:
    """A pass names the planted mistakes, and the notes on an own answer do not appear."""
    file.write_text(HANDED_OUT)
    hunted = ("no-scale",)
    app = app_on(file, home, purpose="hunt", stage="where", untouched=HANDED_OUT, hunted=hunted)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        assert "no-scale" not in words(pilot)
        file.write_text("right")
        await until(pilot, partial(_shows, pilot, "The bug: "))
        assert app.after is None
        assert "n next" in words(pilot)

    drive(app, script)


def _shows(pilot: Pilot[SessionResult], text: str) -> bool:
    return text in words(pilot)
