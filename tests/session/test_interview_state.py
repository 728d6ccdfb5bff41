"""The problems of a mock interview: opening pages, files that are handed in, and events."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attn_drill.exercises.interview import Stage, state_of, values_of_attempt
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Repair, Report
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice import facts
from attn_drill.practice.facts import (
    Attempted,
    Hinted,
    Hunted,
    Revealed,
    StageBegan,
    StageLeft,
    Started,
)
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import (
    counted_attempts,
    last_started,
    path_of,
    progress_of,
    rated_reviews,
)
from attn_drill.session._session_record import Ending, SessionRequest, SessionResult
from attn_drill.session.interviews import Interview, recorded_events, solve_problems
from tests.support.session import CHALLENGES, interview, report_on

Record = Callable[..., None]
Do = Callable[[SessionRequest, Record], None]


def ended(
    ending: Ending = "quit", *do: Do, seconds: float = 60.0, graded: str | None = None
) -> tuple[SessionResult, Do]:
    """Return the result of a session, and what the learner does in it."""

    def do_all(request: SessionRequest, record: Record) -> None:
        for action in do:
            action(request, record)
        record(facts.StageLeft, seconds=seconds)

    return SessionResult(ending, False, seconds, 0, graded), do_all


def save(text: str) -> Do:
    """Return the action that saves a text without a verdict. "" deletes the file."""

    def write(request: SessionRequest, record: Record) -> None:
        request.path.write_text(text)
        if not text:
            request.path.unlink()

    return write


def verdict_on(text: str, **changes: Any) -> Do:
    """Return the action that has a text graded."""

    def grade(request: SessionRequest, record: Record) -> None:
        report = report_on(request.challenge.id, request.path.name, text, 1)
        values = values_of_attempt(replace(report, **changes))
        record(facts.StageAttempted, seconds=50.0, **values)

    return grade


class Learner:
    """A learner in an interview. It takes the place of the session's screen and of the grader.

    Attributes:
        results: the results of the sessions that still come, and what the learner does in them.
        pages: the requests of the sessions so far.
        graded: the texts that were handed in and graded.
        planted: the ids of the bugs that were planted in these texts.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        run: Interview,
        *results: tuple[SessionResult, Do],
    ) -> None:
        self.run, self.results = run, list(results)
        self.pages: list[SessionRequest] = []
        self.graded: list[str] = []
        self.planted: list[tuple[str, ...]] = []
        monkeypatch.setattr("attn_drill.session.interviews.run_session", self._run_session)

    def solve(self) -> str:
        """Solve problems until the interview is left."""
        return solve_problems(self.run, (pack_reader.built_in_pack(),), "en", self._grade)

    def opening(self, index: int) -> str:
        """Return an opening page, without its line breaks."""
        sitting = self.pages[index].sitting
        assert sitting is not None
        return " ".join(sitting.opening.split())

    def _run_session(self, request: SessionRequest, journal: Journal) -> SessionResult:
        self.pages.append(request)
        result, do = self.results.pop(0)
        assert request.sitting is not None
        do(request, request.sitting.record)
        return result

    def _grade(
        self, challenge: Challenge, source: str, path: Path, planted: tuple[str, ...]
    ) -> Report:
        self.planted.append(planted)
        if source == "crash":
            raise GraderError("The grader fell over.")
        self.graded.append(source)
        return report_on(challenge.id, path.name, source, 1)


LearnerOf = Callable[..., Learner]


@pytest.fixture
def run(tmp_path: Path, home: Path) -> Interview:
    """Return an interview of two problems."""
    return interview(tmp_path, home)


@pytest.fixture
def learner_of(monkeypatch: pytest.MonkeyPatch) -> LearnerOf:
    """Return a function that puts a learner into an interview."""
    return partial(Learner, monkeypatch)


