"""The screen of a session, driven by Textual's pilot."""

import asyncio
import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from textual.pilot import Pilot
from textual.worker import WorkerFailed

import trainer
from tests.support.fake_grader import FakeGrader, report_on
from tests.support.session import GQA, PACK, RIGHT, WRONG, app_on, drive, screen, until, words
from tests.support.session_interview import SITTING
from trainer.model.lesson import Lesson, Note
from trainer.packs import pack_reader
from trainer.practice.journal import Journal
from trainer.practice.progress import counted_attempts, rated_reviews
from trainer.server.client import AsyncClient
from trainer.server.messages import Refused, Taught, Teach, TraceLines, Verdict
from trainer.session.model import SessionResult, StageRecorder
from trainer.session.practice_screen import SessionApp, _clock, _keys
from trainer.session.session_state import SETTLE_SECONDS
from trainer.session.theme import theme

SIZES = [(80, 24), (60, 20), (200, 50)]


def test_widgets_of_all_screens_read_no_markup() -> None:
    """A sentence on a screen may have a name in brackets."""
    folder = Path(trainer.__file__).parent / "session"
    calls = [
        line
        for path in folder.glob("*.py")
        for line in path.read_text().splitlines()
        if "Static(id" in line
    ]
    assert len(calls) >= 7
    assert [line for line in calls if "markup=False" not in line] == []


def test_wrong_then_right_hint_quit_and_resume(file: Path, home: Path) -> None:
    """The real grader gives both verdicts, and a second session continues.

    The screen shows the mistake and a trace. The journal has both attempts, the hint and the
    review.
    """
    grader = AsyncClient(PACK)
    app = app_on(file, home, grader)

    async def first(pilot: Pilot[SessionResult]) -> None:
        assert "n next" not in screen(pilot)
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
        await asyncio.sleep(SETTLE_SECONDS)  # so that the wrong answer counts
        file.write_text(RIGHT)
        await until(pilot, lambda: "PASSED 15/15" in screen(pilot) and "n next" in screen(pilot))
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
        app.return_value.ending,
        app.return_value.passed,
        app.return_value.attempts,
        len(app.state.hints),
    ) == ("quit", True, 2, 1)
    journal = Journal(home)
    attempts = counted_attempts(journal.facts())
    assert [(attempt.verdict, attempt.hints, attempt.mistakes) for attempt in attempts] == [
        ("failed", 0, ("no-scale",)),
        ("passed", 1, ()),
    ]
    assert [review.rating for review in rated_reviews(journal.facts())] == [3]
    again = app_on(file, home, seconds_before=90.0, purpose="practice")

    async def second(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: again.state.attempts == 1)
        # The time before the session counts.
        await until(pilot, lambda: bool(re.search(r"  1:[3-5]\d of 20:00", screen(pilot))))
        assert again.state.hints == (GQA.hints[0],)

    drive(again, second)


