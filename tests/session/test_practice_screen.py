"""The screen of a session, driven by Textual's pilot. The rules are in `test_practice_model.py`."""

import asyncio
import os
import re
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.worker import WorkerFailed

import attn_drill
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews
from attn_drill.server.clients import AsyncClient
from attn_drill.session._practice_screen import PracticeScreen
from attn_drill.session._session_record import SETTLE_SECONDS
from attn_drill.session._widgets import ReportPane, TaskPane
from tests.support.session import (
    OPENING,
    PACK,
    RIGHT,
    WRONG,
    Clock,
    FakeGrader,
    drive,
    screen,
    screen_on,
    sitting,
    until,
    words,
)

SIZES = [(100, 30), (80, 24), (60, 15), (40, 10)]
real_grader = partial(AsyncClient, PACK)


def is_drawn(pilot: Pilot[Any], text: str) -> bool:
    """Return whether the screen shows this text, except for line breaks."""
    return text in words(pilot)


async def to_verdict(practice: PracticeScreen, pilot: Pilot[Any], text: str) -> None:
    """Save a text and wait until its verdict is drawn."""
    await until(pilot, lambda: practice.model.is_warm)
    practice.model.request.path.write_text(text)
    await until(pilot, lambda: practice.model.source == text)
    await pilot.pause()


def test_widgets_of_all_screens_read_no_markup() -> None:
    """A sentence on a screen may have a name in brackets."""
    folder = Path(attn_drill.__file__).parent / "session"
    lines = [line for path in folder.glob("*.py") for line in path.read_text().splitlines()]
    calls = [line for line in lines if re.search(r"(Static|TopLine)\((?!Static)", line)]
    assert len(calls) >= 7
    assert [line for line in calls if "markup=False" not in line] == []


