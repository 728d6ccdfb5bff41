"""Write a session to the journal, with the time at work on the challenge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from attn_drill.app.answer import handed_out_level
from attn_drill.app.grade_file import record_diagnosis, write_attempt
from attn_drill.exercises.interview import values_of_attempt
from attn_drill.model.challenge import Challenge
from attn_drill.model.report import Report
from attn_drill.packs.pack_reader import built_in_pack
from attn_drill.packs.stub_levels import Level
from attn_drill.practice import facts
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import since_start
from attn_drill.practice.schedule import RATINGS, item_of
from attn_drill.report.wording import Stage

Ending = Literal["quit", "next", "interrupted"]
Clock = Callable[[], float]

_PAUSE_SECONDS = 3600.0
# A failed attempt counts if the learner saves no other text within this time after the verdict.
SETTLE_SECONDS = 5.0


@dataclass(frozen=True)
class Sitting:
    """The place of a session in a mock interview."""

    stage_number: int  # from 1
    stage_count: int
    # Of the whole interview when the session begins; negative if the time is up.
    seconds_left: float
    opening: str  # the text of the opening page
    # Records an event of this problem, from its type and its values.
    record: Callable[..., None]


@dataclass(frozen=True)
class SessionRequest:
    """A challenge to practise in a session, and the rules of the session."""

    challenge: Challenge
    path: Path  # absolute
    prompt: str  # Markdown
    seconds_before: float
    # The limit next to the clock: the par time, or the time that an interview leaves.
    par_seconds: float
    # How much of the diagnosis a report shows at once. The key w shows more.
    stage: Stage = "cause"
    purpose: facts.Purpose = "practice"
    # The folders of all known packs. A submission sees none of them.
    packs: tuple[Path, ...] = field(default_factory=lambda: (built_in_pack(),))
    challenges: tuple[Challenge, ...] = ()  # in the order of the packs
    language: str = "en"
    # In an interview the clock starts when the learner closes the opening page.
    sitting: Sitting | None = None
    # The text that was handed out, if it is no stub. It is not graded.
    untouched: str = ""
    # The ids of the mistakes of a bug hunt. A pass shows them.
    hunted: tuple[str, ...] = ()
    # False if nothing is graded before the learner hands in.
    is_graded: bool = True
    # The level that the learner asked for, if the file that is there has another.
    level: Level | None = None


@dataclass(frozen=True)
class SessionResult:
    """The result of a session."""

    ending: Ending  # "interrupted" after Ctrl-C
    passed: bool
    seconds: float
    attempts: int
    graded: str | None = None  # the text with the last verdict


class Stopwatch:
    """Counts the seconds at work. A pause of more than an hour counts as one hour."""

    def __init__(self, clock: Clock, seconds_before: float = 0.0, is_running: bool = True) -> None:
        self._clock, self._seconds = clock, seconds_before
        self._since = clock() if is_running else None  # the last sign of work

    @property
    def seconds(self) -> float:
        if self._since is None:
            return self._seconds
        return self._seconds + min(self._clock() - self._since, _PAUSE_SECONDS)

    def start(self) -> None:
        self._since = self._clock()

    def touch(self) -> None:
        """Note that the learner is at work: there was a save or a key."""
        if self._since is not None:
            self._seconds, self._since = self.seconds, self._clock()

    def stop(self) -> None:
        self._seconds, self._since = self.seconds, None


def clock_text(seconds: float) -> str:
    """Return a time, also a negative one, in minutes or hours.

    >>> clock_text(247), clock_text(3723), clock_text(-5)
    ('4:07', '1:02:03', '0:00')
    """
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class SessionRecord:
    """The attempts, the hints and the grade of one session, and their entries in the journal.

    In an interview, the interview records them too.
    """

    def __init__(
        self, request: SessionRequest, journal: Journal, wall: Clock, clock: Clock
    ) -> None:
        self._request, self._journal = request, journal
        self._wall, self._clock = wall, clock
        self._challenge = request.challenge
        self.stopwatch = Stopwatch(clock, request.seconds_before, not self._is_interview)
        self.attempts = 0
        self.passed = False
        self.grade_text = ""
        earlier = journal.facts(subject=self._challenge.id)
        self._hint_level = since_start(earlier, in_interview=self._is_interview).hint
        self._graded: str | None = None
        self._review_id: str | None = None
        self._attempt_id: str | None = None
        # Of the attempt that the next save may take back.
        self._verdict_at: float | None = None

    @property
    def level(self) -> Level:
        """The level of the stub that was handed out."""
        if self._is_interview:
            return "standard"
        return handed_out_level(self._challenge, self._journal) or "standard"

    @property
    def hints(self) -> tuple[str, ...]:
        return self._challenge.hints[: self._hint_level]

    @property
    def has_hint(self) -> bool:
        return self._hint_level < len(self._challenge.hints)

    def take_hint(self) -> None:
        self._hint_level += 1
        self._tell_interview(facts.StageHinted, level=self._hint_level)
        if not self._is_interview:
            self._add(facts.Hinted, level=self._hint_level)

    def show_mistake(self) -> None:
        self._tell_interview(facts.MistakeShown)

    def take_back(self) -> None:
        """Take back the last attempt if its verdict has only just come.

        An editor with autosave saves while its user types, and that text was not an answer. A pass
        and a verdict that the learner requested are never taken back.
        """
        verdict_at, self._verdict_at = self._verdict_at, None
        if self._attempt_id is None or verdict_at is None:
            return
        if self._clock() - verdict_at < SETTLE_SECONDS:
            self._add(facts.Replaced, attempt=self._attempt_id)
            self.attempts -= 1
            self._tell_interview(facts.StageReplaced)

    def add_attempt(self, report: Report, source: str, *, is_requested: bool) -> None:
        """Record an attempt with its verdict. `add_diagnosis` may follow."""
        is_pass = report.verdict == "passed"
        self.attempts += 1
        self._verdict_at = None if is_requested or is_pass else self._clock()
        recorded = write_attempt(
            self._journal,
            self._challenge,
            report,
            source,
            self._wall(),
            self.stopwatch.seconds,
            self._request.purpose,
        )
        self._attempt_id = recorded.attempt
        self.passed = self.passed or is_pass
        if recorded.review is not None:
            self._review_id, self.grade_text = recorded.review, recorded.graded
        self._graded = source
        self._tell_interview(facts.StageAttempted, **values_of_attempt(report))
        if is_pass and not self._is_interview:
            self.stopwatch.stop()  # the stopwatch of an interview is for the whole interview

    def add_diagnosis(self, report: Report) -> None:
        """Record the diagnosis of the last attempt. `report` is its report, now complete."""
        if report.repair is not None and report.repair.left is not None:
            self._tell_interview(facts.StageRepaired, bugs_left=len(report.repair.left))
        record_diagnosis(self._journal, self._attempt_id, report, self._wall())

    @property
    def can_overrule(self) -> bool:
        return self._review_id is not None

    def overrule(self, rating: int) -> None:
        """Replace the grade of the pass by the own rating, 1 to 4."""
        if self._review_id is not None:
            item, now = item_of(self._challenge.id), self._wall()
            self._journal.add(facts.Overruled(item, now, review=self._review_id, rating=rating))
            self.grade_text = f"graded {RATINGS[rating - 1]}, as you say"

    def restart(self, level: Level) -> None:
        """Record that a fresh stub was handed out.

        The number of attempts stays. In an interview the stopwatch continues.
        """
        self.passed = False
        self.grade_text = ""
        self._review_id = None
        self._verdict_at = None
        self._hint_level = 0
        if not self._is_interview:
            self._add(facts.Started, path=str(self._request.path), level=level)
            self.stopwatch = Stopwatch(self._clock)

    def result(self, ending: Ending) -> SessionResult:
        self._tell_interview(facts.StageLeft)
        seconds = self.stopwatch.seconds
        return SessionResult(ending, self.passed, seconds, self.attempts, self._graded)

    @property
    def _is_interview(self) -> bool:
        return self._request.sitting is not None

    def _add(self, kind: type[facts.Fact], **values: Any) -> None:
        """Add a fact about the challenge to the journal."""
        self._journal.add(kind(self._challenge.id, self._wall(), **values))

    def _tell_interview(self, kind: type[facts.StageEvent], **values: Any) -> None:
        """Record an event of the interview. Do nothing outside an interview."""
        if self._request.sitting is not None:
            self._request.sitting.record(kind, seconds=self.stopwatch.seconds, **values)
