"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

import asyncio
import contextlib
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.worker import WorkerFailed

from tests.support.fake_grader import FakeGrader, report_on
from tests.support.paths import ROOT
from trainer.packs import pack_reader
from trainer.practice.journal import Journal
from trainer.server.client import AsyncClient
from trainer.server.messages import Grade, TraceLines, Verdict
from trainer.session.model import SessionRequest, SessionResult
from trainer.session.practice_screen import SessionApp, _clock, _keys
from trainer.session.session_state import SETTLE_SECONDS, SessionState
from trainer.session.theme import theme

PACK = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(PACK, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "scores = scores * 1")
SIZES = [(80, 24), (60, 20), (200, 50)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A stub that was handed out."""
    path = tmp_path / "gqa.py"
    path.write_text(pack_reader.stub(GQA))
    return path


def app_on(path: Path, home: Path, grader: AsyncClient | None = None, **stay: Any) -> SessionApp:
    """A session on this file, with a fake grader unless another is given."""
    journal = Journal(home)
    if "purpose" not in stay:
        journal.record_start("gqa", path, time.time() - 60)
    clock = stay.pop("clock", time.monotonic)
    given = SessionRequest(
        GQA,
        path,
        pack_reader.prompt(GQA),
        stay.pop("seconds_before", 0.0),
        stay.pop("par_seconds", 1200.0),
        **stay,
    )
    return SessionApp(SessionState(given, journal, time.time, clock), grader or FakeGrader())


def drive(
    app: SessionApp,
    script: Callable[[Pilot[SessionResult]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
) -> None:
    """Run the app without a terminal and let the script drive it."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.warm)
            await script(pilot)

    asyncio.run(run())


async def until(
    pilot: Pilot[SessionResult], condition: Callable[[], bool], seconds: float = 60.0
) -> None:
    """Wait until it holds; a busy machine is no reason to fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, screen(pilot)
        await pilot.pause(0.02)


def screen(pilot: Pilot[SessionResult]) -> str:
    """What is drawn, as text."""
    width, height = pilot.app.size
    return (
        "\n".join(
            "".join(segment.text for segment in line)
            for line in pilot.app.screen._compositor.render_strips()
        )
        if width and height
        else ""
    )


def words(pilot: Pilot[SessionResult]) -> str:
    """The same without its line breaks."""
    return " ".join(screen(pilot).split())


def test_wrong_then_right_hint_quit_and_resume(file: Path, home: Path) -> None:
    """With the real grader: both verdicts are seen, where and why are told, the journal has it all, and a second session goes on from there."""
    grader = AsyncClient(ROOT)
    app = app_on(file, home, grader)

    async def first(pilot: Pilot[SessionResult]) -> None:
        assert "next" not in screen(pilot)
        file.write_text(WRONG)
        await until(
            pilot,
            lambda: (
                "FAILED" in screen(pilot)
                and "The scores are not divided by sqrt(head_dim)" in words(pilot)
            ),
        )
        await pilot.press("h")
        await until(pilot, lambda: "Hint 1" in screen(pilot))
        await asyncio.sleep(SETTLE_SECONDS)  # the wrong answer stood: it counts
        file.write_text(RIGHT)
        await until(pilot, lambda: "PASSED 14/14" in screen(pilot) and "n next" in screen(pilot))
        await pilot.press("t")
        await until(
            pilot,
            lambda: (
                app.trace is not None and ("= scores" in screen(pilot) or "= q" in screen(pilot))
            ),
        )
        await pilot.press("q")

    try:
        drive(app, first, size=(80, 120))  # the longest report is in view as a whole
    finally:
        grader.close()
    assert app.return_value is not None
    assert (
        app.return_value.how,
        app.return_value.passed,
        app.return_value.attempts,
        app.return_value.hints,
    ) == ("quit", True, 2, 1)
    journal = Journal(home)
    assert [(one.verdict, one.hints, one.mistakes) for one in journal.attempts()] == [
        ("failed", 0, ("no-scale",)),
        ("passed", 1, ()),
    ]
    assert [one.rating for one in journal.reviews()] == [3]
    assert journal.rows()
    again = app_on(file, home, seconds_before=90.0, purpose="practice")

    async def second(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: again.practice.attempts == 1)
        await until(
            pilot, lambda: bool(re.search(r"  1:[3-5]\d of 20:00", screen(pilot)))
        )  # what was spent before counts
        assert again.practice.hints == (GQA.hints[0],)

    drive(again, second)


def test_a_save_supersedes_what_is_under_way(file: Path, home: Path) -> None:
    """With the real grader: an answer that hangs is left at once for the next save, and is no attempt."""
    grader = AsyncClient(ROOT)
    app = app_on(file, home, grader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("while True: pass\n")
        await until(pilot, lambda: app.grading)
        await pilot.pause(0.2)
        file.write_text(RIGHT)
        await until(pilot, lambda: app.practice.passed)

    try:
        drive(app, script)
    finally:
        grader.close()
    # Had its time limit been waited for, the one that hangs would be an attempt.
    assert [one.verdict for one in Journal(home).attempts()] == ["passed"]


def test_the_grading_process_is_killed(file: Path, home: Path) -> None:
    """It is said in a sentence, another one starts, and the next save is graded."""
    grader = AsyncClient(ROOT)
    app = app_on(file, home, grader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        os.kill(grader._process.pid, signal.SIGKILL)
        await until(pilot, lambda: "grading process ended" in app.status)
        await until(pilot, lambda: app.warm)
        file.write_text(RIGHT)
        await until(pilot, lambda: app.practice.passed)

    try:
        drive(app, script)
    finally:
        app.grader.close()


def test_a_grading_process_that_does_not_stay_up(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few deaths no other one is started; a sentence says what its last words were and what to do."""
    monkeypatch.setattr("trainer.session.practice_screen._REST_SECONDS", 0.01)
    monkeypatch.setattr("trainer.session.practice_screen.AsyncClient", lambda root: FakeGrader())
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("crash")
        await until(pilot, lambda: "does not stay up (it fell over)" in words(pilot))
        file.write_text("right")
        await pilot.pause(1.5)
        assert app.practice.attempts == 0
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is not None


def test_every_kind_of_save(file: Path, home: Path) -> None:
    """In place, by rename over it, removed and written anew: each is graded once; the same text again is not."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    orders = app.grader.requests

    def graded() -> list[str]:
        return [one.submission.source for one in orders if isinstance(one, Grade)]

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("one")
        await until(pilot, lambda: graded() == ["one"])
        (file.parent / "swap").write_text("two")
        os.replace(file.parent / "swap", file)
        await until(pilot, lambda: graded() == ["one", "two"])
        file.unlink()
        await until(pilot, lambda: "There is no file" in app.status)
        file.write_text("three")
        await until(pilot, lambda: graded() == ["one", "two", "three"])
        file.write_text("three")
        await pilot.pause(0.3)
        assert graded() == ["one", "two", "three"]
        await pilot.press("r")
        await until(pilot, lambda: graded() == ["one", "two", "three", "three"])

    drive(app, script)


def test_without_events_the_file_is_looked_at(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system sends no events (a network folder), a save is noticed all the same."""
    import watchfiles

    async def none(*_: object, **__: object) -> Any:
        raise OSError("no events here")
        yield

    monkeypatch.setattr(watchfiles, "awatch", none)
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)

    drive(app, script)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: path.unlink(), "There is no file"),
        (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8"),
        (lambda path: path.write_bytes(b"a\0b"), "NUL"),
        (lambda path: path.write_text("refused"), "No verdict can be given"),
    ],
    ids=["deleted", "a folder", "half-written", "no text", "nul", "refused"],
)
def test_a_sentence_and_on(
    file: Path, home: Path, harm: Callable[[Path], object], says: str
) -> None:
    """What cannot be graded is said, the session stays, and the next whole save is graded."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        harm(file)
        await until(pilot, lambda: says in app.status)
        assert says.split()[0] in screen(pilot)
        if file.is_dir():
            file.rmdir()
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)

    drive(app, script)


def test_only_the_keys_that_work(file: Path, home: Path) -> None:
    """Before a verdict no `why`, no `trace`, no `next`; each comes with what it needs, and the hint goes with the last."""
    app = app_on(file, home)

    def keys() -> set[str]:
        return {
            name
            for name in ("again", "hint", "why", "trace", "next", "overrule", "reset", "leave")
            if app._works(name)
        }

    async def script(pilot: Pilot[SessionResult]) -> None:
        assert keys() == {"again", "hint", "reset", "leave"}
        for key, says in (
            ("w", "graded yet"),
            ("t", "graded yet"),
            ("n", "is passed"),
            ("1", "no grade"),
        ):
            await pilot.press(key)
            assert says in words(pilot), "a key that does nothing says why"
        assert app.return_value is None
        file.write_text("wrong")
        await until(pilot, lambda: app.practice.attempts == 1)
        assert keys() == {"again", "hint", "reset", "leave", "why", "trace"}
        for _ in range(5):
            await pilot.press("h")
        assert "hint" not in keys()
        assert app.practice.hints == GQA.hints
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)
        assert {"next", "overrule"} <= keys()
        assert "why" not in keys()
        await pilot.press("1")
        assert "graded again" in app.practice.graded
        await pilot.press("n")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.how == "next"
    (review,) = Journal(home).reviews()
    assert review.rating == 1


def test_why_is_held_back_in_an_interview_and_counted(file: Path, home: Path) -> None:
    """Without `why` the mistake is not drawn anywhere; the key shows it, and that is counted."""
    app = app_on(file, home, why=False, purpose="interview")

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.practice.attempts == 1)
        await until(pilot, lambda: "line 3" in screen(pilot))
        assert "not scaled" not in screen(pilot)
        await pilot.press("w")
        await until(pilot, lambda: "The scores are not scaled" in words(pilot))
        await pilot.press("w", "w", "n")

    drive(app, script)
    assert app.return_value is not None
    assert (app.return_value.how, app.return_value.whys) == ("next", 2)


def test_reset_keeps_the_old_file(file: Path, home: Path) -> None:
    """A fresh stub, and the learner's work under the name that is said."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("my work")
        await until(pilot, lambda: app.practice.attempts == 1)
        await pilot.press("x")
        assert "gqa.old-1.py" in app.status

    drive(app, script)
    assert (file.parent / "gqa.old-1.py").read_text() == "my work"
    assert file.read_text() == pack_reader.stub(GQA)


