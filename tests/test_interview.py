"""A mock interview: its plan, its state, its score, and the command without a screen."""

import json
import os
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from trainer.interview.plan import (
    InterviewPlan,
    Stage,
    draw_questions,
    familiarity,
    main_problems,
    make_plan,
    plan_from,
    prerequisites,
)
from trainer.interview.score import ProblemRow, QuestionRow, score_parts, score_sheet
from trainer.interview.state import (
    Event,
    StageResult,
    StageState,
    allowed_seconds,
    overtime_seconds,
    state_of,
    unrecorded,
)
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.question_bank import read_questions, read_topics
from trainer.practice.journal import Journal, Review
from trainer.practice.schedule import item_of, items
from trainer.quiz.drawn_questions import DrawnQuestion
from trainer.session.model import SessionResult

ROOT = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(ROOT)
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
) -> InterviewPlan:
    """Return the plan of an interview."""
    return make_plan(
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
def test_plan_fits(wanted: str | None, minutes: int) -> None:
    """Every topic and challenge gives a main problem, a follow-up on it if there is one, and a
    warm-up that needs neither, all within the time."""
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
    """There are three to five different questions; those on the problems come first."""
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
    """A quarter of an hour has one problem, an hour has three."""
    assert [len(planned(minutes).stages) for minutes in (5, 15, 30, 60, 120)] == [1, 1, 2, 3, 3]


def test_seed_decides() -> None:
    """The same seed gives the same interview; other seeds give others."""
    assert planned(seed=7) == planned(seed=7)
    assert (
        len({tuple(stage.challenge for stage in planned(seed=seed).stages) for seed in range(20)})
        > 4
    )


def test_known_items_are_avoided() -> None:
    """Among problems that fit equally well the unknown one is chosen; the same for questions."""
    alike = [one.id for one in CHALLENGES if one.minutes == 15]
    for new in alike:
        familiar = {item_of(one): 1.0 for one in alike if one != new}
        assert planned(15, known_items=familiar).stages[0].challenge == new
    first = planned(15, alike[0])
    again = planned(15, alike[0], known_items={f"question:{name}": 1.0 for name in first.questions})
    assert not set(first.questions) & set(again.questions)


def test_familiarity() -> None:
    """A pass fades within a month, a failure counts for nothing, a due item is not known."""
    day = 86400.0

    def tried(name: str, when: float, verdict: str = "passed") -> Attempt:
        return Attempt(name, when, 1, verdict, 1, 1, "")  # type: ignore[arg-type]

    now = 100 * day
    reviewed = items(
        [Review("1", "challenge:due", 0.0, 3, ""), Review("2", "challenge:new", now - 60, 4, "")],
        now,
    )
    found = familiarity(
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
def test_unknown_topic_is_refused(wanted: str, says: str) -> None:
    """The message has the nearest names, or all topics."""
    with pytest.raises(DrillError, match=says):
        main_problems(CHALLENGES, TOPICS, wanted)


def test_topic_without_challenges_is_refused() -> None:
    """An interview needs at least one challenge."""
    with pytest.raises(DrillError, match="no challenge"):
        main_problems(CHALLENGES, {**TOPICS, "history": "History"}, "history")


def test_journal_keeps_the_plan() -> None:
    """The journal gives the same plan back; a plan of another version is None."""
    made = replace(planned(), folder="/a/b")
    assert plan_from(json.loads(json.dumps(asdict(made)))) == made
    assert plan_from({"minutes": "many"}) is None


def test_questions_are_drawn_the_same_again() -> None:
    """A second draw gives the same numbers and order; a question that is gone is skipped."""
    made = planned(60)
    asked = draw_questions(made, QUESTIONS)
    assert [one.item for one in asked] == [f"question:{name}" for name in made.questions]
    assert draw_questions(made, QUESTIONS) == asked
    assert (
        draw_questions(made, [one for one in QUESTIONS if one.id != made.questions[0]]) == asked[1:]
    )


# The state

PLAN = InterviewPlan(
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
    """Attempts, help, seconds and results add up; without a file there is no result."""
    state = state_of(PLAN, EVENTS)
    assert state.stages[0] == StageState(
        True, True, 110.0, 2, 1, 1, StageResult("passed", 12, 12), False, "x", ""
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
def test_kill_after_any_event_can_be_resumed(count: int) -> None:
    """After a kill at any event the next stage is known, no second is lost, the end is the same."""
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
    """Only attempts at this stage after the last event are taken in."""

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
    missing = {"stage": 1, "seconds": 70.0, "verdict": "failed", "passed": 1, "total": 2}
    missing["failed"] = ["runs"]
    assert unrecorded(PLAN, 1.0, EVENTS[:8], attempts) == [missing, missing]
    assert unrecorded(PLAN, 1.0, EVENTS, attempts) == []


def test_one_clock_for_all_stages() -> None:
    """A stage gets what earlier stages left over; overtime up to a minute is not told."""
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


def row(weight: float, result: StageResult | None, **changes: Any) -> ProblemRow:
    """Return one problem of the sheet."""
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


RIGHT = StageResult("passed", 12, 12)
HALF = StageResult("failed", 6, 12, ("values",))


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
def test_score_of_parts(
    problems: list[ProblemRow], share: float, expected: tuple[float, ...]
) -> None:
    """Correctness, time and help count as the sheet says."""
    question = DrawnQuestion("question:x", "t", "number", "?", "1", "so")
    found = score_parts(
        problems, [QuestionRow(question, "1", True), QuestionRow(question, None, False)], share
    )
    assert [part.points for part in found] == pytest.approx([*expected, 7.5])
    assert sum(part.most for part in found) == 100
    assert sum(part.most for part in score_parts(problems, [], share)) == 100


def test_sheet_of_an_interview() -> None:
    """The sheet has all problems and questions, and says what to practise."""
    asked = [
        DrawnQuestion(f"question:{name}", "cache", "number", "?", "1", "so")
        for name in ("x", "y", "z")
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


# The command


def drill(
    *arguments: str, cwd: Path, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `attn-drill interview` in a folder, with pipes for its input and output."""
    done = forked.run(["interview", *arguments], cwd, {**os.environ, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a terminal, and a learner who leaves the first problem at once."""
    monkeypatch.setattr("trainer.cli.practise.can_stay", lambda: True)
    left = SessionResult("quit", False, 5.0, 0, 0, 0)
    monkeypatch.setattr("trainer.session.interview_state.run_session", lambda given, journal: left)


@pytest.mark.parametrize("arguments", [[], ["--fresh"], ["--resume"], ["--no-watch"]], ids=str)
def test_interview_needs_a_terminal(arguments: list[str], tmp_path: Path) -> None:
    """Without a terminal there is one sentence, exit code 2, and no file."""
    done = drill(*arguments, cwd=tmp_path, code=2)
    assert "An interview needs a terminal" in done.stderr
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
    assert not list(tmp_path.glob("interview-*"))


@pytest.mark.usefixtures("left_at_once")
def test_no_watch_is_refused_in_a_terminal_too(tmp_path: Path) -> None:
    """The screen is the only interface."""
    assert "needs a terminal" in drill("--no-watch", cwd=tmp_path, code=2).stderr


@pytest.mark.usefixtures("left_at_once")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minutes", "4"], "--minutes is 4; it must be 5 to 240"),
        (["--minutes", "241"], "must be 5 to 240"),
        (["--topic", "postions"], "Did you mean positions"),
        (["--html", "sheet.txt"], "sheet.html"),
        (["--dir", "file/stubs"], "Choose another folder with --dir"),
        (["--dir", "."], "already exists"),
        (["--resume"], "No interview is under way"),
        (["--sheet"], "no interview yet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """Bad input gives one sentence and exit code 2, and leaves no file behind."""
    (tmp_path / "file").write_text("")
    (tmp_path / "score-sheet.html").write_text("")
    assert says in drill(*arguments, cwd=tmp_path, code=2).stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"file", "score-sheet.html", "home"}


@pytest.mark.usefixtures("left_at_once")
def test_one_interview_at_a_time(tmp_path: Path) -> None:
    """A second interview needs --resume or --fresh; a fresh one gets its own folder."""
    assert "The interview waits" in drill("--minutes", "30", cwd=tmp_path).stdout
    refused = drill(cwd=tmp_path, code=2).stderr
    assert "--resume" in refused
    assert "--fresh" in refused
    changed = drill("--resume", "--minutes", "10", cwd=tmp_path, code=2)
    assert "leave --minutes out" in changed.stderr
    assert "not finished" in drill("--sheet", cwd=tmp_path, code=2).stderr
    drill("--fresh", cwd=tmp_path)
    assert len(list(tmp_path.glob("interview-*/*.py"))) == 2
    assert len(list(tmp_path.glob("interview-*"))) == 2


@pytest.mark.usefixtures("left_at_once")
def test_resume_takes_in_attempts_before_a_kill(tmp_path: Path, home: Path) -> None:
    """An attempt that the session kept counts in the resumed interview, with its seconds."""
    drill("--minutes", "5", "--topic", "sdpa", cwd=tmp_path)
    journal = Journal(home)
    kept = journal.last_interview()
    assert kept is not None
    last = journal.events(kept[0])[-1][0]
    statuses: dict[str, Any] = {"loads": "passed", "runs": "failed"}
    tried = Attempt("sdpa", last + 1, 1, "failed", 1, 2, "x", statuses, 77.0, purpose="interview")
    journal.record_attempt(tried)
    drill("--resume", cwd=tmp_path)
    plan = plan_from(kept[2])
    assert plan is not None
    stage = state_of(plan, journal.events(kept[0])).stages[0]
    assert (stage.attempts, stage.seconds) == (1, 77.0)


@pytest.mark.usefixtures("left_at_once")
def test_interview_without_a_journal(tmp_path: Path) -> None:
    """Without a journal the interview works; when it is left, it is over."""
    (tmp_path / "file").write_text("")
    done = drill("--minutes", "5", cwd=tmp_path, ATTN_DRILL_HOME=str(tmp_path / "file" / "home"))
    assert "the journal cannot keep it" in done.stdout
