"""The session's screen in a mock interview: the opening page and the clock."""

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.session import Clock, app_on, screen, until, words
from tests.support.session_interview import OPENING, SITTING, SIZES
from tests.support.session_keys import run_app
from trainer.practice.progress import counted_attempts, rated_reviews
from trainer.server.messages import Grade
from trainer.session.model import SessionResult

INTERVIEW: dict[str, Any] = {"purpose": "interview", "stage": "line", "sitting": SITTING}


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_clock_starts_at_enter(file: Path, home: Path, size: tuple[int, int]) -> None:
    """Before Enter no second counts, nothing is graded, and only q works."""
    clock = Clock()
    app = app_on(file, home, clock=clock, par_seconds=600.0, **INTERVIEW)
    grader = app.grader
    assert isinstance(grader, FakeGrader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm and "The clock starts when you" in screen(pilot))
        clock.now += 500
        file.write_text("right")
        await pilot.press("r", "h", "w", "t", "x", "n", "tab", "1")
        await pilot.pause(1.2)
        assert "1 of 2 · 30:00 left" in screen(pilot)
        assert app.state.seconds == 0
        assert app.return_value is None
        assert file.read_text() == "right"
        assert not [request for request in grader.requests if isinstance(request, Grade)]
        await pilot.press("enter")
        await until(pilot, lambda: app.state.passed)
        assert OPENING[:10] not in screen(pilot)
        clock.now += 20
        await until(pilot, lambda: "1 of 2 · 29:40 left" in screen(pilot))
        await pilot.press("n")

    run_app(app, script, size)
    assert app.return_value is not None
    assert (app.return_value.ending, app.return_value.seconds) == ("next", 20.0)


def test_leaving_from_the_opening_page_costs_no_time(file: Path, home: Path) -> None:
    """An interview that is resumed keeps the seconds before."""
    clock = Clock()
    app = app_on(file, home, clock=clock, seconds_before=95.0, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        clock.now += 500
        await pilot.press("q")

    run_app(app, script, (80, 24))
    assert app.return_value is not None
    assert (app.return_value.ending, app.return_value.seconds) == ("quit", 95.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("key", ["r", "h", "w", "tab"])
def test_path_and_time_stay_in_view(
    tmp_path: Path, home: Path, size: tuple[int, int], key: str
) -> None:
    """They are in view in every pane, and a long path is wrapped."""
    path = tmp_path / "an interview folder" / "gqa.py"
    path.parent.mkdir()
    path.write_text("wrong")
    app = app_on(path, home, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.last is not None)
        await pilot.press(key)
        await pilot.pause()
        drawn = screen(pilot)
        assert re.search(r"1 of 2 · (30:00|29:5\d) left", drawn)
        if size != (40, 10):
            assert str(path).replace(" ", "") in "".join(
                line.strip() for line in drawn.splitlines()
            ).replace(" ", "")
        else:
            assert re.search(r"^ /\S*….*gqa\.py", drawn, re.MULTILINE), "without its middle"

    run_app(app, script, size)


@pytest.mark.thorough
def test_top_line_shows_the_overtime(file: Path, home: Path) -> None:
    """The overtime of the problem and of the interview are shown separately."""
    clock = Clock()
    app = app_on(file, home, clock=clock, par_seconds=600.0, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        clock.now += 1865
        await until(pilot, lambda: "1 of 2 · 1:05 over" in screen(pilot))
        assert "this problem 31:05 of 10:00 over" in words(pilot)

    run_app(app, script, (80, 24))


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [(80, 24), (50, 20)], ids=str)
def test_nothing_is_graded_without_a_grader(file: Path, home: Path, size: tuple[int, int]) -> None:
    """A save is confirmed, and keys that need a verdict say why they do nothing."""
    app = app_on(file, home, is_graded=False, **INTERVIEW)
    grader = app.grader
    assert isinstance(grader, FakeGrader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        file.write_text("wrong")
        await until(pilot, lambda: "Saved; the verdict comes when you hand in (n)" in words(pilot))
        for key in "rtw":
            await pilot.press(key)
            await pilot.pause()
            assert "Nothing is graded in this interview before you hand in" in words(pilot)
        await pilot.press("tab")
        await pilot.pause()
        assert "the verdict is on the score sheet" in words(pilot)
        assert "not graded yet" in words(pilot)
        assert not [request for request in grader.requests if isinstance(request, Grade)]
        await pilot.press("n")

    run_app(app, script, size)
    assert app.return_value is not None
    assert app.return_value.ending == "next"
    assert counted_attempts(app.state.journal.facts()) == []


def test_first_pass_in_an_interview_shows_its_grade(file: Path, home: Path) -> None:
    """It is a review, so the learner can overrule the grade."""
    app = app_on(file, home, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)
        await until(pilot, lambda: "graded easy: 0 of 20 min" in words(pilot))
        await pilot.press("2")
        await pilot.press("n")

    run_app(app, script, (80, 24))
    assert [review.rating for review in rated_reviews(app.state.journal.facts())] == [2]
