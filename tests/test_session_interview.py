"""A mock interview in the session's screen: its opening page, its clock, what stays in view."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.fake_grader import FakeGrader
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
from trainer.cli import interview_stages
from trainer.cli.interview_run import Desk, Interview, open_stage
from trainer.content import packs
from trainer.core.report import Report
from trainer.core.words import Challenge
from trainer.grading.wire import Grade
from trainer.practice.interview import Plan, as_data, plan_from
from trainer.practice.interview import Stage as PlannedStage
from trainer.practice.interview_state import state_of
from trainer.practice.journal import Journal
from trainer.session.stay import Left, Sitting, Stay

__all__ = ["file"]  # a fixture

OPENING = "Stage 1 of 2, warm-up.\n\nThe clock starts when you press Enter."
SITTING = Sitting(1, 2, 1800.0, OPENING)
INTERVIEW: dict[str, Any] = {"purpose": "interview", "why": False, "sitting": SITTING}
CHALLENGES = {challenge.id: challenge for challenge in packs.read_pack(packs.built_in_pack())}
SIZES = [(120, 40), (80, 24), (50, 20), (40, 10)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_clock_starts_at_enter(file: Path, home: Path, size: tuple[int, int]) -> None:
    """Before it no second counts, nothing is graded, and no key but q does a thing; place and time are in view."""
    clock = Clock()
    app = app_on(file, home, clock=clock, par_seconds=600.0, **INTERVIEW)
    grader = app.grader
    assert isinstance(grader, FakeGrader)

    async def script(pilot: Pilot[Left]) -> None:
        await until(pilot, lambda: app.warm and "The clock starts when you" in screen(pilot))
        clock.now += 500
        file.write_text("right")
        await pilot.press("r", "h", "w", "t", "x", "n", "tab", "1")
        await pilot.pause(1.2)
        assert "1 of 2 · 30:00 left" in screen(pilot)
        assert app.practice.seconds == 0
        assert app.return_value is None
        assert file.read_text() == "right"
        assert not [order for order in grader.orders if isinstance(order, Grade)]
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

    async def script(pilot: Pilot[Left]) -> None:
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
    """The whole path, wrapped where it is long; the time goes on whatever is shown."""
    path = tmp_path / "an interview folder" / "gqa.py"
    path.parent.mkdir()
    path.write_text("wrong")
    app = app_on(path, home, **INTERVIEW)

    async def script(pilot: Pilot[Left]) -> None:
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
    """It is said by how much it is over, of the problem and of all."""
    clock = Clock()
    app = app_on(file, home, clock=clock, par_seconds=600.0, **INTERVIEW)

    async def script(pilot: Pilot[Left]) -> None:
        await until(pilot, lambda: app.warm)
        await pilot.press("enter")
        clock.now += 1865
        await until(pilot, lambda: "1 of 2 · 1:05 over" in screen(pilot))
        assert "this problem 31:05 of 10:00 over" in words(pilot)

    run_app(app, script, (80, 24))


def test_reset_does_not_stop_the_clock_of_an_interview(file: Path, home: Path) -> None:
    """A fresh stub in an interview costs what was spent on the old one; in practice the clock begins anew."""
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


class NoDesk(Desk):
    """Grades without a grader."""

    def __init__(self) -> None:
        super().__init__()
        self.graded: list[str] = []

    def grade(self, challenge: Challenge, source: str, path: Path) -> Report:
        """Say what the fake grading process says."""
        from tests.fake_grader import report_on

        self.graded.append(source)
        return report_on(challenge.id, path.name, source, 1)


def interview(tmp_path: Path, home: Path) -> Interview:
    """An interview of two problems whose first stage is open, for a terminal."""
    made = Plan(
        30,
        1,
        (PlannedStage("sdpa", "warm-up", 600.0), PlannedStage("gqa", "main problem", 1000.0)),
        ("x",),
    )
    made = Plan(made.minutes, made.seed, made.stages, made.questions, str(tmp_path / "stubs"))
    journal = Journal(home)
    run = Interview(
        journal.record_interview(1.0, as_data(made)),
        1.0,
        made,
        CHALLENGES,
        journal,
        lambda: 2.0,
        lambda: 0.0,
    )
    run.watched = True
    open_stage(run, 0)
    return run


def test_opening_page_says_all(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The problems without the titles of later ones, minutes, full path, rules; nothing is printed behind the screen."""
    run = interview(tmp_path, home)
    seen: list[Stay] = []

    def left_at_once(given: Stay, journal: Journal) -> Left:
        seen.append(given)
        return Left("quit", False, 125.0, 0, 0, 0)

    monkeypatch.setattr(interview_stages, "stay", left_at_once)
    assert interview_stages.watched_stage(run, 0, NoDesk()) == "quit"
    open_stage(run, 0)
    interview_stages.watched_stage(run, 0, NoDesk())
    assert capsys.readouterr().out == ""
    first, second = (given.sitting for given in seen)
    assert first is not None
    assert second is not None
    assert (first.number, first.count, first.seconds_left, second.seconds_left) == (
        1,
        2,
        1800.0,
        1675.0,
    )
    for part in (
        str(run.path(0)),
        CHALLENGES["sdpa"].title,
        "2. main problem, 17 min",
        "1 questions",
        "a quarter",
    ):
        assert part in first.opening, part
    assert CHALLENGES["gqa"].title not in first.opening, "what comes later is not given away"
    assert "30:00 of 30:00 min are left, 10:00 min of them for this problem" in first.opening
    assert "27:55 of 30:00 min are left, 7:55 min of them for this problem" in second.opening