def test_wrong_then_right_hint_trace_and_resume(file: Path, home: Path) -> None:
    """The real grader gives both verdicts, and a second session continues.

    The screen shows the mistake and a trace. The journal has both attempts, the hint and the
    review.
    """
    practice = screen_on(file, home, real_grader)

    async def first(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        file.write_text(WRONG)
        await until(pilot, partial(is_drawn, pilot, "are not divided by sqrt(head_dim)"))
        await pilot.press("h")
        await until(pilot, partial(is_drawn, pilot, "Hint 1"))
        await asyncio.sleep(SETTLE_SECONDS)  # so that the wrong answer counts
        file.write_text(RIGHT)
        await until(pilot, lambda: is_drawn(pilot, "PASSED 15/15") and is_drawn(pilot, "n next"))
        await pilot.press("t")
        await until(pilot, lambda: "= scores" in screen(pilot) or "= q" in screen(pilot))
        await pilot.press("q")

    try:
        result = drive(practice, first, size=(80, 120))  # the whole report is in view
    finally:
        practice.link.close()
    assert result is not None
    assert (result.ending, result.passed, result.attempts) == ("quit", True, 2)
    journal = Journal(home)
    attempts = counted_attempts(journal.facts())
    assert [(attempt.verdict, attempt.hints, attempt.mistakes) for attempt in attempts] == [
        ("failed", 0, ("no-scale",)),
        ("passed", 1, ()),
    ]
    assert [review.rating for review in rated_reviews(journal.facts())] == [3]
    again = screen_on(file, home, seconds_before=90.0, purpose="practice")

    async def second(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: again.model.record.attempts == 1)
        # The time before the session counts.
        assert re.search(r"  1:[3-5]\d of 20:00", screen(pilot))
        assert len(again.model.record.hints) == 1

    drive(again, second)


@pytest.mark.thorough
def test_save_supersedes_the_grading_of_the_save_before(file: Path, home: Path) -> None:
    """The real grader stops an answer that hangs. That answer is not an attempt."""
    practice = screen_on(file, home, real_grader)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        file.write_text("while True: pass\n")
        await until(pilot, lambda: practice.model.is_grading)
        await pilot.pause(0.2)
        file.write_text(RIGHT)
        await until(pilot, lambda: practice.model.record.passed)

    try:
        drive(practice, script)
    finally:
        practice.link.close()
    # With a wait for its time limit, the answer that hangs would be an attempt.
    assert [attempt.verdict for attempt in counted_attempts(Journal(home).facts())] == ["passed"]


@pytest.mark.thorough  # test_grading_link.py replaces fake processes
def test_grading_process_that_is_killed_is_replaced(file: Path, home: Path) -> None:
    """The screen says so, and the new process grades the next save."""
    practice = screen_on(file, home, real_grader)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        os.kill(practice.link.client._process.pid, signal.SIGKILL)
        await until(pilot, partial(is_drawn, pilot, "grading process ended"))
        await until(pilot, lambda: practice.model.is_warm)
        file.write_text(RIGHT)
        await until(pilot, lambda: practice.model.record.passed)

    try:
        drive(practice, script)
    finally:
        practice.link.close()


@pytest.mark.thorough  # test_session_record.py saves texts that are not finished
def test_autosave_during_typing_makes_no_failed_attempts(file: Path, home: Path) -> None:
    """The real grader grades a right answer after every fourth line."""
    practice = screen_on(file, home, real_grader)
    lines = RIGHT.splitlines(keepends=True)

    def is_graded(text: str) -> bool:
        return practice.model._sent_source == text and not practice.model.is_grading

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        for count in [*range(10, len(lines), 4), len(lines)]:
            text = "".join(lines[:count])
            file.write_text(text)
            await until(pilot, partial(is_graded, text))
        await until(pilot, lambda: practice.model.record.passed)
        await pilot.press("q")

    try:
        result = drive(practice, script)
    finally:
        practice.link.close()
    assert result is not None
    assert result.attempts == 1
    (review,) = rated_reviews(Journal(home).facts())
    assert (review.rating, "0 failed attempts" in review.reason) == (4, True)


@pytest.mark.thorough
def test_fault_of_the_screen_ends_the_session(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in a background task is not lost, and the journal stays whole."""
    practice = screen_on(file, home)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    async def script(pilot: Pilot[Any]) -> None:
        monkeypatch.setattr(practice.model.record, "add_attempt", broken)
        file.write_text("right")
        await until(pilot, lambda: pilot.app._exception is not None)

    with pytest.raises(WorkerFailed, match="a fault of ours"):
        drive(practice, script)
    assert counted_attempts(Journal(home).facts()) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [*SIZES, (200, 50)], ids=str)
@pytest.mark.parametrize("text", ["stub", "wrong", "half", "right"])
def test_every_key_works_in_every_phase_and_size(
    file: Path, home: Path, size: tuple[int, int], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen always fits, has its line of keys, and goes on after every key."""
    monkeypatch.setenv("EDITOR", "no-such-editor")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("attn_drill.session._widgets.render_trace", lambda trace: "the trace")
    practice = screen_on(file, home)
    keys = "h w t o f enter 3 tab r d e shift+tab down pageup t o question_mark"

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        if text != "stub":
            file.write_text(text)
            await until(pilot, lambda: text in (practice.model._sent_source or ""))
        for key in keys.split():
            await pilot.press(key)
            await pilot.pause()
            lines = screen(pilot).splitlines()
            assert len(lines) == size[1], key
            assert all(len(line) <= size[0] for line in lines), key
        assert len(pilot.app.screen_stack) == 3, "the list of all keys is open"
        await pilot.press("escape")
        await until(pilot, partial(is_drawn, pilot, "q leave"))
        assert not practice.model.is_grading
        await pilot.press("n")
        await pilot.pause()
        if practice.is_running:
            await pilot.press("q")

    result = drive(practice, script, size)
    assert result is not None
    assert result.ending == ("next" if text == "right" else "quit")


@pytest.mark.parametrize("width", [80, 140])
def test_tab_and_a_click_bring_a_pane_to_the_front(file: Path, home: Path, width: int) -> None:
    """On a narrow screen the pane is shown; on a wide screen the arrow keys scroll it."""
    practice = screen_on(file, home)

    async def script(pilot: Pilot[Any]) -> None:
        await to_verdict(practice, pilot, "wrong")
        assert pilot.app.focused is practice.query_one(ReportPane)
        assert is_drawn(pilot, "Grouped-query attention") == (width >= 110)
        if width >= 110:
            await pilot.click(TaskPane)
        else:
            await pilot.press("tab")
        await until(pilot, lambda: pilot.app.focused is practice.query_one(TaskPane))
        assert practice.model.front == "task"
        await pilot.press("end")
        await until(pilot, lambda: practice.query_one(TaskPane).scroll_offset.y > 0)
        await pilot.press("shift+tab")
        await until(pilot, lambda: pilot.app.focused is practice.query_one(ReportPane))

    drive(practice, script, (width, 12))


def test_terminal_that_is_too_small_shows_both_sizes(file: Path, home: Path) -> None:
    """A save is graded meanwhile. Nothing that cannot be seen happens, and q leaves."""
    practice = screen_on(file, home)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.resize_terminal(30, 8)
        await to_verdict(practice, pilot, "wrong")
        assert is_drawn(pilot, "This terminal is 30 x 8; the session needs 40 x 10.")
        await pilot.press("x", "h", "w", "tab", "enter", "1")
        assert practice.model.record.hints == ()
        await pilot.resize_terminal(80, 24)
        await until(pilot, partial(is_drawn, pilot, "FAILED 1/2"))
        await pilot.resize_terminal(30, 8)
        await pilot.press("q")

    assert drive(practice, script) is not None


def test_reset_asks_first(file: Path, home: Path) -> None:
    """Only Enter writes a stub."""
    practice = screen_on(file, home)

    async def script(pilot: Pilot[Any]) -> None:
        await to_verdict(practice, pilot, "my work")
        for key in ("escape", "q"):
            await pilot.press("x")
            await until(pilot, partial(is_drawn, pilot, "Write a fresh stub"))
            await pilot.press("z", key)
            await pilot.pause()
            assert file.read_text() == "my work"
        await pilot.press("x", "enter")
        await until(pilot, partial(is_drawn, pilot, "kept as gqa.old-1.py"))

    drive(practice, script)
    assert (file.parent / "gqa.old-1.py").read_text() == "my work"


def test_level_that_was_asked_for_is_offered_at_once(file: Path, home: Path) -> None:
    """One key keeps the old file and gives the level."""
    file.write_text("my work")
    practice = screen_on(file, home, level="blank")

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, partial(is_drawn, pilot, "stub of the level blank"))
        await pilot.press("enter")
        await until(pilot, partial(is_drawn, pilot, "kept as gqa.old-1.py"))

    drive(practice, script)
    assert "raise NotImplementedError" in file.read_text()


def test_editor_that_cannot_start_changes_nothing(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen shows the next step."""
    monkeypatch.setenv("VISUAL", "no-such-editor")
    practice, before = screen_on(file, home), file.read_text()

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        await pilot.press("e")
        await until(pilot, partial(is_drawn, pilot, "Set EDITOR to your editor"))

    drive(practice, script)
    assert file.read_text() == before


@pytest.mark.thorough
def test_clock_ticks_and_shows_overtime(file: Path, home: Path) -> None:
    """The line at the top is drawn every second."""
    clock = Clock()
    practice = screen_on(file, home, clock=clock, par_seconds=600.0)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        clock.now += 1865
        await until(pilot, partial(is_drawn, pilot, "31:05 of 10:00 over"))

    drive(practice, script)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_problem_of_an_interview(file: Path, home: Path, size: tuple[int, int]) -> None:
    """The clock starts at Enter. To hand in and to take a hint ask first."""
    clock = Clock()
    practice = screen_on(
        file, home, clock=clock, purpose="interview", stage="line", sitting=sitting()
    )

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        await until(pilot, partial(is_drawn, pilot, OPENING.split("\n")[0]))
        clock.now += 500
        file.write_text("wrong")
        await pilot.press("h", "w", "x", "n", "tab", "1")
        await pilot.pause(0.2)
        assert practice.model.source is None
        await pilot.press("enter")
        await until(pilot, partial(is_drawn, pilot, "1 of 2 · 30:00 left"))
        await until(pilot, lambda: practice.model.source == "wrong")
        await pilot.press("h")
        await until(pilot, partial(is_drawn, pilot, "Show hint 1 of 3?"))
        await pilot.press("escape")
        assert practice.model.record.hints == ()
        clock.now += 20
        await until(pilot, partial(is_drawn, pilot, "29:40 left"))
        await pilot.press("n", "n", "escape")
        await pilot.pause()
        assert practice.is_running
        await pilot.press("n", "enter")

    result = drive(practice, script, size)
    assert result is not None
    assert (result.ending, result.seconds) == ("next", 20.0)


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+q"])
def test_leaving_from_the_opening_page_costs_no_time(file: Path, home: Path, key: str) -> None:
    """An interview that is resumed keeps the seconds before."""
    clock = Clock()
    practice = screen_on(
        file, home, clock=clock, seconds_before=95.0, purpose="interview", sitting=sitting()
    )

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, partial(is_drawn, pilot, "start the clock"))
        clock.now += 500
        await pilot.press(key)

    result = drive(practice, script)
    assert result is not None
    assert (result.ending, result.seconds) == ("quit", 95.0)


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+q", "ctrl+c"])
def test_ways_to_leave(file: Path, home: Path, key: str) -> None:
    """Ctrl-C leaves without a result, which the command takes as an interrupt."""
    practice = screen_on(file, home)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(key)

    result = drive(practice, script)
    assert (result is None) == (key == "ctrl+c")


def test_pass_of_a_hunt_shows_what_was_wrong(file: Path, home: Path) -> None:
    """A pass names the planted mistakes, and there is no lesson about an own answer."""
    hunt: dict[str, Any] = {"purpose": "hunt", "stage": "where", "hunted": ("no-scale",)}
    practice = screen_on(file, home, untouched=file.read_text(), **hunt)

    async def script(pilot: Pilot[Any]) -> None:
        await to_verdict(practice, pilot, "wrong")
        assert not is_drawn(pilot, "The scores are not scaled")
        await to_verdict(practice, pilot, "right")
        await until(pilot, partial(is_drawn, pilot, "n next"))
        assert is_drawn(pilot, "not divided by sqrt(head_dim)")

    drive(practice, script, (80, 40))


@pytest.mark.parametrize("shade", ["dark", "light"])
def test_key_changes_between_dark_and_light(
    file: Path, home: Path, shade: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment chooses the first of them."""
    monkeypatch.setenv("ATTN_DRILL_THEME", shade)

    async def script(pilot: Pilot[Any]) -> None:
        assert pilot.app.current_theme.dark == (shade == "dark")
        await pilot.press("d")
        assert pilot.app.current_theme.dark == (shade == "light")

    drive(screen_on(file, home), script)


@pytest.mark.thorough
def test_tick_and_verdict_while_the_screen_ends_do_no_harm(file: Path, home: Path) -> None:
    """At the end Textual removes the widgets before it stops the timers."""
    practice = screen_on(file, home)
    grader = practice.link.client
    assert isinstance(grader, FakeGrader)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: practice.model.is_warm)
        await pilot.press("q")
        file.write_text("right")

    drive(practice, script)
    practice._show_time()
    practice.show()
