"""Tests of the questions about a learner's progress."""

from pathlib import Path

from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Fact,
    Hinted,
    Hunted,
    Overruled,
    Replaced,
    Resumed,
    Revealed,
    Reviewed,
    StageBegan,
    StageHinted,
    Started,
)
from attn_drill.practice.progress import (
    ChallengeProgress,
    SinceStart,
    counted_attempts,
    last_started,
    path_of,
    progress_of,
    rated_reviews,
    since_start,
)
from tests.support.journal import attempt

START = Started("gqa", 10.0, path="/a/gqa.py")


def test_state_is_new_started_or_passed() -> None:
    """A later failure or start does not undo a pass. A hint alone is no start."""
    facts: list[Fact] = []
    states = []
    for fact in (
        Hinted("gqa", 1.0, level=1),
        START,
        attempt("failed", 11.0),
        attempt("passed", 12.0),
        attempt("failed", 13.0),
        Started("gqa", 14.0, path="/b/gqa.py"),
    ):
        facts.append(fact)
        states.append(progress_of(facts)["gqa"].state)
    assert states == ["new", "started", "started", "passed", "passed", "passed"]
    assert progress_of(facts) == {"gqa": ChallengeProgress("passed", 3, 1)}
    assert progress_of([]) == {}


def test_hunt_does_not_count_as_an_attempt() -> None:
    """It changes no state, no count, and nothing since the start."""
    hunt = attempt("passed", 2.0, purpose="hunt")
    hint = Hinted("gqa", 3.0, level=1)
    assert progress_of([hunt]) == {}
    assert since_start([hunt]) == SinceStart()
    assert counted_attempts([hunt]) == [hunt]
    facts = [hunt, hint, attempt("failed", 4.0, purpose="interview")]
    assert progress_of(facts[:2]) == {"gqa": ChallengeProgress("new", 0, 1)}
    assert progress_of(facts) == {"gqa": ChallengeProgress("started", 1, 1)}


def test_replaced_attempt_does_not_count() -> None:
    """Its time counts, but no count, state or grade includes it."""
    first, second = (attempt("failed", at, seconds=50 * at) for at in (12.0, 13.0))
    facts = [START, first, Replaced("gqa", 12.5, attempt=first.id), second]
    since = since_start(facts)
    assert (since.attempts, since.failed, since.seconds) == (1, 1, 650.0)
    assert since_start(facts[:3]).seconds == 600.0
    assert progress_of(facts) == {"gqa": ChallengeProgress("started", 1, 0)}
    assert counted_attempts(facts) == [second]


def test_path_and_help_belong_to_the_last_start() -> None:
    """Hints and solutions count from the last start on."""
    facts = [START, Hinted("gqa", 12.0, level=2), Hinted("gqa", 12.5, level=1)]
    facts += [Revealed("gqa", 12.6)]
    since = since_start(facts)
    assert (since.hint, since.solution) == (2, True)
    facts += [Started("gqa", 13.0, path="/b/gqa.py", level="guided")]
    assert path_of(facts) == Path("/b/gqa.py")
    since = since_start(facts)
    assert (since.hint, since.solution) == (0, False)
    assert path_of([]) is None


def test_practice_and_interviews_are_told_apart() -> None:
    """An interview has its own clock, attempts and hints, and no file for practice."""
    facts: list[Fact] = [START, Hinted("gqa", 11.0, level=2), attempt("failed", 12.0, seconds=50.0)]
    practice = since_start(facts)
    facts += [
        StageBegan("gqa", 20.0, interview="i"),
        StageHinted("gqa", 21.0, interview="i", seconds=1.0, level=1),
        attempt("failed", 22.0, seconds=90.0, purpose="interview"),
    ]
    assert since_start(facts) == practice
    assert path_of(facts) == Path("/a/gqa.py")
    assert since_start(facts, in_interview=True) == SinceStart(20.0, 22.0, 90.0, 1, 1, False, 1)
    facts += [Hinted("gqa", 23.0, level=3), Revealed("gqa", 24.0)]
    since = since_start(facts, in_interview=True)
    assert (since.hint, since.solution) == (3, True), "from another window"
    facts += [attempt("passed", 25.0, purpose="interview")]
    assert since_start(facts).passed, "a pass in an interview is a pass"


