"""A mock interview: its plan, what has happened, its score, and all of it through pipes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.grading import report_of
from trainer.cli.interview_course import resumed
from trainer.cli.interview_run import Desk, Interview, Lines, open_stage
from trainer.cli.interview_stages import PlainStage, ask_questions
from trainer.content import packs
from trainer.content.mistakes import read_mistakes
from trainer.content.questions import read_questions, read_topics
from trainer.core.report import Report
from trainer.core.words import Attempt, Challenge, DrillError
from trainer.grading.grader import Grader
from trainer.practice.interview import (
    Plan,
    Stage,
    as_data,
    asked_of,
    known,
    main_problems,
    plan,
    plan_from,
    prerequisites,
)
from trainer.practice.interview_score import ProblemRow, QuestionRow, parts, score_sheet
from trainer.practice.interview_state import (
    Event,
    Result,
    StageState,
    allowed_seconds,
    overtime_seconds,
    state_of,
    unrecorded,
)
from trainer.practice.journal import Journal, Review
from trainer.practice.quiz import Asked
from trainer.practice.schedule import item_of, items

from . import forked

ROOT = packs.built_in_pack()
CHALLENGES = packs.read_pack(ROOT)
BY_ID = {one.id: one for one in CHALLENGES}
QUESTIONS = read_questions(ROOT)
TOPICS = read_topics(ROOT)
BEFORE = prerequisites(CHALLENGES)
WANTED = [None, *sorted({one.topic for one in CHALLENGES}), *BY_ID]


def planned(
    minutes: int = 45,
    wanted: str | None = None,
    seed: int = 1,
    known_items: dict[str, float] | None = None,
) -> Plan:
    """The plan of an interview."""
    return plan(
        CHALLENGES,
        QUESTIONS,
        minutes,
        main_problems(CHALLENGES, TOPICS, wanted),
        known_items or {},
        seed,
    )


# The plan


@pytest.mark.parametrize("minutes", [5, 15, 25, 40, 45, 60, 90, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_the_plan_fits(wanted: str | None, minutes: int) -> None:
    """For every topic and challenge: one main problem of it, what builds on it after it, what needs neither before, all within the time."""
    for seed in range(5):
        made = planned(minutes, wanted, seed)
        by_role = {stage.role: BY_ID[stage.challenge] for stage in made.stages}
        assert len(by_role) == len({stage.challenge for stage in made.stages}) == len(made.stages)
        main = by_role["main problem"]
        assert wanted in (None, main.id, main.topic)
        assert (
            len(made.stages) == 1 or sum(one.minutes for one in by_role.values()) <= 1.2 * minutes
        )
        if follow_up := by_role.get("follow-up"):
            later = {one.id for one in CHALLENGES if main.id in BEFORE[one.id]}
            assert follow_up.id in later if later else follow_up.id not in BEFORE[main.id]
        if warm_up := by_role.get("warm-up"):
            assert warm_up.level == "easy" or warm_up.minutes <= 15
            assert warm_up.minutes <= main.minutes
            assert not {main.id, getattr(follow_up, "id", "")} & BEFORE[warm_up.id]
        assert [stage.role for stage in made.stages] == [
            role for role in ("warm-up", "main problem", "follow-up") if role in by_role
        ]
        assert sum(stage.seconds for stage in made.stages) + made.question_seconds == pytest.approx(
            60 * minutes
        )
        assert min(stage.seconds for stage in made.stages) > 0


@pytest.mark.parametrize("minutes", [5, 30, 60, 240])
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_questions_follow_up_the_problems(wanted: str | None, minutes: int) -> None:
    """Three to five, none twice, and none of another subject while there are some of these problems."""
    made = planned(minutes, wanted)
    chosen = {stage.challenge for stage in made.stages}
    fitting = {one.id for one in QUESTIONS if chosen & set(one.challenges)}
    topics = {BY_ID[name].topic for name in chosen}
    assert 3 <= len(made.questions) <= 5
    assert len(set(made.questions)) == len(made.questions)
    others = [one for one in QUESTIONS if one.id in made.questions and one.id not in fitting]
    assert not others or (
        all(one.topic in topics for one in others) and fitting <= set(made.questions)
    )


def test_minutes_decide_how_many_problems() -> None:
    """One in a quarter of an hour, three in an hour."""
    assert [len(planned(minutes).stages) for minutes in (5, 15, 30, 60, 120)] == [1, 1, 2, 3, 3]


def test_the_seed_decides() -> None:
    """The same seed, the same interview; other seeds, others."""
    assert planned(seed=7) == planned(seed=7)
    assert (
        len({tuple(stage.challenge for stage in planned(seed=seed).stages) for seed in range(20)})
        > 4
    )


def test_what_is_known_is_left_out() -> None:
    """Of problems that fit alike the one that is not known is chosen, and of questions too."""
    alike = [one.id for one in CHALLENGES if one.minutes == 15]
    for new in alike:
        familiar = {item_of(one): 1.0 for one in alike if one != new}
        assert planned(15, known_items=familiar).stages[0].challenge == new
    first = planned(15, alike[0])
    again = planned(15, alike[0], known_items={f"question:{name}": 1.0 for name in first.questions})
    assert not set(first.questions) & set(again.questions)


def test_how_well_something_is_known() -> None:
    """A pass fades within a month, a failure tells nothing, a review counts for more, and what is due is not known."""
    day = 86400.0

    def tried(name: str, when: float, verdict: str = "passed") -> Attempt:
        return Attempt(name, when, 1, verdict, 1, 1, "")  # type: ignore[arg-type]

    now = 100 * day
    reviewed = items(
        [Review("1", "challenge:due", 0.0, 3, ""), Review("2", "challenge:new", now - 60, 4, "")],
        now,
    )
    found = known(
        [
            tried("a", now),
            tried("b", now - 15 * day),
            tried("c", 0.0),
            tried("d", now, "failed"),
            tried("due", now),
        ],
        reviewed,
        now,
    )
    assert found["challenge:a"] == 1.0
    assert found["challenge:b"] == pytest.approx(0.5)
    assert found["challenge:c"] == 0.0
    assert "challenge:d" not in found
    assert found["challenge:due"] == 0.0
    assert found["challenge:new"] > 0.9


@pytest.mark.parametrize(
    ("wanted", "says"),
    [("shaering", "sharing"), ("gqua", "gqa"), ("", "attention, cache"), ("zzz", "The topics are")],
)
def test_an_unknown_topic_is_refused(wanted: str, says: str) -> None:
    """With the nearest names, or with all topics."""
    with pytest.raises(DrillError, match=says):
        main_problems(CHALLENGES, TOPICS, wanted)


def test_a_topic_without_challenges_is_refused() -> None:
    """Questions alone make no interview."""
    with pytest.raises(DrillError, match="no challenge"):
        main_problems(CHALLENGES, {**TOPICS, "history": "History"}, "history")


def test_the_journal_keeps_the_plan() -> None:
    """What was written comes back; what another version wrote does not break this one."""
    made = replace(planned(), folder="/a/b")
    assert plan_from(json.loads(json.dumps(as_data(made)))) == made
    assert plan_from({"minutes": "many"}) is None


def test_questions_come_back_as_they_were() -> None:
    """Drawn again they have the same numbers and order; one that the bank lost is left out."""
    made = planned(60)
    asked = asked_of(made, QUESTIONS)
    assert [one.item for one in asked] == [f"question:{name}" for name in made.questions]
    assert asked_of(made, QUESTIONS) == asked
    assert asked_of(made, [one for one in QUESTIONS if one.id != made.questions[0]]) == asked[1:]


# What has happened

PLAN = Plan(
    20, 1, (Stage("sdpa", "warm-up", 300.0), Stage("mha", "main problem", 600.0)), ("x", "y")
)
FAILED = {"verdict": "failed", "passed": 9, "total": 12, "failed": ["values"]}
PASSED = {"verdict": "passed", "passed": 12, "total": 12, "failed": []}
EVENTS: list[Event] = [
    (1.0, "begun", {"stage": 0, "seconds": 0.0}),
    (2.0, "attempt", {"stage": 0, "seconds": 50.0, **FAILED}),
    (3.0, "hint", {"stage": 0, "seconds": 60.0, "level": 1}),
    (4.0, "why", {"stage": 0, "seconds": 61.0}),
    (5.0, "attempt", {"stage": 0, "seconds": 100.0, **PASSED}),
    (6.0, "left", {"stage": 0, "seconds": 110.0}),
    (
        7.0,
        "ended",
        {"stage": 0, "seconds": 110.0, "code": "x", "note": "", "reference_seen": False},
    ),
    (8.0, "begun", {"stage": 1, "seconds": 0.0}),
    (9.0, "attempt", {"stage": 1, "seconds": 900.0, **FAILED, "count": 3}),
    (10.0, "of a later version", {"stage": 1, "what": "ever"}),
    (
        11.0,
        "ended",
        {"stage": 1, "seconds": 910.0, "code": None, "note": "gone", "reference_seen": True},
    ),
    (12.0, "answer", {"seconds": 20.0, "item": "question:x", "given": "a", "right": True}),
    (13.0, "answer", {"seconds": 50.0, "item": "question:y", "given": "?", "right": False}),
    (14.0, "finished", {}),
]


def test_events_add_up() -> None:
    """Attempts, help, seconds and results, stage by stage; nothing handed in takes the result with it."""
    state = state_of(PLAN, EVENTS)
    assert state.stages[0] == StageState(
        True, True, 110.0, 2, 1, 1, Result("passed", 12, 12), False, "x", ""
    )
    assert state.stages[1] == StageState(True, True, 910.0, 3, 0, 0, None, True, None, "gone")
    assert [(one.item, one.right) for one in state.answers] == [
        ("question:x", True),
        ("question:y", False),
    ]
    assert (state.seconds, state.question_seconds, state.finished, state.stage) == (
        1070.0,
        50.0,
        True,
        None,
    )


@pytest.mark.parametrize("count", range(len(EVENTS) + 1))
def test_every_prefix_is_a_state_to_go_on_from(count: int) -> None:
    """Wherever it was killed: the stage that is due is the first that did not end, no second is lost, and the rest leads to the same end."""
    state = state_of(PLAN, EVENTS[:count])
    ended = sum(kind == "ended" for _, kind, _ in EVENTS[:count])
    assert state.stage == (ended if ended < 2 else None)
    assert len(state.answers) == sum(kind == "answer" for _, kind, _ in EVENTS[:count])
    told = [data["seconds"] for _, _, data in EVENTS[:count] if data.get("stage") == 0]
    assert state.stages[0].seconds == max(told, default=0.0)
    assert state_of(PLAN, json.loads(json.dumps(EVENTS[:count])) + EVENTS[count:]) == state_of(
        PLAN, EVENTS
    )


def test_attempts_after_a_kill_are_taken_in() -> None:
    """Those of this stage and this interview that came after its last event, and no others."""

    def tried(when: float, name: str = "mha", purpose: Any = "interview") -> Attempt:
        return Attempt(
            name,
            when,
            1,
            "failed",
            1,
            2,
            "",
            {"loads": "passed", "runs": "failed"},
            70.0,
            purpose=purpose,
        )

    attempts = [
        tried(0.5),
        tried(8.0),
        tried(8.5),
        tried(8.6, purpose="practice"),
        tried(8.7, "sdpa"),
        tried(9.0),
    ]
    found = unrecorded(PLAN, 1.0, EVENTS[:8], attempts)
    assert (
        found
        == [
            (
                "attempt",
                {
                    "stage": 1,
                    "seconds": 70.0,
                    "verdict": "failed",
                    "passed": 1,
                    "total": 2,
                    "failed": ["runs"],
                },
            )
        ]
        * 2
    )
    assert unrecorded(PLAN, 1.0, EVENTS, attempts) == []


def test_there_is_one_clock() -> None:
    """What one stage leaves the next one has; what it takes is gone; within a minute nobody is late."""
    quick = state_of(PLAN, EVENTS[:7])
    assert allowed_seconds(PLAN, quick, 1) == 600 + 190
    slow = state_of(PLAN, [(1.0, "ended", {**EVENTS[6][2], "seconds": 700.0})])
    assert allowed_seconds(PLAN, slow, 1) == 200
    assert overtime_seconds(PLAN, slow, 0) == 400
    assert (
        overtime_seconds(PLAN, state_of(PLAN, [(1.0, "left", {"stage": 0, "seconds": 350.0})]), 0)
        == 0
    )
    slower = state_of(PLAN, [(1.0, "ended", {**EVENTS[6][2], "seconds": 5000.0})])
    assert allowed_seconds(PLAN, slower, 1) == 60


# The score


def row(weight: float, result: Result | None, **changes: Any) -> ProblemRow:
    """One problem of the sheet."""
    return ProblemRow(
        "c",
        "C",
        "main problem",
        weight,
        600.0,
        0.0,
        StageState(result=result, code="x", **changes),
        "",
    )


RIGHT = Result("passed", 12, 12)
HALF = Result("failed", 6, 12, ("values",))


@pytest.mark.parametrize(
    ("problems", "share", "expected"),
    [
        ([row(1.0, RIGHT)], 0.9, (60, 15, 10)),
        ([row(1.0, RIGHT)], 1.5, (60, 7.5, 10)),
        ([row(1.0, RIGHT)], 3.0, (60, 0, 10)),
        ([row(1.0, RIGHT, hints=1, whys=1)], 1.0, (60, 15, 5)),
        ([row(1.0, RIGHT, hints=3, whys=4)], 1.0, (60, 15, 0)),
        ([row(1.0, RIGHT, reference_seen=True)], 1.0, (60, 15, 0)),
        ([row(1.0, HALF)], 0.1, (15, 0, 0)),
        ([row(1.0, None)], 0.1, (0, 0, 0)),
        ([row(0.25, RIGHT), row(0.75, HALF)], 1.0, (15 + 0.75 * 15, 3.75, 2.5)),
    ],
    ids=[
        "all",
        "half over",
        "far over",
        "help",
        "much help",
        "reference",
        "half the checks",
        "nothing",
        "two",
    ],
)
def test_the_formula(problems: list[ProblemRow], share: float, expected: tuple[float, ...]) -> None:
    """Correctness, time and help, as the sheet states it."""
    question = Asked("question:x", "t", "number", "?", "1", "so")
    found = parts(
        problems, [QuestionRow(question, "1", True), QuestionRow(question, None, False)], share
    )
    assert [part.points for part in found] == pytest.approx([*expected, 7.5])
    assert sum(part.most for part in found) == 100
    assert sum(part.most for part in parts(problems, [], share)) == 100


def test_the_sheet_of_an_interview() -> None:
    """It has every problem and question, and says what to practise: what failed, what took help, the topics of wrong answers."""
    asked = [
        Asked(f"question:{name}", "cache", "number", "?", "1", "so") for name in ("x", "y", "z")
    ]
    sheet = score_sheet(
        PLAN, state_of(PLAN, EVENTS), BY_ID, {"sdpa": "ref", "mha": "ref"}, asked, 5.0
    )
    assert [(one.challenge, one.passed, one.weight) for one in sheet.problems] == [
        ("sdpa", True, 1 / 3),
        ("mha", False, 2 / 3),
    ]
    assert [(one.given, one.right) for one in sheet.questions] == [
        ("a", True),
        ("?", False),
        (None, False),
    ]
    assert (
        sheet.total
        == round(sum(part.points for part in sheet.parts))
        == 20 + 5 + round(10 / 3 * 0.5) + 5
    )
    assert [one.split(":")[0] for one in sheet.practise] == [
        "attn-drill start mha",
        "attn-drill start sdpa",
        "attn-drill quiz --topic cache",
    ]
    assert score_sheet(PLAN, state_of(PLAN, EVENTS), {}, {}, asked, 5.0).total == sheet.total, (
        "a pack that lost the challenges changes no score"
    )


# A stage by commands


class Typist:
    """Types lines into a pipe that a stage reads."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.lines = Lines(reading)

    def types(self, *lines: str) -> Lines:
        """Lines, and then the end."""
        os.write(self._writing, "".join(f"{line}\n" for line in lines).encode())
        os.close(self._writing)
        return self.lines


