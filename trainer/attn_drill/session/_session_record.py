"""Write a session to the journal, with the time at work on the challenge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn_drill.app.start_challenge import handed_out_level
from attn_drill.exercises.interview import values_of_attempt
from attn_drill.model.report import Report
from attn_drill.packs.stub_levels import Level
from attn_drill.practice import facts
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import since_start
from attn_drill.practice.record_attempt import record_diagnosis, write_attempt
from attn_drill.practice.schedule import RATINGS, item_of
from attn_drill.session.model import Ending, SessionRequest, SessionResult

Clock = Callable[[], float]

_PAUSE_SECONDS = 3600.0


class Stopwatch:
    """Counts the seconds at work. A pause of more than an hour counts as one hour."""

    def __init__(
        self, clock: Clock, seconds_before: float = 0.0, *, is_running: bool = True
    ) -> None:
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


# A failed attempt counts if the learner saves no other text within this time after the verdict.
SETTLE_SECONDS = 5.0


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
        self.stopwatch = Stopwatch(
            clock, request.seconds_before, is_running=request.sitting is None
        )
        self.attempts = 0
        self.passed = False
        self.grade_text = ""
        before = journal.facts(subject=self._challenge.id)
        self._hint_level = since_start(before, in_interview=self._is_interview).hint
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
            hinted = facts.Hinted(self._challenge.id, self._wall(), level=self._hint_level)
            self._journal.add(hinted)

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
            self._journal.add(
                facts.Replaced(self._challenge.id, self._wall(), attempt=self._attempt_id)
            )
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
            item = item_of(self._challenge.id)
            self._journal.add(
                facts.Overruled(item, self._wall(), review=self._review_id, rating=rating)
            )
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
            path = str(self._request.path)
            self._journal.add(
                facts.Started(self._challenge.id, self._wall(), path=path, level=level)
            )
            self.stopwatch = Stopwatch(self._clock)

    def result(self, ending: Ending) -> SessionResult:
        self._tell_interview(facts.StageLeft)
        seconds = self.stopwatch.seconds
        return SessionResult(ending, self.passed, seconds, self.attempts, self._graded)

    @property
    def _is_interview(self) -> bool:
        return self._request.sitting is not None

    def _tell_interview(self, kind: type[facts.StageEvent], **values: Any) -> None:
        """Record an event of the interview. Do nothing outside an interview."""
        if self._request.sitting is not None:
            self._request.sitting.record(kind, seconds=self.stopwatch.seconds, **values)