def test_a_verdict_that_comes_after_a_reset(file: Path, home: Path) -> None:
    """What was under way when the stub was handed out anew is no attempt at the new one."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("slow right")
        await until(pilot, lambda: app.grading)
        await pilot.press("x")
        grader.say(Verdict(1, report_on("gqa", "gqa.py", "right", 1)))
        await pilot.pause(0.3)
        assert app.practice.attempts == 0
        assert "not graded yet" in screen(pilot)

    drive(app, script)


def test_what_breaks_inside_ends_the_session_with_words(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the screen's own is not swallowed by a task: the session ends, and the journal is whole."""
    app = app_on(file, home)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    async def script(pilot: Pilot[SessionResult]) -> None:
        monkeypatch.setattr(app.practice, "attempted", broken)
        file.write_text("right")
        for _ in range(3000):
            if app._exception is not None:
                break
            await asyncio.sleep(0.02)

    with pytest.raises(WorkerFailed, match="a fault of ours"):
        drive(app, script)
    assert Journal(home).attempts() == []


def test_a_stub_is_not_graded(file: Path, home: Path) -> None:
    """What was handed out and is untouched is no attempt; work that was there is graded at once."""
    app = app_on(file, home)

    async def stays_new(pilot: Pilot[SessionResult]) -> None:
        await pilot.pause(0.3)
        assert app.practice.attempts == 0

    drive(app, stays_new)
    file.write_text("right")
    other = app_on(file, home)

    async def is_graded(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: other.practice.passed)

    drive(other, is_graded)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "60x20", "200x50"])
