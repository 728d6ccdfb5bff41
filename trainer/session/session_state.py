"""What a session knows and decides, without a screen: attempts and their journal entries, hints, the grade of a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from trainer.model.report import Report
from trainer.packs.stub_levels import LEVELS, Level
from trainer.practice.journal import Journal
from trainer.practice.record_attempt import record_diagnosis, write_attempt
from trainer.practice.schedule import RATINGS
from trainer.session.model import SessionRequest, SessionResult

Clock = Callable[[], float]
SETTLE_SECONDS = (
    5.0  # a verdict that did not pass counts if its text is not replaced for so long after it
)
_PAUSE_SECONDS = 3600.0


@dataclass
class SessionState:
    """One stay. `wall` is the time of day, in seconds since the epoch, `clock` one that only goes forwards.

    last          the last verdict, and `last_source` the text that it is on
    unfinished    the report on the text of now where that is no finished answer; else None
    attempts      those that count
    """

    given: SessionRequest
    journal: Journal
    wall: Clock
    clock: Clock
    last: Report | None = None
    last_source: str | None = None
    unfinished: Report | None = None
    attempts: int = 0
    whys: int = 0
    passed: bool = False
    graded: str = ""
    begun: bool = field(init=False)
    _hint: int = field(init=False)
    _began: float = field(init=False)
    _worked: float = 0.0
    _review: str | None = None
    _attempt: str | None = None
    _settles_from: float | None = None  # when the verdict came that a save may still take back

    def __post_init__(self) -> None:
        self._began = self.clock()
        self.begun = self.given.sitting is None
        self._hint = self.journal.since_start(self.given.challenge.id).hint

    @property
    def level(self) -> Level:
        """The level of the stub that was handed out."""
        found = self.journal.level_of(self.given.challenge.id)
        return next((level for level in LEVELS if level == found), "standard")

    def begin(self) -> None:
        """Start the clock: the learner has read the opening page."""
        self.begun = True
        self._began = self.clock()

    def restart(self) -> None:
        """A fresh stub was handed out: clock, hints and verdict begin anew; attempts and whys stay counted.

        The clock of an interview goes on: it is one for all of it.
        """
        self.journal.record_start(self.given.challenge.id, self.given.path, self.wall(), self.level)
        self.last, self.last_source, self.unfinished = None, None, None
        self.passed, self.graded, self._review, self._settles_from = False, "", None, None
        self._hint = 0
        if self.given.purpose != "interview":
            self.given = replace(self.given, seconds_before=0.0)
            self._began, self._worked = self.clock(), 0.0

    @property
    def seconds(self) -> float:
        """Spent on this challenge, with the time before this stay; of an hour and more without a save or a key, an hour."""
        return self._seconds_at(self.clock())

    @property
    def seconds_left(self) -> float:
        """Left of the whole interview; of nothing else there is a limit."""
        sitting = self.given.sitting
        return (
            0.0
            if sitting is None
            else sitting.seconds_left - (self.seconds - self.given.seconds_before)
        )

    def _seconds_at(self, now: float) -> float:
        if not self.begun:
            return self.given.seconds_before
        return self.given.seconds_before + self._worked + min(now - self._began, _PAUSE_SECONDS)

    def touch(self) -> None:
        """The learner is here: a save, a key."""
        if not self.begun:
            return
        now = self.clock()
        self._worked += min(now - self._began, _PAUSE_SECONDS)
        self._began = now

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints that were taken."""
        return self.given.challenge.hints[: self._hint]

    @property
    def has_hint(self) -> bool:
        """Whether there is one more."""
        return self._hint < len(self.given.challenge.hints)

    def hint(self) -> str:
        """Take the next hint."""
        self._hint += 1
        self.journal.record_hint(self.given.challenge.id, self._hint, self.wall())
        return self.given.challenge.hints[self._hint - 1]

    def saved(self, source: str) -> None:
        """Take back the attempt on the text before this one, if its verdict has only just come.

        An editor with autosave saves while its user types: that was no answer to be judged. A pass counts at once,
        and so does a verdict that the learner asked for.
        """
        if source == self.last_source or self._settles_from is None:
            return
        if self._attempt is not None and self.clock() - self._settles_from < SETTLE_SECONDS:
            self.journal.record_replaced(self._attempt, self.wall())
            self.attempts -= 1
        self._settles_from = None

    def attempted(self, report: Report, source: str, *, asked: bool = False) -> None:
        """Take in a verdict; it is in the journal when this returns. Where and why may follow (`diagnosed`).

        A file that is not finished is no attempt: only its state is kept, in `unfinished`.

        Args:
            asked: whether the learner asked for this verdict, rather than saved a file.
        """
        if report.unfinished:
            self.unfinished = report
            return
        now = self.clock()
        self.attempts += 1
        self.last, self.last_source, self.unfinished = report, source, None
        self._settles_from = None if asked or report.verdict == "passed" else now
        seconds = self._seconds_at(now)
        kept = write_attempt(
            self.journal,
            self.given.challenge,
            report,
            source,
            self.wall(),
            seconds,
            self.given.purpose,
        )
        self._attempt = kept.attempt
        self.passed = self.passed or report.verdict == "passed"
        if kept.review is not None:
            self._review, self.graded = kept.review, kept.graded

    def diagnosed(self, report: Report) -> None:
        """The same report, now with where and why."""
        if report.unfinished:
            self.unfinished = report
            return
        self.last = report
        record_diagnosis(self.journal, self._attempt, report)

    @property
    def can_overrule(self) -> bool:
        """Whether there is a grade that the learner may change."""
        return self._review is not None

    def overrule(self, rating: int) -> None:
        """The learner knows better how hard it was: 1 again to 4 easy."""
        if self._review is not None:
            self.journal.overrule(self._review, self.wall(), rating)
            self.graded = f"graded {RATINGS[rating - 1]}, as you say"

    def left(self, how: Literal["quit", "next", "interrupted"]) -> SessionResult:
        """What came of the stay."""
        return SessionResult(
            how,
            self.passed,
            self.seconds,
            self.attempts,
            self._hint,
            self.whys,
            self.last,
            self.last_source,
        )
