"""The questions and the score sheet at the end of a mock interview."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.session import screen, until, words
from tests.support.session_interview import CHALLENGES, SIZES, interview
from trainer.interview.score import ScoreSheet, score_sheet
from trainer.packs import pack_reader
from trainer.packs.question_bank import read_questions
from trainer.session.interview_screen import EndApp
from trainer.session.model import Ending


def end_app(tmp_path: Path, home: Path, count: int = 3) -> EndApp:
    """Return the screen with `count` questions of the bank. Both problems have ended."""
    questions = read_questions(pack_reader.built_in_pack())
    chosen = [question for question in questions if question.kind == "choice"][: count - 1]
    chosen += [question for question in questions if question.kind == "number"][:1]
    run = interview(tmp_path, home, tuple(question.id for question in chosen))
    for index in (0, 1):
        data = {"code": None, "note": "", "reference_seen": False}
        run.record("ended", stage=index, seconds=600.0, **data)
    run.news.append("News.")

    def score() -> ScoreSheet:
        return score_sheet(run.plan, run.state, CHALLENGES, {"sdpa": "ref"}, run.questions, 1.0)

    return EndApp(run, score)


def run_end(app: EndApp, script: Callable[[Pilot[Ending]], Awaitable[None]], size: Any) -> None:
    """Run the screen without a terminal."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())


def test_tick_while_the_screen_ends_does_no_harm(tmp_path: Path, home: Path) -> None:
    """Textual removes the widgets before it stops the timers of a screen."""
    app = end_app(tmp_path, home)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
        assert not app.query("#top")
        app._draw_top()
        app._draw()

    asyncio.run(run())


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_questions_then_score_sheet(tmp_path: Path, home: Path, size: tuple[int, int]) -> None:
    """Answers are recorded and not judged. An unclear answer can be typed again."""
    app = end_app(tmp_path, home)
    run, (first, second, third) = app.interview, app.interview.questions

    async def script(pilot: Pilot[Ending]) -> None:
        assert "Question 1 of 3 · 10:00 left" in screen(pilot)
        assert "News." in screen(pilot)
        for _ in range(40):
            await pilot.press("down")
        assert first.options[-1].split()[0] in words(pilot)
        await pilot.press(*"perhaps", "enter")
        await pilot.pause()
        assert "Answer with a letter" in words(pilot)
        assert not run.state.answers
        for _ in "perhaps":
            await pilot.press("backspace")
        run.clock.now += 20  # type: ignore[attr-defined]
        await pilot.press(first.answer[0], "enter")
        await pilot.pause()
        assert "Question 2 of 3 · 9:40 left" in screen(pilot)
        assert "Answer with" not in screen(pilot)
        assert first.explanation.split(".")[0] not in words(pilot)
        await pilot.press("?", "enter")
        await pilot.pause()
        assert "Question 3 of 3" in screen(pilot)
        app.query_one("#given", Input).value = third.answer
        await pilot.press("enter")
        await until(pilot, lambda: "SCORE 10 of 100" in screen(pilot))
        assert "Question 3" not in screen(pilot)
        await pilot.press("pagedown", "enter", "down", "up", "pageup")
        assert "SCORE 10 of 100" in screen(pilot)
        await pilot.press("q")

    run_end(app, script, size)
    assert app.return_value == "next"
    answers = [(answer.item, answer.right) for answer in run.state.answers]
    assert answers == [(first.item, True), (second.item, False), (third.item, True)]
    assert run.state.question_seconds == 20.0


@pytest.mark.parametrize(
    ("key", "ending"), [("escape", "quit"), ("ctrl+q", "quit"), ("ctrl+c", "interrupted")]
)
def test_questions_can_be_left_and_resumed(
    tmp_path: Path, home: Path, key: str, ending: Ending
) -> None:
    """The time so far counts. Later only the open questions are asked."""
    app = end_app(tmp_path, home)
    run = app.interview

    async def leave(pilot: Pilot[Ending]) -> None:
        await pilot.press("?", "enter", "q")
        run.clock.now += 30  # type: ignore[attr-defined]
        await pilot.press(key)

    run_end(app, leave, (80, 24))
    assert app.return_value == ending
    assert (run.state.question_seconds, len(run.state.answers)) == (30.0, 1)
    run.clock.now += 5000  # type: ignore[attr-defined]
    resumed = EndApp(run, app.score)

    async def go_on(pilot: Pilot[Ending]) -> None:
        assert "Question 2 of 3 · 9:30 left" in screen(pilot)
        await pilot.press("?", "enter", "?", "enter")
        await until(pilot, lambda: "SCORE" in screen(pilot))
        await pilot.press("q")

    run_end(resumed, go_on, (80, 24))
    assert resumed.return_value == "next"


def test_time_that_is_up_during_questions(tmp_path: Path, home: Path) -> None:
    """The top line and a sentence show it, and answers still count."""
    app = end_app(tmp_path, home)

    async def script(pilot: Pilot[Ending]) -> None:
        app.interview.clock.now += 665  # type: ignore[attr-defined]
        await until(pilot, lambda: "1:05 over" in screen(pilot))
        assert "The time is up" in screen(pilot)
        await pilot.press("?", "enter")

    run_end(app, script, (80, 24))
    assert len(app.interview.state.answers) == 1


def test_question_and_sheet_follow_the_width(tmp_path: Path, home: Path) -> None:
    """After a resize every line fits, and a wide score sheet has two columns."""
    app = end_app(tmp_path, home, 1)
    text = app.interview.questions[0].text

    async def script(pilot: Pilot[Ending]) -> None:
        await pilot.resize_terminal(45, 30)
        await pilot.pause(0.1)
        assert " ".join(text.split()) in words(pilot)
        await pilot.press("?", "enter")
        await until(pilot, lambda: "SCORE" in screen(pilot))
        await pilot.resize_terminal(120, 60)
        await until(pilot, lambda: re.search("yours .*reference ", screen(pilot)) is not None)

    run_end(app, script, (120, 30))