@pytest.mark.parametrize(
    ("last", "now", "attempts", "verdict", "graded"),
    [
        ("right", "right", 1, "passed", False),
        ("wrong", "right", 2, "passed", True),
        ("right", "half", 1, "error", True),
        (None, "half", 0, "error", True),
    ],
)
def test_what_is_handed_in_is_what_is_scored(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str | None,
    now: str,
    attempts: int,
    verdict: str,
    graded: bool,
) -> None:
    """A file that changed after its last verdict is graded; an unfinished one has a result and is no attempt."""
    from tests.fake_grader import report_on

    run, desk = interview(tmp_path, home), NoDesk()
    report = report_on("sdpa", "sdpa.py", last, 1) if last is not None else None
    left = Left("next", False, 60.0, int(last is not None), 0, 0, report, last)
    monkeypatch.setattr(interview_stages, "stay", lambda given, journal: left)
    run.path(0).write_text(now)
    assert interview_stages.watched_stage(run, 0, desk) == "next"
    done = state_of(run.plan, run.events).stages[0]
    assert done.result is not None
    assert (done.attempts, done.result.verdict, desk.graded) == (
        attempts,
        verdict,
        [now] if graded else [],
    )


def test_interview_in_a_terminal(tmp_path: Path, home: Path) -> None:
    """As a user: the page comes first, Enter starts, q leaves; resumed, the page says how much is left."""
    (tmp_path / "here").mkdir()
    arguments = ["-m", "trainer", "interview"]
    with terminal([*arguments, "--minutes", "30", "--seed", "3", "--dir", "here"], tmp_path) as (
        _,
        end,
    ):
        drawn = read_until(end, lambda seen: "starts the clock" in seen)
        assert "A mock interview" not in drawn.partition("\x1b[?1049h")[0], "it would be covered"
        assert "30:00 left" in drawn
        os.write(end, b"\r")
        read_until(end, lambda seen: re.search(r"29:5[0-8]", seen) is not None)
        os.write(end, b"q")
        read_until(end, lambda seen: "The interview waits" in seen)
    found = Journal(home).last_interview()
    assert found is not None
    made = plan_from(found[2])
    assert made is not None
    assert 0 < state_of(made, Journal(home).events(found[0])).stages[0].seconds < 60
    with terminal([*arguments, "--resume"], tmp_path) as (_, end):
        drawn = read_until(end, lambda seen: "starts the clock" in seen)
        assert re.search(r"1 of 2 · 29:\d\d left", drawn)
        os.write(end, b"q")
        read_until(end, lambda seen: "The interview waits" in seen)


def test_pass_in_an_interview_has_no_grade(file: Path, home: Path) -> None:
    """An interview counts a pass at once, as practice does, and gives no grade for it."""
    practice = practice_on(file, home, Clock(), purpose="interview", sitting=SITTING)
    practice.begin()
    save(practice, "right")
    assert (practice.passed, practice.can_overrule) == (True, False)
