"""A mock interview on the screen: opening pages, the clock, files, questions, the score sheet."""

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
from trainer.session.interview_state import How


def end_app(tmp_path: Path, home: Path, count: int = 3) -> EndApp:
    """Return the screen with so many questions of the bank; both problems have ended."""
    questions = read_questions(pack_reader.built_in_pack())
    chosen = [one for one in questions if one.kind == "choice"][: count - 1]
    chosen += [one for one in questions if one.kind == "number"][:1]
    run = interview(tmp_path, home, tuple(one.id for one in chosen))
    for index in (0, 1):
        data = {"code": None, "note": "", "reference_seen": False}
        run.record("ended", stage=index, seconds=600.0, **data)
    run.news.append("News.")

    def score() -> ScoreSheet:
        return score_sheet(run.plan, run.state, CHALLENGES, {"sdpa": "ref"}, run.asked, 1.0)

    return EndApp(run, score)


def run_end(app: EndApp, script: Callable[[Pilot[How]], Awaitable[None]], size: Any) -> None:
    """Run the screen without a terminal."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())


def test_the_clock_may_tick_while_the_screen_of_the_questions_ends(
    tmp_path: Path, home: Path
) -> None:
    """Textual removes the widgets before it stops the timers of a screen that it closes."""
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
    """Answers are kept and not judged; an unclear one is asked again; then the sheet comes."""
    app = end_app(tmp_path, home)
    run, (first, second, number) = app.interview, app.interview.asked

    async def script(pilot: Pilot[How]) -> None:
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
        app.query_one("#given", Input).value = number.answer
        await pilot.press("enter")
        await until(pilot, lambda: "SCORE 10 of 100" in screen(pilot))
        assert "Question 3" not in screen(pilot)
        await pilot.press("pagedown", "enter", "down", "up", "pageup")
        assert "SCORE 10 of 100" in screen(pilot)
        await pilot.press("q")

    run_end(app, script, size)
    assert app.return_value == "next"
    given = [(one.item, one.right) for one in run.state.answers]
    assert given == [(first.item, True), (second.item, False), (number.item, True)]
    assert run.state.question_seconds == 20.0


@pytest.mark.parametrize(
    ("key", "how"), [("escape", "quit"), ("ctrl+q", "quit"), ("ctrl+c", "interrupted")]
)
def test_questions_can_be_left_and_resumed(tmp_path: Path, home: Path, key: str, how: How) -> None:
    """The time counts so far; afterwards only the open questions are asked."""
    app = end_app(tmp_path, home)
    run = app.interview

    async def leave(pilot: Pilot[How]) -> None:
        await pilot.press("?", "enter", "q")
        run.clock.now += 30  # type: ignore[attr-defined]
        await pilot.press(key)

    run_end(app, leave, (80, 24))
    assert app.return_value == how
    assert (run.state.question_seconds, len(run.state.answers)) == (30.0, 1)
    run.clock.now += 5000  # type: ignore[attr-defined]
    again = EndApp(run, app.score)

    async def go_on(pilot: Pilot[How]) -> None:
        assert "Question 2 of 3 · 9:30 left" in screen(pilot)
        await pilot.press("?", "enter", "?", "enter")
        await until(pilot, lambda: "SCORE" in screen(pilot))
        await pilot.press("q")

    run_end(again, go_on, (80, 24))
    assert again.return_value == "next"


def test_time_that_is_up_during_questions(tmp_path: Path, home: Path) -> None:
    """The line at the top and a sentence say it; answers still count."""
    app = end_app(tmp_path, home)

    async def script(pilot: Pilot[How]) -> None:
        app.interview.clock.now += 665  # type: ignore[attr-defined]
        await until(pilot, lambda: "1:05 over" in screen(pilot))
        assert "The time is up" in screen(pilot)
        await pilot.press("?", "enter")

    run_end(app, script, (80, 24))
    assert len(app.interview.state.answers) == 1


def test_question_and_sheet_follow_the_width(tmp_path: Path, home: Path) -> None:
    """After a resize every line fits the new width; the score sheet comes in two columns."""
    app = end_app(tmp_path, home, 1)
    text = app.interview.asked[0].text

    async def script(pilot: Pilot[How]) -> None:
        await pilot.resize_terminal(45, 30)
        await pilot.pause(0.1)
        assert " ".join(text.split()) in words(pilot)
        await pilot.press("?", "enter")
        await until(pilot, lambda: "SCORE" in screen(pilot))
        await pilot.resize_terminal(120, 60)
        await until(pilot, lambda: re.search("yours .*reference ", screen(pilot)) is not None)

    run_end(app, script, (120, 30))
