"""A mock interview on the screen: opening pages, the clock, files, questions, the score sheet."""

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.fake_grader import FakeGrader, report_on
from tests.test_interview import drill
from tests.test_session import (
    Clock,
    app_on,
    file,
    practice_on,
    read_until,
    save,
    screen,
    terminal,
    until,
    words,
)
from tests.test_session_keys import run_app
from trainer.interview.plan import InterviewPlan, Stage, draw_questions, plan_from
from trainer.interview.score import ScoreSheet, score_sheet
from trainer.interview.state import state_of
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report
from trainer.packs import pack_reader
from trainer.packs.question_bank import read_questions
from trainer.practice.journal import Journal
from trainer.server.messages import Grade
from trainer.session.interview_screen import EndApp
from trainer.session.interview_state import How, Interview, solve_problems
from trainer.session.model import SessionRequest, SessionResult, Sitting

__all__ = ["file"]  # a fixture

OPENING = "Stage 1 of 2, warm-up.\n\nThe clock starts when you press Enter."
SITTING = Sitting(1, 2, 1800.0, OPENING)
INTERVIEW: dict[str, Any] = {"purpose": "interview", "why": False, "sitting": SITTING}
CHALLENGES = {
    challenge.id: challenge for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
}
SIZES = [(120, 40), (80, 24), (50, 20), (40, 10)]


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
        assert app.practice.seconds == 0
        assert app.return_value is None
        assert file.read_text() == "right"
        assert not [order for order in grader.requests if isinstance(order, Grade)]
        await pilot.press("enter")
        await until(pilot, lambda: app.practice.passed)
        assert OPENING[:10] not in screen(pilot)
        clock.now += 20
        await until(pilot, lambda: "1 of 2 · 29:40 left" in screen(pilot))
        await pilot.press("n")

    run_app(app, script, size)
    assert app.return_value is not None
    assert (app.return_value.how, app.return_value.seconds) == ("next", 20.0)