class SharedDesk(Desk):
    """Grades with the grader of the tests."""

    def __init__(self, grader: Grader) -> None:
        super().__init__()
        self.grader = grader
        self.graded: list[str] = []

    def grade(self, challenge: Challenge, source: str, path: Path) -> Report:
        """As an interview does, with a fixed seed."""
        self.graded.append(source)
        return report_of(self.grader, challenge, source, str(path), 5, diagnosed=True)


@pytest.fixture
def desk(grader: Grader) -> SharedDesk:
    """A desk that starts no grader of its own."""
    return SharedDesk(grader)


@pytest.fixture
def under_way(tmp_path: Path, home: Path) -> Iterator[Callable[..., Interview]]:
    """Makes an interview of one problem of ten minutes; its clock is a list of times, the last of which stays."""
    journals: list[Journal] = []

    def make(*times: float) -> Interview:
        journal = Journal(home)
        journals.append(journal)
        made = Plan(11, 1, (Stage("sdpa", "main problem", 600.0),), (), str(tmp_path / "stubs"))
        left = list(times or (0.0,))
        run = Interview(
            journal.record_interview(1.0, as_data(made)),
            1.0,
            made,
            BY_ID,
            journal,
            lambda: 2.0,
            lambda: left.pop(0) if len(left) > 1 else left[0],
        )
        open_stage(run, 0)
        return run

    yield make
    for journal in journals:
        journal.close()