@pytest.mark.thorough
def test_save_supersedes_the_grading_of_the_save_before(file: Path, home: Path) -> None:
    """The real grader stops an answer that hangs. That answer is not an attempt."""
    grader = AsyncClient(PACK)
    app = app_on(file, home, grader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("while True: pass\n")
        await until(pilot, lambda: app.grading)
        await pilot.pause(0.2)
        file.write_text(RIGHT)
        await until(pilot, lambda: app.state.passed)

    try:
        drive(app, script)
    finally:
        grader.close()
    # With a wait for its time limit, the answer that hangs would be an attempt.
    assert [attempt.verdict for attempt in counted_attempts(Journal(home).facts())] == ["passed"]


@pytest.mark.thorough  # the test below replaces fake processes
def test_grading_process_that_is_killed_is_replaced(file: Path, home: Path) -> None:
    """The screen says so, and the new process grades the next save."""
    grader = AsyncClient(PACK)
    app = app_on(file, home, grader)

    async def script(pilot: Pilot[SessionResult]) -> None:
        os.kill(grader._process.pid, signal.SIGKILL)
        await until(pilot, lambda: "grading process ended" in app.status)
        await until(pilot, lambda: app.warm)
        file.write_text(RIGHT)
        await until(pilot, lambda: app.state.passed)

    try:
        drive(app, script)
    finally:
        app.grader.close()


@pytest.mark.thorough
def test_grading_process_that_ended_is_replaced(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new process grades the next save."""
    monkeypatch.setattr("trainer.session.practice_screen.AsyncClient", lambda root: FakeGrader())
    app = app_on(file, home)
    first = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        assert isinstance(first, FakeGrader)
        first.end()
        await until(pilot, lambda: app.grader is not first and app.warm)
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)

    drive(app, script)


@pytest.mark.thorough
def test_grading_process_that_keeps_ending_is_not_replaced_for_ever(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen shows the last words of the process and the next step."""
    monkeypatch.setattr("trainer.session.practice_screen._REST_SECONDS", 0.01)
    monkeypatch.setattr("trainer.session.practice_screen.AsyncClient", lambda root: FakeGrader())
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("crash")
        await until(pilot, lambda: "keeps ending (it fell over)" in words(pilot))
        file.write_text("right")
        await pilot.pause(1.5)
        assert app.state.attempts == 0
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is not None


@pytest.mark.sampled(3)
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
def test_file_that_cannot_be_graded_gets_a_sentence(
    file: Path, home: Path, harm: Callable[[Path], object], says: str
) -> None:
    """The session continues and grades the next good save."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        harm(file)
        await until(pilot, lambda: says in app.status and says.split()[0] in screen(pilot))
        if file.is_dir():
            file.rmdir()
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)

    drive(app, script)


@pytest.mark.thorough
def test_keys_work_only_when_they_can_do_something(file: Path, home: Path) -> None:
    """Other keys say why they do nothing."""
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
        await until(pilot, lambda: app.state.attempts == 1)
        assert keys() == {"again", "hint", "reset", "leave", "why", "trace"}
        for _ in range(5):
            await pilot.press("h")
        assert "hint" not in keys()
        assert app.state.hints == GQA.hints
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)
        assert {"next", "overrule"} <= keys()
        assert "why" not in keys()
        await pilot.press("1")
        assert "graded again" in app.state.grade_text
        await pilot.press("n")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.ending == "next"
    (review,) = rated_reviews(Journal(home).facts())
    assert review.rating == 1


def test_interview_hides_the_mistake_and_counts_the_key_that_shows_it(
    file: Path, home: Path
) -> None:
    """Each press of w shows the next part: a question, then the mistake, then neither."""
    recorder = create_autospec(StageRecorder, instance=True)
    sitting = replace(SITTING, recorder=recorder)
    app = app_on(file, home, stage="line", purpose="interview", sitting=sitting)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        file.write_text("wrong")
        await until(pilot, lambda: app.state.attempts == 1)
        await until(pilot, lambda: "line 3" in screen(pilot))
        assert "The likely mistake is known: press w to see it." in words(pilot)
        for label, shown, hidden in (
            ("question", "QUESTION Why sqrt? The likely mistake is known", "not scaled"),
            ("why", "LIKELY The scores are not scaled", "Why sqrt?"),
            ("hide why", "press w to see it", "not scaled"),
        ):
            assert f"w {label} " in words(pilot)
            await pilot.press("w")
            await until(pilot, partial(is_drawn, pilot, shown))
            assert hidden not in words(pilot)
        assert recorder.revealed.call_count == 1
        await pilot.press("w", "w", "n")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.ending == "next"
    names = [call[0] for call in recorder.method_calls]
    assert names == ["attempted", "revealed", "revealed", "left"]


def is_drawn(pilot: Pilot[SessionResult], text: str) -> bool:
    """Return whether the screen shows this text, except for line breaks."""
    return text in words(pilot)


@pytest.mark.thorough
def test_next_verdict_shows_the_first_stage_again(file: Path, home: Path) -> None:
    """A hint that was taken for one answer does not name the mistake of the next."""
    app = app_on(file, home, stage="line", purpose="interview", sitting=SITTING)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        file.write_text("wrong")
        await until(pilot, lambda: app.state.attempts == 1)
        await pilot.press("w", "w")
        await until(pilot, partial(is_drawn, pilot, "not scaled"))
        file.write_text("wrong again")
        await until(pilot, partial(is_drawn, pilot, "seed 2"))
        assert "press w to see it" in words(pilot)
        assert "not scaled" not in words(pilot)

    drive(app, script)


def test_key_for_the_cause_waits_for_the_diagnosis(file: Path, home: Path) -> None:
    """Before the diagnosis is there, the key does not say that no mistake is known."""
    app = app_on(file, home, stage="line")
    grader = app.grader
    assert isinstance(grader, FakeGrader)
    complete = report_on("gqa", "gqa.py", "wrong", 1)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        file.write_text("slow")
        await until(pilot, lambda: app.grading)
        grader.say(Verdict(1, replace(complete, diagnosis=None), is_final=False))
        await until(pilot, partial(is_drawn, pilot, "Looking for the cause"))
        await pilot.press("w")
        await pilot.pause()
        assert "No known mistake" not in words(pilot)
        grader.say(Verdict(1, complete))
        await until(pilot, partial(is_drawn, pilot, "press w to see it"))
        await pilot.press("w", "w")
        await until(pilot, partial(is_drawn, pilot, "not scaled"))

    drive(app, script)


def test_practice_hides_the_mistake_at_the_key(file: Path, home: Path) -> None:
    """The whole diagnosis is shown first, so w hides it, and then leads to it in steps."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, partial(is_drawn, pilot, "LIKELY The scores are not scaled"))
        assert "w hide why " in words(pilot)
        for shown in ("The likely mistake is hidden.", "Why sqrt?", "LIKELY The scores"):
            await pilot.press("w")
            await until(pilot, partial(is_drawn, pilot, shown))

    drive(app, script)


def test_reset_keeps_the_old_file(file: Path, home: Path) -> None:
    """The learner's old file gets another name, and the screen shows that name."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("my work")
        await until(pilot, lambda: app.state.attempts == 1)
        await pilot.press("x")
        assert "x once more" in app.status
        assert file.read_text() == "my work"
        await pilot.press("tab", "x")  # another key takes the question back
        assert file.read_text() == "my work"
        await pilot.press("x")
        assert "gqa.old-1.py" in app.status

    drive(app, script)
    assert (file.parent / "gqa.old-1.py").read_text() == "my work"
    assert file.read_text() == pack_reader.stub(GQA)


@pytest.mark.thorough
def test_verdict_that_comes_after_a_reset_is_ignored(file: Path, home: Path) -> None:
    """A verdict on the old text is not an attempt at the fresh stub."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("slow right")
        await until(pilot, lambda: app.grading)
        await pilot.press("x", "x")
        grader.say(Verdict(1, report_on("gqa", "gqa.py", "right", 1)))
        await pilot.pause(0.3)
        assert app.state.attempts == 0
        assert "not graded yet" in screen(pilot)

    drive(app, script)


@pytest.mark.thorough
def test_fault_of_the_screen_ends_the_session(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in a background task is not lost, and the journal stays whole."""
    app = app_on(file, home)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    async def script(pilot: Pilot[SessionResult]) -> None:
        monkeypatch.setattr(app.state, "take_verdict", broken)
        file.write_text("right")
        for _ in range(3000):
            if app._exception is not None:
                break
            await asyncio.sleep(0.02)

    with pytest.raises(WorkerFailed, match="a fault of ours"):
        drive(app, script)
    assert counted_attempts(Journal(home).facts()) == []


def test_unchanged_stub_is_not_graded(file: Path, home: Path) -> None:
    """A file with earlier work is graded at the start of the session."""
    app = app_on(file, home)

    async def stays_new(pilot: Pilot[SessionResult]) -> None:
        await pilot.pause(0.3)
        assert app.state.attempts == 0

    drive(app, stays_new)
    file.write_text("right")
    other = app_on(file, home)

    async def is_graded(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: other.state.passed)

    drive(other, is_graded)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", SIZES, ids=["80x24", "60x20", "200x50"])
@pytest.mark.parametrize("shade", ["dark", "light"])
def test_verdict_clock_status_and_keys_fit_the_screen(
    file: Path, home: Path, size: tuple[int, int], shade: Any
) -> None:
    """Task and report are side by side only on a wide screen."""
    app = app_on(file, home)
    app.theme = theme(shade, {})

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.state.attempts == 1)
        # Another pane and a second row of keys come with the next layout.
        await until(pilot, lambda: "q quit" in screen(pilot) and "3 of 4 values" in screen(pilot))
        drawn = screen(pilot)
        lines = drawn.splitlines()
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        assert re.search(r"gqa  FAILED 1/2  \d:\d\d of 20:00  gqa.py", lines[0])
        for text in ("3 of 4 values differ", "scores = q @ k", "q quit", "h hint"):
            assert text in drawn, drawn
        assert drawn.index("LIKELY") < drawn.index("line 3 in forward") < drawn.index("3 of 4")
        assert "attn-drill check" not in drawn, "keys take the place of commands"
        assert ("Grouped-query attention" in drawn) == (size[0] >= 110)
        assert app.current_theme.dark == (shade == "dark")

    drive(app, script, size)


def test_terminal_that_is_too_small_shows_both_sizes(file: Path, home: Path) -> None:
    """A save is graded meanwhile, and is drawn when the terminal is large enough."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        assert "30 x 8" in words(pilot)
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "PASSED 2/2" in screen(pilot))

    drive(app, script)


@pytest.mark.thorough
def test_tick_and_verdict_while_the_screen_ends_do_no_harm(file: Path, home: Path) -> None:
    """At the end Textual removes the widgets one by one."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await app.query_one("#top").remove()
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)
        await pilot.pause(1.2)
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is not None
    assert app.return_value.passed


def test_journal_that_cannot_be_written_is_reported(file: Path, tmp_path: Path) -> None:
    """Every save is still graded."""
    (tmp_path / "a file").write_text("")
    app = app_on(file, tmp_path / "a file" / "home")

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("right")
        await until(pilot, lambda: app.state.passed)
        assert "progress is not kept" in words(pilot)

    drive(app, script)


def test_state_of_an_unfinished_file_is_shown(file: Path, home: Path) -> None:
    """The top line, the status and the report show it. The task and the last verdict stay."""
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
    assert app.state.last_source == "wrong"


@pytest.mark.thorough  # test_state_of_an_unfinished_file_is_shown has a fake grader
def test_autosave_during_typing_makes_no_failed_attempts(file: Path, home: Path) -> None:
    """The real grader grades a right answer after every fourth line."""
    grader = AsyncClient(PACK)
    app = app_on(file, home, grader)
    lines = RIGHT.splitlines(keepends=True)

    def is_graded(text: str) -> bool:
        return app._sent_source == text and not app.grading

    async def script(pilot: Pilot[SessionResult]) -> None:
        for count in [*range(10, len(lines), 4), len(lines)]:
            text = "".join(lines[:count])
            file.write_text(text)
            await until(pilot, partial(is_graded, text))
        await until(pilot, lambda: app.state.passed)
        await pilot.press("q")

    try:
        drive(app, script)
    finally:
        grader.close()
    assert app.return_value is not None
    assert app.return_value.attempts == 1
    (review,) = rated_reviews(Journal(home).facts())
    assert (review.rating, "0 failed attempts" in review.reason) == (4, True)


@pytest.mark.thorough
def test_two_sessions_on_one_file_both_record_attempts(file: Path, home: Path) -> None:
    """Both sessions see every save."""
    first, second = app_on(file, home), app_on(file, home)

    async def run() -> None:
        size = (80, 24)
        async with first.run_test(size=size) as pilot, second.run_test(size=size) as other_pilot:
            await until(pilot, lambda: first.warm and second.warm)
            file.write_text("right")
            await until(pilot, lambda: first.state.passed)
            await until(other_pilot, lambda: second.state.passed)

    asyncio.run(run())
    assert [attempt.verdict for attempt in counted_attempts(Journal(home).facts())] == [
        "passed",
        "passed",
    ]
    assert len(rated_reviews(Journal(home).facts())) == 1, "one pass is graded once"


def test_trace_has_the_text_and_the_seed_of_the_report(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next verdict removes the trace."""
    monkeypatch.setattr(
        "trainer.session.practice_screen.render_trace",
        lambda trace: f"trace of seed {trace.seed}",
    )
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.state.attempts == 1)
        await pilot.press("t")
        await until(pilot, lambda: "trace of seed 7" in screen(pilot))
        traced = [request for request in grader.requests if isinstance(request, TraceLines)]
        assert [(request.submission.source, request.seed) for request in traced] == [("wrong", 1)]
        file.write_text("right")
        await until(pilot, lambda: "PASSED" in screen(pilot))
        assert app.trace is None

    drive(app, script)


NOTE = Note(1, "This line copies repeated entries.", "It costs memory.")


async def to_lesson(app: SessionApp, path: Path, pilot: Pilot[SessionResult], text: str) -> Teach:
    """Save a right answer, and return the request for its lesson."""
    assert isinstance(app.grader, FakeGrader)
    path.write_text(text)
    await until(pilot, lambda: app.state.passed and app.state.last_source == text)
    asked = partial(requests_for_lessons, app.grader)
    await until(pilot, lambda: bool(asked()) and asked()[-1].submission.source == text)
    return asked()[-1]


def requests_for_lessons(grader: FakeGrader) -> list[Teach]:
    """Return the requests for a lesson, in order."""
    return [request for request in grader.requests if isinstance(request, Teach)]


def test_pass_shows_the_next_line_at_once_and_the_notes_when_they_come(
    file: Path, home: Path
) -> None:
    """The verdict is on the screen before the grader is asked for the lesson."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        message = await to_lesson(app, file, pilot, "right")
        assert message.id == app._request_id
        assert "PASSED 2/2" in screen(pilot)
        assert "1 of 1 passed" in words(pilot)
        assert "graded" in words(pilot)
        await until(pilot, lambda: "Your answer is being measured" in words(pilot))
        grader.say(Taught(message.id - 1, Lesson(notes=(NOTE, NOTE))))  # about an earlier text
        grader.say(Taught(message.id, Lesson(notes=(NOTE,))))
        await until(pilot, lambda: NOTE.says in words(pilot))
        assert words(pilot).count(NOTE.says) == 1
        assert "o other answers" in words(pilot)
        assert "f follow-up questions" in words(pilot)

    drive(app, script, size=(80, 60))


@pytest.mark.thorough
def test_failure_of_the_measurement_changes_no_verdict(file: Path, home: Path) -> None:
    """The screen says so, and does not wait for ever."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        message = await to_lesson(app, file, pilot, "right")
        grader.say(Refused(message.id, "realistic() raises an error."))
        await until(pilot, lambda: "The answer could not be measured." in words(pilot))
        assert "realistic() raises an error." in words(pilot)
        assert "PASSED 2/2" in screen(pilot)
        await pilot.press("o")
        await until(pilot, lambda: "the reference" in words(pilot))

    drive(app, script, size=(80, 60))


@pytest.mark.thorough
def test_trace_and_unfinished_text_ask_for_the_lesson_again(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new request ends the measurement, so it would never come."""
    monkeypatch.setattr("trainer.session.practice_screen.render_trace", lambda trace: "the trace")
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        await to_lesson(app, file, pilot, "right")
        await pilot.press("t")
        await until(pilot, lambda: len(requests_for_lessons(grader)) == 2)
        file.write_text("half right")
        await until(pilot, lambda: len(requests_for_lessons(grader)) == 3)
        message = requests_for_lessons(grader)[-1]
        assert (message.submission.source, message.id) == ("right", app._request_id)
        grader.say(Taught(message.id, Lesson(notes=(NOTE,))))
        await until(pilot, lambda: app.after is not None and app.after.lesson is not None)
        await pilot.press("r")
        await pilot.pause(0.1)
        assert len(requests_for_lessons(grader)) == 3, "the lesson is there"

    drive(app, script)


@pytest.mark.thorough
def test_next_text_is_judged_and_taught_while_a_page_is_open(file: Path, home: Path) -> None:
    """A failure is shown in place of the page. The questions go on after the next pass."""
    app = app_on(file, home)
    assert isinstance(app.grader, FakeGrader)
    grader = app.grader

    async def script(pilot: Pilot[SessionResult]) -> None:
        message = await to_lesson(app, file, pilot, "right")
        grader.say(Taught(message.id, Lesson(notes=(NOTE,))))
        await pilot.press("f", "enter", "3", "enter")
        assert "Question 2 of" in words(pilot)
        await to_lesson(app, file, pilot, "right, and more simply")
        assert "Question 2 of" in words(pilot)
        assert app.after is not None
        assert (app.after.lesson, app.after.is_revealed) == (None, True)
        file.write_text("wrong")
        await until(pilot, lambda: "3 of 4 values differ" in words(pilot))
        assert "Question 2 of" not in words(pilot)
        await to_lesson(app, file, pilot, "right again")
        await until(pilot, lambda: "being measured" in words(pilot))
        await pilot.press("f")
        assert "Question 2 of" in words(pilot)

    drive(app, script, size=(80, 60))


@pytest.mark.thorough
def test_questions_are_rated_only_while_they_are_shown(file: Path, home: Path) -> None:
    """Before Enter, and behind the task, the keys 1 to 4 rate no question."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await to_lesson(app, file, pilot, "right")
        await pilot.press("f", "3")
        assert "Press Enter first" in words(pilot)
        await pilot.press("enter", "tab", "2")
        assert app.after is not None
        assert app.after.ratings == {}
        assert "Graded hard, as you say." in words(pilot)
        await pilot.press("tab", "4")
        assert app.after.ratings == {0: 4}

    drive(app, script)
    reviews = rated_reviews(Journal(home).facts(), "follow-up:")
    assert [(review.item, review.rating) for review in reviews] == [("follow-up:gqa:1", 4)]


def test_other_answers_stay_hidden_until_the_pass(file: Path, home: Path) -> None:
    """The keys o and f say when they work. An interview has no lesson."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("wrong")
        await until(pilot, lambda: app.state.last is not None)
        for key in "of":
            assert f"{key} other" not in words(pilot)
            assert f"{key} follow" not in words(pilot)
            await pilot.press(key)
            assert "come after the pass" in words(pilot)
        assert app.after is None

    drive(app, script)


@pytest.mark.thorough
def test_reset_question_is_taken_back_by_any_key_and_by_a_verdict(file: Path, home: Path) -> None:
    """A second x much later must not be a surprise."""
    app = app_on(file, home)

    async def script(pilot: Pilot[SessionResult]) -> None:
        file.write_text("my work")
        await until(pilot, lambda: app.state.attempts == 1)
        for key in ("down", "z", "pagedown"):
            await pilot.press("x", key, "x")
            assert file.read_text() == "my work", key
            await pilot.press("z")
        await pilot.press("x")
        file.write_text("my other work")
        await until(pilot, lambda: app.state.last_source == "my other work")
        await pilot.press("x")
        assert file.read_text() == "my other work"

    drive(app, script)


def test_clock_and_keys_as_text() -> None:
    """Times have no negative values, and the keys are wrapped to the width."""
    assert [_clock(seconds) for seconds in (-5, 0, 247, 3723)] == [
        "0:00",
        "0:00",
        "4:07",
        "1:02:03",
    ]
    assert _keys([("a", "one"), ("b", "two"), ("c", "three")], 14).plain == "a one  b two\nc three"