def test_leaving_from_the_opening_page_costs_nothing(file: Path, home: Path) -> None:
    """An interview that goes on keeps the seconds that it had."""
    clock = Clock()
    app = app_on(file, home, clock=clock, seconds_before=95.0, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        clock.now += 500
        await pilot.press("q")

    run_app(app, script, (80, 24))
    assert app.return_value is not None
    assert (app.return_value.how, app.return_value.seconds) == ("quit", 95.0)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("key", ["r", "h", "w", "tab"])
def test_path_and_time_stay_in_view(
    tmp_path: Path, home: Path, size: tuple[int, int], key: str
) -> None:
    """The whole path and the time stay in view whatever is shown; a long path is wrapped."""
    path = tmp_path / "an interview folder" / "gqa.py"
    path.parent.mkdir()
    path.write_text("wrong")
    app = app_on(path, home, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        await until(pilot, lambda: app.practice.last is not None)
        await pilot.press(key)
        await pilot.pause()
        drawn = screen(pilot)
        assert re.search(r"1 of 2 · (30:00|29:5\d) left", drawn)
        if size != (40, 10):
            assert str(path).replace(" ", "") in "".join(
                line.strip() for line in drawn.splitlines()
            ).replace(" ", "")
        else:
            assert re.search(r"^ /\S*….*gqa\.py", drawn, re.MULTILINE), (
                "there the middle is left out"
            )

    run_app(app, script, size)


def test_time_that_is_up(file: Path, home: Path) -> None:
    """The top line says the overtime of the problem and of the interview."""
    clock = Clock()
    app = app_on(file, home, clock=clock, par_seconds=600.0, **INTERVIEW)

    async def script(pilot: Pilot[SessionResult]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        clock.now += 1865
        await until(pilot, lambda: "1 of 2 · 1:05 over" in screen(pilot))
        assert "this problem 31:05 of 10:00 over" in words(pilot)

    run_app(app, script, (80, 24))


def test_reset_does_not_stop_the_clock_of_an_interview(file: Path, home: Path) -> None:
    """A reset keeps the clock of an interview and restarts the clock of practice."""
    clock = Clock()
    practice = practice_on(file, home, clock, purpose="interview", sitting=SITTING)
    practice.begin()
    clock.now += 60
    practice.restart()
    assert practice.seconds == 360.0
    assert practice.seconds_left == 1740.0
    alone = practice_on(file, home, clock)
    clock.now += 60
    alone.restart()
    assert alone.seconds == 0.0


def interview(tmp_path: Path, home: Path, questions: tuple[str, ...] = ("x",)) -> Interview:
    """Return an interview of two problems, before its first page."""
    stages = (Stage("sdpa", "warm-up", 600.0), Stage("gqa", "main problem", 1000.0))
    plan = InterviewPlan(30, 1, stages, questions, str(tmp_path / "stubs"))
    journal = Journal(home)
    name = journal.record_interview(1.0, asdict(plan))
    clock = Clock()
    asked = draw_questions(plan, read_questions(pack_reader.built_in_pack()))
    return Interview(name, 1.0, plan, asked, CHALLENGES, journal, wall=lambda: 2.0, clock=clock)


def left(how: str = "quit", text: str | None = None, **changes: Any) -> SessionResult:
    """Return what the session says when it is left after 60 seconds, with this text graded."""
    report = report_on("sdpa", "sdpa.py", text, 1) if text is not None else None
    before = SessionResult("quit", False, 60.0, int(text is not None), 0, 0, report, text)
    return replace(before, how=how, **changes)


class Learner:
    """Stands for the session's screen and for the grader: what they are given, and what they say.

    stays     how each page is left
    saved     the text that is in the file then; None leaves it unchanged, "" deletes it
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, run: Interview, *stays: SessionResult
    ) -> None:
        self.run, self.stays = run, list(stays)
        self.saved: str | None = None
        self.pages: list[SessionRequest] = []
        self.graded: list[str] = []
        monkeypatch.setattr("trainer.session.interview_state.run_session", self._stay)

    def solve(self) -> str:
        """Solve problems until the interview is left."""
        return solve_problems(self.run, (pack_reader.built_in_pack(),), "en", self._grade)

    def opening(self, number: int) -> str:
        """Return an opening page, without its line breaks."""
        sitting = self.pages[number].sitting
        assert sitting is not None
        return " ".join(sitting.opening.split())

    def _stay(self, given: SessionRequest, journal: Journal) -> SessionResult:
        self.pages.append(given)
        if self.saved is not None and len(self.pages) == 1:
            given.path.write_text(self.saved)
            if not self.saved:
                given.path.unlink()
        return self.stays.pop(0)

    def _grade(self, challenge: Challenge, source: str, path: Path) -> Report:
        if source == "crash":
            raise GraderError("The grader fell over.")
        self.graded.append(source)
        return report_on(challenge.id, path.name, source, 1)


def test_opening_page_says_all(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has the stages without later titles, minutes, path and rules; nothing is printed."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, left(seconds=125.0), left())
    assert learner.solve() == "quit"
    assert [path.name for path in (tmp_path / "stubs").iterdir()] == ["sdpa.py"]
    run.news.append("News.")
    learner.solve()
    assert capsys.readouterr().out == ""
    for part in (
        f"{run.path(0)} is the stub",
        CHALLENGES["sdpa"].title,
        "2. main problem, 17 min",
        "1 question, 3 min",
        "a quarter",
        "30:00 of 30:00 min are left, 10:00 min of them for this problem",
    ):
        assert part in learner.opening(0)
    assert CHALLENGES["gqa"].title not in learner.opening(0)
    assert "27:55 of 30:00 min are left, 7:55 min of them for this" in learner.opening(1)
    assert learner.opening(1).endswith("News.")
    assert not run.news
    assert [kind for _, kind, _ in run.events] == ["begun", "left", "left"]


@pytest.mark.parametrize(
    ("last", "now", "attempts", "verdict", "graded"),
    [
        ("right", "right", 1, "passed", False),
        ("wrong", "right", 2, "passed", True),
        ("right", "half", 1, "error", True),
        (None, "half", 0, "error", True),
    ],
)
def test_handed_in_file_is_scored(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str | None,
    now: str,
    attempts: int,
    verdict: str,
    graded: bool,
) -> None:
    """A file that changed since its verdict is graded; an unfinished one is no attempt."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, left("next", last), left())
    learner.saved = now
    assert learner.solve() == "quit"
    stage = run.state.stages[0]
    assert stage.result is not None
    assert (stage.attempts, stage.result.verdict, stage.code) == (attempts, verdict, now)
    assert learner.graded == ([now] if graded else [])
    kept = [(one.purpose, one.verdict) for one in run.journal.attempts()]
    assert kept == ([("interview", verdict)] if graded and now != "half" else [])
    assert state_of(run.plan, run.journal.events(run.id)) == run.state
    assert run.is_kept()


@pytest.mark.parametrize(
    ("saved", "note"),
    [
        (None, "Nothing was handed in: sdpa.py is the unchanged stub"),
        ("", "Nothing was handed in: sdpa.py was gone"),
        (" ", "sdpa.py is empty"),
        ("crash", "Your file could not be graded: The grader fell over"),
    ],
)
def test_file_without_a_verdict_has_a_note(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    saved: str | None,
    note: str,
) -> None:
    """The note is kept, and the next page says it."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, left("next"), left())
    learner.saved = saved
    learner.solve()
    stage = run.state.stages[0]
    assert (stage.code, stage.result, learner.graded) == (
        saved if saved == "crash" else None,
        None,
        [],
    )
    assert note in stage.note
    assert " ".join(stage.note.split()) in learner.opening(1)


def test_help_is_recorded(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints and shown mistakes count, and hints of `attn-drill hint` in another window too."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, left(hints=1, whys=2), left("next", hints=1), left())
    learner.solve()
    assert (run.state.stages[0].hints, run.state.stages[0].whys) == (1, 2)
    run.journal.record_hint("sdpa", 3, run.wall())
    learner.solve()
    assert (run.state.stages[0].hints, run.state.stages[0].whys) == (3, 2)


def test_ctrl_c_while_grading_leaves_the_interview(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a file is handed in leaves the interview; the problem can be handed in again."""
    run = interview(tmp_path, home)
    Learner(monkeypatch, run, left("next", "wrong")).run.path(0).parent.mkdir()
    run.path(0).write_text("right")

    def interrupted(challenge: Challenge, source: str, path: Path) -> Report:
        raise KeyboardInterrupt

    assert solve_problems(run, (pack_reader.built_in_pack(),), "en", interrupted) == "interrupted"
    assert run.state.stage == 0
    assert run.state.stages[0].seconds == 60.0


@pytest.mark.parametrize("text", ["mine", None, "folder"])
def test_learners_file_is_never_overwritten(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """A file of the learner stays, a missing one becomes the stub, a folder is refused."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, left(), left())
    learner.solve()
    run.path(0).unlink()
    if text == "folder":
        run.path(0).mkdir()
        with pytest.raises(DrillError, match="Move the folder away"):
            learner.solve()
        return
    if text is not None:
        run.path(0).write_text(text)
    learner.solve()
    assert run.path(0).read_text() == (text or pack_reader.stub(CHALLENGES["sdpa"]))
    assert ("is your file" if text else "is the stub") in learner.opening(1)


# The questions and the score sheet


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


def test_whole_interview_in_a_terminal(tmp_path: Path, home: Path) -> None:
    """As a user: solve, be killed, resume, hand in, answer, read the sheet, print it again."""
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "sdpa.py"
    command = ["-m", "trainer", "interview"]
    start = [*command, "--minutes", "5", "--topic", "sdpa", "--dir", "here"]
    with terminal(start, tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "starts the clock" in seen)
        assert "5:00 left" in drawn
        os.write(end, b"\r")
        file.write_text(pack_reader.solution(CHALLENGES["sdpa"]))
        read_until(end, lambda seen: "PASSED" in seen)
        os.kill(pid, signal.SIGKILL)
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "starts the clock" in seen)
        assert re.search(r"1 of 1 · 4:\d\d left", drawn)
        os.write(end, b"q")
        read_until(end, lambda seen: "The interview waits" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "starts the clock" in seen)
        os.write(end, b"\r")
        os.write(end, b"n")
        read_until(end, lambda seen: "Question 1 of 3" in seen)
        os.write(end, b"?\r?\r")
        read_until(end, lambda seen: "3 of 3" in seen)
        os.write(end, b"\x03")
        read_until(end, lambda seen: "The interview waits" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "Question 3 of 3" in seen)
        os.write(end, b"?\r")
        read_until(end, lambda seen: "SCORE" in seen)
        os.write(end, b"q")
        drawn = read_until(end, lambda seen: "side by side" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    page = (tmp_path / "here" / "score-sheet.html").read_text()
    again = drill("--sheet", "--html", "again.html", cwd=tmp_path).stdout
    assert "SCORE 85 of 100" in again
    assert "PASSED" in again
    assert (tmp_path / "again.html").read_text() == page
    found = Journal(home)
    kept = found.last_interview()
    assert kept is not None
    plan = plan_from(kept[2])
    assert plan is not None
    stage = state_of(plan, found.events(kept[0])).stages[0]
    assert stage.result is not None
    assert stage.result.verdict == "passed"
    assert {attempt.purpose for attempt in found.attempts()} == {"interview"}


def test_pass_in_an_interview_has_no_grade(file: Path, home: Path) -> None:
    """An interview counts a pass at once, as practice does, and gives no grade for it."""
    practice = practice_on(file, home, Clock(), purpose="interview", sitting=SITTING)
    practice.begin()
    save(practice, "right")
    assert (practice.passed, practice.can_overrule) == (True, False)