SOLUTION = packs.solution(BY_ID["sdpa"])
MISTAKE = read_mistakes(BY_ID["sdpa"])[0]
BROKEN = SOLUTION.replace(MISTAKE.was, MISTAKE.now)


def test_a_problem_by_commands(
    under_way: Callable[..., Interview], desk: SharedDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report holds the likely mistake back until it is asked for; that and hints are noted; `next` grades what is there once more only if it changed."""
    run = under_way()
    run.path(0).write_text(BROKEN)
    assert (
        PlainStage(run, 0, Typist().types("why", "check", "time", "what?"), desk).stay() == "quit"
    )
    shown = capsys.readouterr().out
    assert "Nothing was checked yet" in shown
    assert "FAILED" in shown
    assert "LIKELY" not in shown
    assert "`why` tells it" in shown
    assert "--why" not in shown, "that one would not be noted"
    assert "'what?' is no command" in shown
    assert (run.state.stages[0].attempts, run.state.stages[0].whys, run.state.stage) == (1, 0, 0)
    assert (
        PlainStage(
            run, 0, Typist().types("check", "why", "hint", "hint", "hint", "hint", "next"), desk
        ).stay()
        == "next"
    )
    shown = capsys.readouterr().out
    assert f"LIKELY  {MISTAKE.says}" in shown
    assert shown.count("LIKELY") == 1
    assert "Hint 3 of 3" in shown
    assert "That was the last hint" in shown
    done = run.state.stages[0]
    assert (done.attempts, done.whys, done.hints, done.code, run.state.stage) == (
        2,
        1,
        3,
        BROKEN,
        None,
    )
    assert done.result is not None
    assert done.result.failed
    assert len(desk.graded) == 2
    kept = run.journal.attempts()
    assert [(one.purpose, one.verdict) for one in kept] == [("interview", "failed")] * 2
    assert all(one.mistakes for one in kept)
    assert run.is_kept()
    assert state_of(run.plan, run.journal.events(run.id)) == run.state


def test_what_is_handed_in_is_graded(
    under_way: Callable[..., Interview], desk: SharedDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that changed after the last check is graded at `next`, off the clock."""
    run = under_way(0.0, 30.0)
    run.path(0).write_text(SOLUTION)
    assert PlainStage(run, 0, Typist().types("next"), desk).stay() == "next"
    assert run.state.stages[0].result == Result("passed", 11, 11)
    assert run.state.stages[0].seconds == 30.0
    assert "All checks" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "note"),
    [("keep", "as it was handed out"), ("remove", "was gone"), ("empty", "is empty")],
)
def test_nothing_handed_in(
    under_way: Callable[..., Interview],
    desk: SharedDesk,
    capsys: pytest.CaptureFixture[str],
    change: str,
    note: str,
) -> None:
    """The untouched stub, no file, an empty one: nothing is graded, it is said why, and no check counts."""
    run = under_way()
    if change == "remove":
        run.path(0).unlink()
    elif change == "empty":
        run.path(0).write_text("")
    assert PlainStage(run, 0, Typist().types("next"), desk).stay() == "next"
    done = run.state.stages[0]
    assert (done.code, done.result, desk.graded) == (None, None, [])
    assert note in done.note
    assert done.note in capsys.readouterr().out


