"""The problems of a mock interview: opening pages, files that are handed in, and events."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_grader import report_on
from tests.support.journal import events_of
from tests.support.session_interview import CHALLENGES, interview
from trainer.interview.plan import Stage
from trainer.interview.state import state_of
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Repair, Report
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.practice.facts import Attempted, Hinted, Revealed, Started
from trainer.practice.journal import Journal
from trainer.practice.progress import counted_attempts, rated_reviews, start_times
from trainer.session.interview_state import Interview, solve_problems
from trainer.session.model import Ending, SessionRequest, SessionResult


def ended(ending: Ending = "quit", text: str | None = None, **changes: Any) -> SessionResult:
    """Return the result of a session of 60 seconds, with a verdict on this text."""
    report = report_on("sdpa", "sdpa.py", text, 1) if text is not None else None
    result = SessionResult(ending, False, 60.0, int(text is not None), 0, 0, report, text)
    return replace(result, **changes)


class Learner:
    """A learner in an interview. It takes the place of the session's screen and of the grader.

    Attributes:
        results: the results of the sessions that still come.
        saved: the text of the file at the end of the first session. None leaves the file unchanged,
            "" deletes it.
        pages: the requests of the sessions so far.
        graded: the texts that were handed in and graded.
        planted: the ids of the bugs that were planted in these texts.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, run: Interview, *results: SessionResult
    ) -> None:
        self.run, self.results = run, list(results)
        self.saved: str | None = None
        self.pages: list[SessionRequest] = []
        self.graded: list[str] = []
        self.planted: list[tuple[str, ...]] = []
        monkeypatch.setattr("trainer.session.interview_state.run_session", self._run_session)

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
        if self.saved is not None and len(self.pages) == 1:
            request.path.write_text(self.saved)
            if not self.saved:
                request.path.unlink()
        return self.results.pop(0)

    def _grade(
        self, challenge: Challenge, source: str, path: Path, planted: tuple[str, ...]
    ) -> Report:
        self.planted.append(planted)
        if source == "crash":
            raise GraderError("The grader fell over.")
        self.graded.append(source)
        return report_on(challenge.id, path.name, source, 1)