def test_opening_page_has_stages_minutes_path_and_rules(
    run: Interview, learner_of: LearnerOf, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page does not show the titles of later problems, and nothing is printed."""
    learner = learner_of(run, ended(seconds=125.0), ended())
    assert learner.solve() == "quit"
    assert [path.name for path in run.path(0).parent.iterdir()] == ["sdpa.py"]
    run.news.append("News.")
    learner.solve()
    assert capsys.readouterr().out == ""
    for part in (
        f"Problem 1 of 2, warm-up: {CHALLENGES['sdpa'].title}. {run.path(0)} is the stub",
        "2. main problem, 17 min",
        "1 question, 3 min",
        "a quarter",
        "This problem: 10:00 min. The whole interview: 30:00 of 30:00 min are left.",
    ):
        assert part in learner.opening(0)
    assert CHALLENGES["gqa"].title not in learner.opening(0)
    assert "Every save of your file is graded" in learner.opening(0)
    assert learner.pages[0].is_graded
    assert "This problem: 10:00 min. 2:05 are spent, 7:55 are left. " in learner.opening(1)
    assert "27:55 of 30:00 min are left" in learner.opening(1)
    assert learner.opening(1).endswith("News.")
    assert not run.news
    assert [type(event) for event in run.events] == [StageBegan, StageLeft, StageLeft]


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (600.0, "This problem: 16:40 min. The"),
        (350.0, "20:50 min. 16:40 were planned, 4:10 are left from the problem before."),
        (700.0, "15:00 min. 16:40 were planned, 1:40 went to the problem before."),
        (9000.0, "1:00 min. 16:40 were planned, 15:40 went to the problem before. The 30 minutes"),
    ],
)
def test_time_that_carries_over_is_said(
    run: Interview,
    learner_of: LearnerOf,
    seconds: float,
    says: str,
) -> None:
    """The page has the planned time, the difference, and the time that results."""
    learner = learner_of(run, ended("next", seconds=seconds), ended())
    learner.solve()
    assert says in learner.opening(1)
    assert learner.pages[1].par_seconds == max(60.0, 1600.0 - seconds)


def test_task_has_no_follow_up_questions(run: Interview, learner_of: LearnerOf) -> None:
    """The interview asks them at its end. The rest of the task is whole."""
    learner = learner_of(run, ended())
    learner.solve()
    prompt = pack_reader.prompt(CHALLENGES["sdpa"])
    task, _, questions = prompt.partition("An interviewer may ask next:")
    assert questions
    assert learner.pages[0].prompt.strip() == task.strip()


def test_file_of_an_interview_is_no_file_of_practice(run: Interview, learner_of: LearnerOf) -> None:
    """Commands that look for the file of a challenge do not find it."""
    solved = ended("next", verdict_on("right"), save("right"), graded="right")
    learner_of(run, solved, ended()).solve()
    found = run.journal.facts()
    assert path_of(found) is None
    assert last_started(found) is None
    assert progress_of(found).keys() == set(), "nothing is started that has no attempt"


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
    run: Interview,
    learner_of: LearnerOf,
    last: str | None,
    now: str,
    attempts: int,
    verdict: str,
    graded: bool,
) -> None:
    """A file that changed since its verdict is graded. An unfinished file is not an attempt."""
    actions = [save(now)] if last is None else [verdict_on(last), save(now)]
    learner = learner_of(run, ended("next", *actions, graded=last), ended())
    assert learner.solve() == "quit"
    stage = run.state.stages[0]
    assert stage.result is not None
    assert (stage.attempts, stage.result.verdict, stage.code) == (attempts, verdict, now)
    assert learner.graded == ([now] if graded else [])
    recorded = [
        (attempt.purpose, attempt.verdict) for attempt in counted_attempts(run.journal.facts())
    ]
    assert recorded == ([("interview", verdict)] if graded and now != "half" else [])
    assert recorded_events(run.journal, run.id) == run.events
    assert run.is_recorded()


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
    run: Interview,
    learner_of: LearnerOf,
    saved: str | None,
    note: str,
) -> None:
    """The note is recorded, and the next page shows it."""
    actions = [] if saved is None else [save(saved)]
    learner = learner_of(run, ended("next", *actions), ended())
    learner.solve()
    stage = run.state.stages[0]
    assert (stage.code, stage.result, learner.graded) == (
        saved if saved == "crash" else None,
        None,
        [],
    )
    assert note in stage.note
    assert " ".join(stage.note.split()) in learner.opening(1)


def test_events_are_in_the_journal_at_once(run: Interview, learner_of: LearnerOf) -> None:
    """A kill at any moment loses no attempt, hint or shown mistake."""
    seen = []

    def work(request: SessionRequest, record: Record) -> None:
        values = values_of_attempt(report_on("sdpa", "sdpa.py", "wrong", 1))
        for kind, seconds, more in (
            (facts.StageAttempted, 50.0, values),
            (facts.StageAttempted, 51.0, values),
            (facts.StageReplaced, 51.0, {}),
            (facts.StageHinted, 52.0, {"level": 1}),
            (facts.MistakeShown, 53.0, {}),
            (facts.MistakeShown, 54.0, {}),
        ):
            record(kind, seconds=seconds, **more)
            stage = state_of(
                run.plan, recorded_events(Journal(run.journal.path.parent), run.id)
            ).stages[0]
            seen.append((stage.attempts, stage.hints, stage.revealed_mistakes, stage.seconds))

    learner_of(run, ended("quit", work)).solve()
    assert seen == [
        (1, 0, 0, 50.0),
        (2, 0, 0, 51.0),
        (1, 0, 0, 51.0),
        (1, 1, 0, 52.0),
        (1, 1, 1, 53.0),
        (1, 1, 2, 54.0),
    ]


def test_hint_in_another_window_counts(run: Interview, learner_of: LearnerOf) -> None:
    """`attn-drill hint` does not know the interview. Hints of an earlier practice do not count."""
    run.journal.add(Hinted("sdpa", 1.0, level=3))

    def hint(request: SessionRequest, record: Record) -> None:
        record(facts.StageHinted, seconds=10.0, level=1)
        run.journal.add(Hinted("sdpa", run.wall(), level=2))

    learner_of(run, ended("next", hint), ended()).solve()
    assert run.state.stages[0].hints == 2


def test_ctrl_c_while_grading_leaves_the_interview(run: Interview, learner_of: LearnerOf) -> None:
    """After Ctrl-C while a file is graded, the problem can be handed in again."""
    learner_of(run, ended("next")).run.path(0).parent.mkdir()
    run.path(0).write_text("right")

    def interrupted(challenge: Challenge, source: str, path: Path, planted: object) -> Report:
        raise KeyboardInterrupt

    assert solve_problems(run, (pack_reader.built_in_pack(),), "en", interrupted) == "interrupted"
    assert run.state.stage == 0
    assert run.state.stages[0].seconds == 60.0


@pytest.mark.parametrize("text", ["mine", " ", None, "folder"])
def test_learners_file_is_never_overwritten(
    run: Interview, learner_of: LearnerOf, text: str | None
) -> None:
    """A file of the learner stays, a missing file becomes the stub, a folder is refused."""
    learner = learner_of(run, ended(), ended())
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


@pytest.mark.parametrize(("source", "verdict"), [("right", "passed"), ("wrong", "failed")])
def test_without_a_grader_only_the_handed_in_file_is_graded(
    run: Interview, learner_of: LearnerOf, source: str, verdict: str
) -> None:
    """The next page does not show the verdict, and a pass counts as a review."""
    run = replace(run, plan=replace(run.plan, is_graded=False))
    learner = learner_of(run, ended("next", save(source)), ended())
    learner.solve()
    assert [page.is_graded for page in learner.pages] == [False, False]
    assert "Nothing is graded before you hand in your file" in learner.opening(0)
    assert "Every save" not in learner.opening(0)
    assert learner.graded == [source]
    result = run.state.stages[0].result
    assert result is not None
    assert result.verdict == verdict
    assert "pass" not in learner.opening(1).lower()
    assert verdict not in learner.opening(1).lower()
    reviews = [review.item for review in rated_reviews(run.journal.facts())]
    assert reviews == (["challenge:sdpa"] if verdict == "passed" else [])


def test_rating_is_an_event_and_a_review(run: Interview) -> None:
    """A resumed interview knows the answer, and the question is scheduled."""
    run.rate(run.questions[0], 2, 30.0)
    resumed = state_of(run.plan, recorded_events(run.journal, run.id))
    assert resumed == run.state
    assert (resumed.ratings, resumed.question_seconds) == ({"follow-up:gqa:1": 2}, 30.0)
    (review,) = rated_reviews(run.journal.facts())
    assert (review.item, review.at, review.rating) == ("follow-up:gqa:1", 2.0, 2)


BUGS = ("no-scale", "sum-for-mean")


def debugging_round(run: Interview) -> Interview:
    """Return a round with two bugs and its continuation."""
    stages = (
        Stage("mini-gpt", "debugging", 600.0, BUGS),
        Stage("mini-gpt-cache", "follow-up", 400.0),
    )
    return replace(run, plan=replace(run.plan, stages=stages))


def test_debugging_round_hands_out_a_file_with_bugs(run: Interview, learner_of: LearnerOf) -> None:
    """The page says how many, not which. The session hides the line and counts what is left."""
    run = debugging_round(run)
    learner = learner_of(run, ended())
    learner.solve()
    text = run.path(0).read_text()
    assert "with two mistakes in it" in text
    assert "attn-drill" not in text
    assert "math.sqrt" not in text
    assert "two mistakes" in learner.opening(0)
    assert "is the file to repair" in learner.opening(0)
    request = learner.pages[0]
    assert (request.purpose, request.stage, request.hunted) == ("hunt", "where", BUGS)
    assert request.untouched == text
    assert run.journal.facts(Hunted, Started) == [], "the file belongs to no hunt"


@pytest.mark.parametrize(("saved", "is_repaired"), [("right", True), ("wrong", False)])
def test_round_goes_on_with_the_repaired_file_or_the_reference(
    run: Interview, learner_of: LearnerOf, saved: str, is_repaired: bool
) -> None:
    """A pass of the repair is an attempt of a hunt, not a solution from memory."""
    run = debugging_round(run)
    learner = learner_of(run, ended("next", save(saved)), ended())
    learner.solve()
    assert learner.planted == [BUGS]
    assert [attempt.purpose for attempt in run.journal.facts(Attempted)] == ["hunt"]
    text = run.path(1).read_text()
    assert "the repaired file of mini-gpt" in text
    assert text.rstrip().endswith("right") == is_repaired
    assert ("class MiniGPT" in text) != is_repaired
    assert "is the repaired file. Continue with it" in learner.opening(1)
    assert (learner.pages[1].purpose, learner.pages[1].hunted) == ("interview", ())
    assert learner.pages[1].untouched == text


def test_bugs_that_are_left_are_recorded(run: Interview, learner_of: LearnerOf) -> None:
    """The number comes with the verdict, or with the diagnosis after it."""
    run = debugging_round(run)
    mistake = read_mistakes(CHALLENGES["mini-gpt"])[0]
    report = Repair(2, (mistake,), (), None)
    learner_of(run, ended("quit", verdict_on("wrong", repair=report))).solve()
    attempt = run.state.stages[0].result
    assert attempt is not None
    assert attempt.bugs_left == 1

    def repair(request: SessionRequest, record: Record) -> None:
        record(facts.StageRepaired, bugs_left=2)

    learner_of(run, ended("quit", verdict_on("wrong"), repair)).solve()
    attempt = run.state.stages[0].result
    assert attempt is not None
    assert attempt.bugs_left == 2


def test_untouched_file_of_a_debugging_round_is_not_handed_in(
    run: Interview, learner_of: LearnerOf
) -> None:
    """The note says so, and hints of an earlier practice do not count."""
    run = debugging_round(run)
    run.journal.add(Hinted("mini-gpt", 1.0, level=3))
    run.journal.add(Revealed("mini-gpt", 1.0))
    learner = learner_of(run, ended("next"), ended())
    learner.solve()
    stage = run.state.stages[0]
    assert stage.note == "Nothing was handed in: mini_gpt.py is the unchanged file."
    assert (stage.hints, stage.reference_seen) == (0, False)


def test_missing_bug_is_named(run: Interview, learner_of: LearnerOf) -> None:
    """A resumed round whose pack has changed says which bug is gone."""
    run = debugging_round(run)
    stages = (replace(run.plan.stages[0], bugs=("gone",)),)
    run = replace(run, plan=replace(run.plan, stages=stages))
    with pytest.raises(DrillError, match="no longer has the bugs gone"):
        learner_of(run).solve()
