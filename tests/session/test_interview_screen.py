"""The questions and the score sheet at the end of a mock interview."""

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from attn_drill.exercises.interview import ScoreSheet, score_sheet
from attn_drill.practice.facts import StageEnded
from attn_drill.practice.progress import rated_reviews
from attn_drill.session._session_record import Ending
from attn_drill.session.interviews import EndScreen
from tests.support.report import END
from tests.support.session import CHALLENGES, SIZES, drive, interview, screen, until, words


def end_screen(tmp_path: Path, home: Path, count: int = 3) -> EndScreen:
    """Return the screen with `count` questions. Both problems have ended."""
    run = interview(tmp_path, home, count)
    for index in (0, 1):
        subject = run.plan.stages[index].challenge
        run.record(subject, StageEnded, seconds=600.0, **END)
    run.news.append("News.")

    def score() -> ScoreSheet:
        return score_sheet(run.plan, run.state, CHALLENGES, {"sdpa": "ref"}, run.questions, 1.0)

    return EndScreen(run, score)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_questions_then_score_sheet(tmp_path: Path, home: Path, size: tuple[int, int]) -> None:
    """Enter shows the model answer, then the learner rates it. Each rating is also a review."""
    app = end_screen(tmp_path, home)
    run = app.interview

    async def script(pilot: Pilot[Any]) -> None:
        assert "Question 1 of 3 · 10:00 left" in screen(pilot)
        assert "News." in screen(pilot)
        assert "Grouped-query attention Why is number 1 so?" in words(pilot)
        assert "Because of 1." not in words(pilot)
        await pilot.press("3")
        await pilot.pause()
        assert "Press Enter first" in words(pilot)
        assert not run.state.ratings
        run.clock.now += 20  # type: ignore[attr-defined]
        await pilot.press("enter")
        await pilot.pause()
        assert "Because of 1." in words(pilot)
        assert "1-4 again, hard, good, easy" in words(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert "Rate your own answer with 1" in words(pilot)
        await pilot.press("3")
        await pilot.pause()
        assert "Question 2 of 3 · 9:40 left" in screen(pilot)
        assert "Rate your own answer with 1" not in words(pilot)
        assert "Because of" not in words(pilot)
        await pilot.press("enter", "1", "enter", "2")
        await until(pilot, lambda: "0 of 2 problems solved" in screen(pilot))
        assert "Question 3" not in screen(pilot)
        await pilot.press("pagedown", "enter", "4", "down", "up", "pageup", "home")
        assert "0 of 2 problems solved" in screen(pilot)
        await pilot.press("q")

    assert drive(app, script, size) == "next"
    items = [question.item for question in run.questions]
    answers = list(run.state.ratings.items())
    assert answers == list(zip(items, (3, 1, 2), strict=True))
    reviews = [
        (review.item, review.rating, review.reason) for review in rated_reviews(run.journal.facts())
    ]
    assert reviews == [(*answer, "own rating") for answer in answers]
    assert run.state.question_seconds == 20.0


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("key", "ending"),
    [("q", "quit"), ("escape", "quit"), ("ctrl+q", "quit"), ("ctrl+c", "interrupted")],
)
def test_questions_can_be_left_and_resumed(
    tmp_path: Path, home: Path, key: str, ending: Ending
) -> None:
    """The time so far counts. Later only the open questions are asked."""
    app = end_screen(tmp_path, home)
    run = app.interview

    async def leave(pilot: Pilot[Any]) -> None:
        await pilot.press("enter", "1", "enter")
        run.clock.now += 30  # type: ignore[attr-defined]
        await pilot.press(key)

    assert (drive(app, leave) or app.ended("interrupted")) == ending
    assert (run.state.question_seconds, len(run.state.ratings)) == (30.0, 1)
    run.clock.now += 5000  # type: ignore[attr-defined]
    resumed = EndScreen(run, app.score)

    async def go_on(pilot: Pilot[Any]) -> None:
        assert "Question 2 of 3 · 9:30 left" in screen(pilot)
        assert "Because of 2." not in words(pilot)
        await pilot.press("enter", "1", "enter", "4")
        await until(pilot, lambda: "problems solved" in screen(pilot))
        await pilot.press("q")

    assert drive(resumed, go_on) == "next"


@pytest.mark.thorough
def test_time_that_is_up_during_questions(tmp_path: Path, home: Path) -> None:
    """The top line and a sentence show it, and answers still count."""
    app = end_screen(tmp_path, home)

    async def script(pilot: Pilot[Any]) -> None:
        app.interview.clock.now += 665  # type: ignore[attr-defined]
        await until(pilot, lambda: "1:05 over" in screen(pilot))
        assert "The time is up" in screen(pilot)
        await pilot.press("enter", "3")

    drive(app, script)
    assert len(app.interview.state.ratings) == 1


@pytest.mark.thorough
def test_question_and_sheet_follow_the_width(tmp_path: Path, home: Path) -> None:
    """After a resize every line fits, and a wide score sheet has two columns."""
    app = end_screen(tmp_path, home, 1)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.resize_terminal(45, 30)
        await pilot.pause(0.1)
        assert "Why is number 1 so?" in words(pilot)
        await pilot.press("enter", "3")
        await until(pilot, lambda: "problems solved" in screen(pilot))
        await pilot.resize_terminal(160, 60)
        await until(pilot, lambda: re.search("yours .*reference ", screen(pilot)) is not None)

    drive(app, script, (120, 30))