@pytest.mark.parametrize("shade", ["dark", "light"])
def test_it_fits(file: Path, home: Path, size: tuple[int, int], shade: Any) -> None:
    """Verdict, clock, status and keys are on the screen at every size, side by side only where there is room."""
    app = app_on(file, home)
    app.theme = theme(shade, {})

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.practice.attempts == 1)
        # Another pane and a second row of keys come with the next layout.
        await until(pilot, lambda: "q quit" in screen(pilot) and "3 of 4 values" in screen(pilot))
        drawn = screen(pilot)
        lines = drawn.splitlines()
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        assert re.search(r"gqa  FAILED 1/2  \d:\d\d of 20:00  gqa.py", lines[0])
        for words in ("3 of 4 values differ", "line 3: scores = q @ k", "q quit", "h hint"):
            assert words in drawn, drawn
        assert ("Grouped-query attention" in drawn) == (size[0] >= 110)
        assert app.current_theme.dark == (shade == "dark")

    drive(app, script, size)


def test_too_small_and_larger_again(file: Path, home: Path) -> None:
    """A sentence with both sizes; nothing is lost, and it is drawn again when there is room."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        assert "30 x 8" in words(pilot)
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "PASSED 2/2" in screen(pilot))

    drive(app, script)


def test_clock_that_ticks_while_the_screen_ends(file: Path, home: Path) -> None:
    """Textual takes the parts away one by one; a second or a verdict that comes then breaks nothing."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await app.query_one("#top").remove()
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)
        await pilot.pause(1.2)
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.passed