def test_opening_page_has_stages_minutes_path_and_rules(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page does not show the titles of later problems, and nothing is printed."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, ended(seconds=125.0), ended())
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
    assert "Every save of your file is graded" in learner.opening(0)
    assert learner.pages[0].is_graded
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
    """A file that changed since its verdict is graded. An unfinished file is not an attempt."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, ended("next", last), ended())
    learner.saved = now
    assert learner.solve() == "quit"
    stage = run.state.stages[0]
    assert stage.result is not None
    assert (stage.attempts, stage.result.verdict, stage.code) == (attempts, verdict, now)
    assert learner.graded == ([now] if graded else [])
    recorded = [
        (attempt.purpose, attempt.verdict) for attempt in counted_attempts(run.journal.facts())
    ]
    assert recorded == ([("interview", verdict)] if graded and now != "half" else [])
    assert state_of(run.plan, events_of(run.journal, run.id)) == run.state
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
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    saved: str | None,
    note: str,
) -> None:
    """The note is recorded, and the next page shows it."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, ended("next"), ended())
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
    """Hints and shown mistakes count. So do hints of `attn-drill hint` in another window."""
    run = interview(tmp_path, home)
    results = ended(hints=1, revealed_mistakes=2), ended("next", hints=1), ended()
    learner = Learner(monkeypatch, run, *results)
    learner.solve()
    assert (run.state.stages[0].hints, run.state.stages[0].revealed_mistakes) == (1, 2)
    run.journal.add(Hinted("sdpa", run.wall(), level=3))
    learner.solve()
    assert (run.state.stages[0].hints, run.state.stages[0].revealed_mistakes) == (3, 2)


def test_ctrl_c_while_grading_leaves_the_interview(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C while a file is graded, the problem can be handed in again."""
    run = interview(tmp_path, home)
    Learner(monkeypatch, run, ended("next", "wrong")).run.path(0).parent.mkdir()
    run.path(0).write_text("right")

    def interrupted(challenge: Challenge, source: str, path: Path, planted: object) -> Report:
        raise KeyboardInterrupt

    assert solve_problems(run, (pack_reader.built_in_pack(),), "en", interrupted) == "interrupted"
    assert run.state.stage == 0
    assert run.state.stages[0].seconds == 60.0


@pytest.mark.parametrize("text", ["mine", None, "folder"])
def test_learners_file_is_never_overwritten(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """A file of the learner stays, a missing file becomes the stub, a folder is refused."""
    run = interview(tmp_path, home)
    learner = Learner(monkeypatch, run, ended(), ended())
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
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, source: str, verdict: str
) -> None:
    """The next page does not show the verdict, and a pass counts as a review."""
    run = interview(tmp_path, home, is_graded=False)
    learner = Learner(monkeypatch, run, ended("next"), ended())
    learner.saved = source
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


def test_rating_is_an_event_and_a_review(tmp_path: Path, home: Path) -> None:
    """A resumed interview knows the answer, and the question is scheduled."""
    run = interview(tmp_path, home)
    run.rate(run.questions[0], 2, 30.0)
    resumed = state_of(run.plan, events_of(run.journal, run.id))
    assert resumed == run.state
    assert (resumed.answers[0].rating, resumed.question_seconds) == (2, 30.0)
    (review,) = rated_reviews(run.journal.facts())
    assert (review.item, review.at, review.rating) == ("follow-up:gqa:1", 2.0, 2)


BUGS = ("no-scale", "sum-for-mean")


def debugging_round(tmp_path: Path, home: Path) -> Interview:
    """Return a round with two bugs and its continuation."""
    stages = (
        Stage("mini-gpt", "debugging", 600.0, BUGS),
        Stage("mini-gpt-cache", "follow-up", 400.0),
    )
    run = interview(tmp_path, home)
    return replace(run, plan=replace(run.plan, stages=stages))


def test_debugging_round_hands_out_a_file_with_bugs(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says how many, not which. The session hides the line and counts what is left."""
    run = debugging_round(tmp_path, home)
    learner = Learner(monkeypatch, run, ended())
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
    assert start_times(run.journal.facts(Started)) == {}


@pytest.mark.parametrize(("saved", "is_repaired"), [("right", True), ("wrong", False)])
def test_round_goes_on_with_the_repaired_file_or_the_reference(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, saved: str, is_repaired: bool
) -> None:
    """A pass of the repair is an attempt of a hunt, not a solution from memory."""
    run = debugging_round(tmp_path, home)
    learner = Learner(monkeypatch, run, ended("next"), ended())
    learner.saved = saved
    learner.solve()
    assert learner.planted == [BUGS]
    assert [attempt.purpose for attempt in run.journal.facts(Attempted)] == ["hunt"]
    text = run.path(1).read_text()
    assert "the repaired file of mini-gpt" in text
    assert text.rstrip().endswith("right") == is_repaired
    assert ("class MiniGPT" in text) != is_repaired
    assert "is the repaired file: continue with it" in learner.opening(1)
    assert (learner.pages[1].purpose, learner.pages[1].hunted) == ("interview", ())
    assert learner.pages[1].untouched == text


def test_bugs_that_are_left_are_recorded(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number comes from the last report of the session."""
    run = debugging_round(tmp_path, home)
    mistake = read_mistakes(CHALLENGES["mini-gpt"])[0]
    result = ended("quit", "wrong")
    assert result.last is not None
    report = replace(result.last, repair=Repair(2, (mistake,), (), None))
    Learner(monkeypatch, run, replace(result, last=report)).solve()
    last = run.state.stages[0].result
    assert last is not None
    assert last.bugs_left == 1


def test_untouched_file_of_a_debugging_round_is_not_handed_in(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note says so, and hints of an earlier practice do not count."""
    run = debugging_round(tmp_path, home)
    run.journal.add(Hinted("mini-gpt", 1.0, level=3))
    run.journal.add(Revealed("mini-gpt", 1.0))
    learner = Learner(monkeypatch, run, ended("next"), ended())
    learner.solve()
    stage = run.state.stages[0]
    assert stage.note == "Nothing was handed in: mini_gpt.py is the unchanged file."
    assert (stage.hints, stage.reference_seen) == (0, False)


def test_missing_bug_is_named(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed round whose pack has changed says which bug is gone."""
    run = debugging_round(tmp_path, home)
    stages = (replace(run.plan.stages[0], bugs=("gone",)),)
    run = replace(run, plan=replace(run.plan, stages=stages))
    with pytest.raises(DrillError, match="no longer has the bugs gone"):
        Learner(monkeypatch, run).solve()