def test_resumption_makes_a_challenge_the_last_and_keeps_its_start() -> None:
    """Neither an attempt nor a hunt is a start."""
    facts: list[Fact] = [attempt("passed", 9.0), Hunted("mqa", 9.5, mistakes=("a",), path="/x")]
    assert last_started(facts) is None
    facts += [START, Hinted("gqa", 11.0, level=2), Started("mha", 12.0, path="/a/mha.py")]
    assert last_started(facts) == "mha"
    about_gqa = [fact for fact in facts if fact.subject == "gqa"]
    resumed = Resumed("gqa", 13.0)
    assert last_started([*facts, resumed]) == "gqa"
    assert since_start([*about_gqa, resumed]) == since_start(about_gqa)


def test_attempts_count_since_the_last_start() -> None:
    """Without a start, all attempts count."""
    before = attempt("passed", 5.0)
    assert since_start([before]).started_at is None
    assert since_start([before]).passed
    assert not since_start([before, START]).passed
    verdicts = ("failed", "error", "timeout", "passed", "failed")
    later = [attempt(verdict, 20.0 + number) for number, verdict in enumerate(verdicts)]
    since = since_start([before, START, *later])
    assert (since.started_at, since.last_at) == (10.0, 24.0)
    assert (since.attempts, since.failed, since.passed) == (5, 4, True)


def test_seconds_leave_out_pauses() -> None:
    """Time is counted from entry to entry, and hints are entries too.

    Of a long gap, 15 minutes count. The seconds of an attempt replace the count.
    """
    facts: list[Fact] = [Started("gqa", 1000.0, path="/a/gqa.py")]
    assert since_start(facts).seconds_at(1060.0) == 60.0
    facts += [Hinted("gqa", 1600.0, level=1), attempt("failed", 2200.0)]
    assert since_start(facts).seconds == 1200.0, "two gaps of ten minutes, with a hint between"
    assert since_start(facts).seconds_at(2200.0 + 86_400) == 1200.0 + 900
    facts += [attempt("failed", 90_000.0, seconds=1500.0)]
    assert since_start(facts).seconds_at(90_030.0) == 1530.0
    assert since_start([]).seconds_at(5.0) == 0.0, "no start, no time"


def test_clock_that_goes_backwards_takes_no_time_away() -> None:
    """The next entry has an earlier time."""
    facts = [Started("gqa", 100.0, path="/a/gqa.py"), attempt("failed", 110.0)]
    assert since_start(facts).seconds_at(40.0) == 10.0


def test_attempt_has_the_mistakes_of_its_diagnosis() -> None:
    """An attempt without a diagnosis has none."""
    first, second = attempt("failed", 1.0), attempt("failed", 2.0)
    diagnosis = Diagnosed("gqa", 3.0, attempt=second.id, mistakes=("a", "b"), line=12)
    found = counted_attempts([first, second, diagnosis])
    assert [(type(entry), entry.mistakes) for entry in found] == [
        (Attempted, ()),
        (Attempted, ("a", "b")),
    ]


def test_last_overrule_of_a_review_counts() -> None:
    """Reviews can be selected by the beginnings of their items."""
    question = Reviewed("question:sqrt", 1.0, rating=1, reason="wrong")
    challenge = Reviewed("challenge:gqa", 2.0, rating=3, reason="20 of 20 min")
    overrules = [
        Overruled("challenge:gqa", at, review=challenge.id, rating=rating)
        for at, rating in ((3.0, 4), (4.0, 2))
    ]
    facts: list[Fact] = [question, challenge, *overrules]
    assert [(review.id, review.rating) for review in rated_reviews(facts)] == [
        (question.id, 1),
        (challenge.id, 2),
    ]
    assert [review.reason for review in rated_reviews(facts, "challenge:")] == ["20 of 20 min"]
    assert len(rated_reviews(facts, "challenge:", "question:")) == 2
    assert rated_reviews(facts, "line:") == []