def test_no_journal_can_be_kept(file: Path, tmp_path: Path) -> None:
    """A home that cannot be written: a sentence in the session, and every save is graded."""
    (tmp_path / "a file").write_text("")
    app = app_on(file, tmp_path / "a file" / "home")

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("right")
        await until(pilot, lambda: app.practice.passed)
        assert "progress is not kept" in words(pilot)

    drive(app, script)


def test_a_clock_that_goes_backwards(file: Path, home: Path) -> None:
    """The time of day may be set back under a session: seconds stay what a forward clock says, never less than none."""
    journal = Journal(home)
    journal.record_start("gqa", file, 1000.0)
    times = iter(range(2000, 0, -50))
    practice = SessionState(
        SessionRequest(GQA, file, "", 5.0, 60.0),
        journal,
        lambda: float(next(times)),
        iter(range(100, 200)).__next__,
    )
    report = report_on("gqa", "gqa.py", "wrong", 1)
    for _ in range(3):
        practice.attempted(report, "text")
    assert [one.seconds for one in journal.attempts()] == [8.0, 7.0, 6.0]
    assert Journal(home).since_start("gqa").seconds_at(0.0) >= 0


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def practice_on(file: Path, home: Path, clock: Clock, **stay: Any) -> SessionState:
    """A practice without a screen, five minutes after its start."""
    journal = Journal(home)
    journal.record_start("gqa", file, clock() - 300)
    return SessionState(SessionRequest(GQA, file, "", 300.0, 1200.0, **stay), journal, clock, clock)


def save(practice: SessionState, text: str) -> None:
    """Save a text and have its verdict at once."""
    practice.saved(text)
    practice.attempted(report_on("gqa", "gqa.py", text, 1), text)


def test_autosaved_texts_are_no_failed_attempts(file: Path, home: Path) -> None:
    """A right answer that was saved nine times while it was typed is easy: it has no failed attempt."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    for number in range(9):
        save(practice, f"wrong {number}")
        clock.now += SETTLE_SECONDS - 0.5
    save(practice, "right")
    assert practice.graded == "graded easy: 6 of 20 min, no hint, 0 failed attempts"
    assert practice.left("quit").attempts == 1
    journal = Journal(home)
    assert [row.verdict for row in journal.attempts()] == ["passed"]
    assert len(journal.attempts(replaced=True)) == 10, "all are kept"
    assert (journal.since_start("gqa").failed, journal.progress()["gqa"].attempts) == (0, 1)


def test_verdict_that_stood_counts(file: Path, home: Path) -> None:
    """Nine wrong answers, each of which stood for a while, are nine failed attempts."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    for number in range(9):
        save(practice, f"wrong {number}")
        clock.now += SETTLE_SECONDS
    save(practice, "right")
    assert practice.graded.startswith("graded hard: 6 of 20 min, no hint, 9 failed attempts")
    assert practice.left("quit").attempts == 10