def test_a_file_that_went_missing(
    under_way: Callable[..., Interview], desk: SharedDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` says that it is gone and goes on; when the stage is opened again there is a stub."""
    run = under_way()
    run.path(0).unlink()
    assert PlainStage(run, 0, Typist().types("check", "quit"), desk).stay() == "quit"
    assert "is gone" in capsys.readouterr().out
    open_stage(run, 0)
    assert run.path(0).read_text() == packs.stub(BY_ID["sdpa"])
    assert "fresh stub" in capsys.readouterr().out
    assert len([kind for _, kind, _ in run.events if kind == "begun"]) == 1


def test_a_file_that_was_there_is_left_alone(
    under_way: Callable[..., Interview], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The learner may have begun ahead."""
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "sdpa.py").write_text("mine")
    run = under_way()
    assert run.path(0).read_text() == "mine"
    assert "left as it is" in capsys.readouterr().out


def test_time_is_up(
    under_way: Callable[..., Interview], desk: SharedDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said once; whoever goes on can, and is noted; Enter then hands in, which it does not before."""
    run = under_way(0.0, 1.0, 1.0, 700.0)
    run.path(0).write_text(SOLUTION)
    assert PlainStage(run, 0, Typist().types("", "hint", "time", "", "quit"), desk).stay() == "next"
    shown = capsys.readouterr().out
    assert shown.count("Time is up") == 1
    assert "Hint 1 of 3" in shown
    assert overtime_seconds(run.plan, run.state, 0) == 100
    assert run.state.stages[0].result is not None


def test_time_is_up_while_nothing_is_typed(
    under_way: Callable[..., Interview], desk: SharedDesk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody need type a thing to be told."""
    waits: list[float | None] = []

    class Thinking(Lines):
        """Somebody who thinks until the time is up, and leaves then."""

        def next(self, seconds: float | None = None) -> str | None:
            """Nothing, as long as the wait is limited."""
            waits.append(seconds)
            if seconds is not None:
                raise TimeoutError
            return "quit"

    run = under_way(0.0, 1.0, 1.0, 700.0)
    assert PlainStage(run, 0, Thinking(0), desk).stay() == "quit"
    assert waits == [599.0, None]
    assert capsys.readouterr().out.count("Time is up") == 1


def test_a_pause_does_not_count(under_way: Callable[..., Interview], desk: SharedDesk) -> None:
    """A stage that goes on starts from the seconds that it had."""
    run = under_way(0.0, 40.0, 40.0, 40.0, 40.0, 9000.0)
    assert PlainStage(run, 0, Typist().types("quit"), desk).stay() == "quit"
    spent = run.state.stages[0].seconds
    assert spent == 40.0
    run.clock = iter([9000.0, *[9005.0] * 9]).__next__
    assert PlainStage(run, 0, Typist().types("quit"), desk).stay() == "quit"
    assert run.state.stages[0].seconds == 45.0


def test_what_a_kill_left_is_taken_in(
    under_way: Callable[..., Interview], capsys: pytest.CaptureFixture[str]
) -> None:
    """An attempt of the session's screen that the interview had not heard of counts when it is resumed, with its seconds."""
    run = under_way()
    run.journal.record_attempt(
        Attempt(
            "sdpa",
            5.0,
            1,
            "failed",
            1,
            2,
            "x",
            {"loads": "passed", "runs": "failed"},
            77.0,
            purpose="interview",
        )
    )
    assert resumed(run).state.stages[0].attempts == 1
    assert run.state.stages[0].seconds == 77.0
    assert "1:17 of 11:00" in capsys.readouterr().out


def test_lines() -> None:
    """Lines as they come, however they are cut; a wait that ends; a last line without an end; the end."""
    reading, writing = os.pipe()
    lines = Lines(reading)
    with pytest.raises(TimeoutError):
        lines.next(0.0)
    os.write(writing, b"check\nne")
    assert lines.next() == "check"
    with pytest.raises(TimeoutError):
        lines.next(0.01)
    os.write(writing, b"xt\r\n\xff")
    assert lines.next() == "next"
    os.close(writing)
    assert lines.next() == "\ufffd"
    assert lines.next() is None
    os.close(reading)


def test_questions_tell_nothing_until_the_end(
    under_way: Callable[..., Interview], capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer is kept and not judged aloud; what is not understood is asked again; after a pause only what is left is asked."""
    run = under_way()
    asked = asked_of(planned(60, "gqa"), QUESTIONS)
    choice = next(one for one in asked if one.kind == "choice")
    other = next(one for one in asked if one is not choice)
    assert (
        ask_questions(run, [choice, other], Typist().types("perhaps", choice.answer[0], "quit"))
        == "quit"
    )
    shown = capsys.readouterr().out
    assert "Answer with a letter" in shown
    assert choice.explanation not in shown
    assert "right" not in shown.replace(choice.text, "").lower()
    assert [(one.item, one.given, one.right) for one in run.state.answers] == [
        (choice.item, choice.answer[0], True)
    ]
    assert ask_questions(run, [choice, other], Typist().types("?")) == "next"
    shown = capsys.readouterr().out
    assert "Question 1 of 2" not in shown
    assert "Question 2 of 2" in shown
    assert [one.right for one in run.state.answers] == [True, False]


# The command


def drill(
    *arguments: str, cwd: Path, typed: str = "", code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a folder with these lines on its stdin."""
    done = forked.run(
        ["interview", *arguments], cwd, {**os.environ, **ENVIRONMENT, **environment}, typed
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


ENVIRONMENT = {"PYTHONPATH": str(packs.TRAINER.parent)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minutes", "4"], "--minutes is 4; it must be 5 to 240"),
        (["--minutes", "241"], "must be 5 to 240"),
        (["--topic", "postions"], "Did you mean positions"),
        (["--html", "sheet.txt"], "sheet.html"),
        (["--dir", "file/stubs"], "Choose another folder with --dir"),
        (["--dir", "."], "is already there"),
        (["--resume"], "No interview is under way"),
        (["--sheet"], "no interview yet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """One sentence, exit code 2, and nothing is left behind."""
    (tmp_path / "file").write_text("")
    (tmp_path / "score-sheet.html").write_text("")
    assert says in drill(*arguments, cwd=tmp_path, code=2).stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"file", "score-sheet.html", "home"}


def test_one_at_a_time(tmp_path: Path) -> None:
    """With one under way the command names both ways on; a fresh one has a folder of its own; a resumed one stays as planned."""
    first = drill("--minutes", "30", cwd=tmp_path)
    assert "The interview waits" in first.stdout
    assert "--resume" in (said := drill(cwd=tmp_path, code=2).stderr)
    assert "--fresh" in said
    assert (
        "leave --minutes out" in drill("--resume", "--minutes", "10", cwd=tmp_path, code=2).stderr
    )
    assert "not finished" in drill("--sheet", cwd=tmp_path, code=2).stderr
    drill("--fresh", cwd=tmp_path)
    assert (
        len(list(tmp_path.glob("interview-*/*.py"))) == len(list(tmp_path.glob("interview-*"))) == 2
    )


def test_without_a_journal(tmp_path: Path) -> None:
    """It works, and says that it cannot be resumed."""
    (tmp_path / "file").write_text("")
    done = drill(
        "--minutes",
        "5",
        cwd=tmp_path,
        typed="hint\n",
        ATTN_DRILL_HOME=str(tmp_path / "file" / "home"),
    )
    assert "cannot be resumed" in done.stdout
    assert "Hint 1 of 3" in done.stdout
    assert "could not be kept" in done.stdout


class Conversation:
    """An interview in a process of its own, driven line by line."""

    def __init__(self, cwd: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "trainer", "interview", *arguments],
            cwd=cwd,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def until(self, wanted: str) -> str:
        """What is said up to the line that has these words."""
        found = ""
        for line in self.stdout:
            found += line
            if wanted in line:
                return found
        raise AssertionError(f"{wanted!r} was not said:\n{found}")

    def types(self, line: str) -> None:
        """One line."""
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def close(self) -> int:
        """Let go of the pipes; the exit code."""
        self.stdin.close()
        self.stdout.close()
        return self.process.wait(60)


def test_a_whole_interview(tmp_path: Path, home: Path) -> None:
    """Through pipes: right files written between commands, killed in the middle, resumed, questions answered, the sheet shown, written and shown again."""
    talk = Conversation(tmp_path, "--minutes", "45", "--seed", "3", "--dir", "here")
    talk.until("quit    leaves")
    found = Journal(home)
    kept = found.last_interview()
    assert kept is not None
    made = plan_from(kept[2])
    assert made is not None
    assert len(made.stages) == 3
    first, second, third = (BY_ID[stage.challenge] for stage in made.stages)
    folder = tmp_path / "here"
    assert [path.name for path in folder.iterdir()] == [first.file_name], (
        "what comes later is not given away"
    )
    (folder / first.file_name).write_text(packs.solution(first))
    talk.types("check")
    talk.until("All checks hold")
    talk.types("hint")
    talk.until("Hint 1 of 3")
    talk.types("next")
    talk.until("Stage 2 of 3")
    talk.until("quit    leaves")
    (folder / second.file_name).write_text(packs.solution(second))
    talk.process.send_signal(signal.SIGKILL)
    talk.close()

    talk = Conversation(tmp_path, "--resume")
    talk.until("Stage 2 of 3")
    talk.until("quit    leaves")
    talk.types("next")
    talk.until("Stage 3 of 3")
    talk.types("next")
    asked = asked_of(made, QUESTIONS)
    for number, one in enumerate(asked, start=1):
        talk.until(f"Question {number} of {len(asked)}")
        talk.types(one.answer[0] if one.kind == "choice" else one.answer)
    shown = talk.until("The same with colours")
    assert talk.close() == 0
    assert "PASSED" in shown
    assert "NOTHING HANDED IN" in shown
    assert f"attn-drill start {third.id}" in shown

    state = state_of(made, found.events(kept[0]))
    assert [one.result is not None and one.result.verdict for one in state.stages] == [
        "passed",
        "passed",
        False,
    ]
    assert [one.hints for one in state.stages] == [1, 0, 0]
    assert all(one.right for one in state.answers)
    assert len(state.answers) == len(asked)
    assert {one.purpose for one in found.attempts()} == {"interview"}
    found.close()
    page = (folder / "score-sheet.html").read_text()
    again = drill("--sheet", "--html", "again.html", cwd=tmp_path)
    assert again.stdout.splitlines()[1] in shown
    assert (tmp_path / "again.html").read_text() == page
    assert "No interview is under way" in drill("--resume", cwd=tmp_path, code=2).stderr