@pytest.mark.parametrize("purpose", ["practice", "review", "interview", "hunt"])
def test_unfinished_text_is_no_attempt(file: Path, home: Path, purpose: Any) -> None:
    """A file that does not parse is not in the journal, however long it stands; the last verdict stays."""
    clock = Clock()
    practice = practice_on(file, home, clock, purpose=purpose)
    save(practice, "wrong")
    clock.now += 60
    for number in range(9):
        save(practice, f"half {number}")
        practice.diagnosed(report_on("gqa", "gqa.py", f"half {number}", 1))
        clock.now += 60
        assert practice.unfinished is not None
        assert practice.last is not None
        assert (practice.last.verdict, practice.last_source) == ("failed", "wrong")
    assert [row.verdict for row in Journal(home).attempts(replaced=True)] == ["failed"]
    save(practice, "right")
    assert practice.unfinished is None
    assert practice.left("quit").attempts == 2


def test_unfinished_text_takes_back_the_verdict_before_it(file: Path, home: Path) -> None:
    """A half-typed line that parsed by chance, and does not a second later, was no answer."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong")
    clock.now += 1
    save(practice, "half")
    assert practice.left("quit").attempts == 0
    assert Journal(home).attempts() == []


def test_what_counts_at_once(file: Path, home: Path) -> None:
    """A pass, a verdict that was asked for, and the last verdict before the learner leaves."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong 1")
    practice.saved("wrong 1")  # the same text once more replaces nothing
    practice.attempted(report_on("gqa", "gqa.py", "wrong 1", 2), "wrong 1", asked=True)
    save(practice, "right")
    save(practice, "wrong 2")
    assert practice.left("quit").attempts == 4
    assert [row.verdict for row in Journal(home).attempts()] == [
        "failed",
        "failed",
        "passed",
        "failed",
    ]


def test_each_attempt_is_taken_back_once(file: Path, home: Path) -> None:
    """Many saves that are not graded, one after the other, take back one attempt."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong 1")
    clock.now += SETTLE_SECONDS
    save(practice, "wrong 2")
    for number in range(3):
        practice.saved(f"slow {number}")
    assert practice.left("quit").attempts == 1
    assert [table for table, _ in Journal(home).rows()].count("replaced") == 1


def test_state_of_an_unfinished_file_is_shown(file: Path, home: Path) -> None:
    """The line is told at the top and at the foot, the last verdict stays, and the task is not turned away."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("half 1")
        await until(pilot, lambda: "gqa does not parse: line 12" in words(pilot))
        assert "does not count" in words(pilot)
        assert "ERROR" not in screen(pilot)
        assert app.view == "task"
        await pilot.press("tab")
        await until(pilot, lambda: "line 12 x = (" in words(pilot))
        file.write_text("wrong")
        await until(pilot, lambda: "gqa FAILED 1/2" in words(pilot))
        file.write_text("half 2")
        await until(pilot, lambda: "The last verdict, on an earlier text: FAILED" in words(pilot))
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.attempts == 0
    assert app.return_value.source == "wrong"


def test_autosave_while_an_answer_is_typed(file: Path, home: Path) -> None:
    """With the real grader: a right answer whose every fourth line is saved is easy, with no failed attempt."""
    grader = AsyncClient(ROOT)
    app = app_on(file, home, grader)
    lines = RIGHT.splitlines(keepends=True)

    def is_graded(text: str) -> bool:
        return app._sent == text and not app.grading

    async def script(pilot: Pilot[SessionResult]) -> None:
        for count in [*range(10, len(lines), 4), len(lines)]:
            text = "".join(lines[:count])
            file.write_text(text)
            await until(pilot, partial(is_graded, text))
        await until(pilot, lambda: app.practice.passed)
        await pilot.press("q")

    try:
        drive(app, script)
    finally:
        grader.close()
    assert app.return_value is not None
    assert app.return_value.attempts == 1
    (review,) = Journal(home).reviews()
    assert (review.rating, "0 failed attempts" in review.reason) == (4, True)


def test_two_sessions_on_one_file(file: Path, home: Path) -> None:
    """The same challenge open twice: both see every save, both keep what they saw."""
    first, second = app_on(file, home), app_on(file, home)

    async def run() -> None:
        async with first.run_test(size=(80, 24)) as one, second.run_test(size=(80, 24)) as other:
            await until(one, lambda: first.warm and second.warm)
            file.write_text("right")
            await until(one, lambda: first.practice.passed)
            await until(other, lambda: second.practice.passed)

    asyncio.run(run())
    assert [one.verdict for one in Journal(home).attempts()] == ["passed", "passed"]
    assert len(Journal(home).reviews()) == 1, "one pass is graded once"


def test_a_trace_is_asked_of_what_was_graded(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`t` asks for the lines of the text and the seed that the report is of, and the next verdict takes its place."""
    monkeypatch.setattr(
        "trainer.session.practice_screen.render_trace", lambda trace: f"trace of seed {trace.seed}"
    )
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.practice.attempts == 1)
        await pilot.press("t")
        await until(pilot, lambda: "trace of seed 7" in screen(pilot))
        traced = [request for request in grader.requests if isinstance(request, TraceLines)]
        assert [(request.submission.source, request.seed) for request in traced] == [("wrong", 1)]
        file.write_text("right")
        await until(pilot, lambda: "PASSED" in screen(pilot))
        assert app.trace is None

    drive(app, script)


def test_small_words() -> None:
    """Clock and keys."""
    assert [_clock(seconds) for seconds in (-5, 0, 247, 3723)] == [
        "0:00",
        "0:00",
        "4:07",
        "1:02:03",
    ]
    assert _keys([("a", "one"), ("b", "two"), ("c", "three")], 14).plain == "a one  b two\nc three"
    assert theme(None, {"COLORFGBG": "0;15"}) == "textual-light"
    assert theme(None, {"COLORFGBG": "0;15", "ATTN_DRILL_THEME": "dark"}) == "textual-dark"


# In a terminal


@contextlib.contextmanager
def terminal(arguments: list[str], cwd: Path, **environment: str) -> Iterator[tuple[int, int]]:
    """A program in a pseudo-terminal of 80 x 24: its pid, and the terminal's other end."""
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        path = os.pathsep.join([str(pack_reader.TRAINER.parent), str(ROOT)])
        os.execve(
            sys.executable,
            [sys.executable, *arguments],
            {**os.environ, "PYTHONPATH": path, "TERM": "xterm-256color", **environment},
        )
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield pid, end
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.close(end)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def read_until(end: int, done: Callable[[str], bool], seconds: float = 60.0) -> str:
    """What is drawn until `done` holds of it, or the other end closes."""
    seen = b""
    limit = time.monotonic() + seconds
    while not done(seen.decode("utf-8", "replace")):
        if not select.select([end], [], [], max(0.0, limit - time.monotonic()))[0]:
            raise AssertionError(f"not drawn: {seen[-2000:]!r}")
        try:
            part = os.read(end, 1 << 16)
        except OSError:
            part = b""
        if not part:
            break
        seen += part
    return seen.decode("utf-8", "replace")


@pytest.mark.parametrize("how", ["q", "\x03", "SIGTERM", "a crash"])
def test_the_terminal_is_sane_afterwards(file: Path, how: str) -> None:
    """However it ends, the alternate screen is left, the cursor shown, the mouse and the raw mode off; the file is untouched."""
    text = "explode" if how == "a crash" else file.read_text()
    with terminal(["-m", "tests.support.session_in_a_terminal", str(file)], file.parent) as (
        pid,
        end,
    ):
        before = termios.tcgetattr(end)[3]
        drawn = read_until(end, lambda seen: "Every save of" in seen)
        assert "\x1b[?1049h" in drawn
        if how == "SIGTERM":
            os.kill(pid, signal.SIGTERM)
        elif how == "a crash":
            file.write_text(text)
        else:
            os.write(end, how.encode())
        drawn = read_until(end, lambda seen: False)  # to its end: it says what broke
        assert all(off in drawn for off in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l"))
        assert ("a fault of ours" in drawn) == (how == "a crash")
        os.waitpid(pid, 0)
        assert termios.tcgetattr(end)[3] & termios.ICANON == before & termios.ICANON
    assert file.read_text() == text


def test_no_color_in_a_terminal(file: Path) -> None:
    """With NO_COLOR nothing is drawn in a colour other than grey."""

    def colours(**environment: str) -> set[tuple[str, ...]]:
        with terminal(
            ["-m", "tests.support.session_in_a_terminal", str(file)],
            file.parent,
            COLORTERM="truecolor",
            **environment,
        ) as (_, end):
            file.write_text("right")
            drawn = read_until(end, lambda seen: "PASSED" in seen)
        file.write_text("")
        return set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", drawn))

    assert any(len(set(one)) > 1 for one in colours())
    assert all(len(set(one)) == 1 for one in colours(NO_COLOR="1"))


def test_a_kill_loses_no_attempt_that_was_shown(file: Path, home: Path) -> None:
    """kill -9 at twenty random moments while saves come fast: every seed that was drawn is in the journal, and the journal is whole."""
    generator = random.Random(20)
    shown_in_all = 0
    for _ in range(20):
        file.write_text(pack_reader.stub(GQA))
        before = {row.when for row in Journal(home).attempts(replaced=True)}
        with terminal(["-m", "tests.support.session_in_a_terminal", str(file)], file.parent) as (
            pid,
            end,
        ):
            drawn = read_until(end, lambda seen: "Every save of" in seen)
            moment = time.monotonic() + generator.uniform(0.02, 0.5)
            number = 0
            while time.monotonic() < moment:
                number += 1
                file.write_text(f"{'right' if number % 2 else 'wrong'} {number}")
                end_of_pause = min(moment, time.monotonic() + 0.03)
                while (left := end_of_pause - time.monotonic()) > 0:
                    if select.select([end], [], [], left)[0]:
                        drawn += os.read(end, 1 << 16).decode("utf-8", "replace")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            with contextlib.suppress(OSError):
                while select.select([end], [], [], 0)[0] and (part := os.read(end, 1 << 16)):
                    drawn += part.decode("utf-8", "replace")
        shown = {int(seed) for seed in re.findall(r"seed (\d+)\b", drawn)}
        kept = {row.seed for row in Journal(home).attempts(replaced=True) if row.when not in before}
        assert shown <= kept, (shown, kept)
        shown_in_all += len(shown)
    assert shown_in_all >= 10, "too little was shown for this to say anything"


def test_start_in_a_terminal(tmp_path: Path) -> None:
    """As a user: start, a wrong and a right body, quit; the line that stays says how it went. --no-watch keeps the plain output."""
    with terminal(["-m", "trainer", "start", "gqa"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "Every save of" in seen)
        (tmp_path / "gqa.py").write_text(WRONG)
        read_until(end, lambda seen: "LIKELY" in seen)
        (tmp_path / "gqa.py").write_text(RIGHT)
        read_until(end, lambda seen: "PASSED" in seen)
        os.write(end, b"q")
        drawn = read_until(end, lambda seen: "as you left it" in seen)
        assert "gqa: passed, 1 attempt," in drawn, "the wrong answer was replaced at once"
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with terminal(["-m", "trainer", "start", "gqa", "--no-watch"], tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "a hint, three in all" in seen)
        assert "\x1b[?1049h" not in drawn


def test_nothing_of_the_learners_folder_is_imported(tmp_path: Path) -> None:
    """A file of the learner's named like a module of Python's or ours does not break the grading process."""
    for name in ("random", "torch", "trainer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    script = "from pathlib import Path; from trainer.server.client import AsyncClient; import sys; g = AsyncClient(Path(sys.argv[1])); print(g._process.replies.read(4)); g.close()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.match(r"b'.", done.stdout), done.stderr
    assert done.stdout != "b''\n", done.stderr
