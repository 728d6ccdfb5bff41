"""What a session knows and decides, without a screen: attempts and their journal entries, hints, the grade of a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from trainer.content.levels import LEVELS, Level
from trainer.core.report import Report
from trainer.practice.journal import Journal
from trainer.practice.record import record, record_diagnosis
from trainer.practice.schedule import RATINGS
from trainer.session.stay import Left, Stay

Clock = Callable[[], float]
_PAUSE_SECONDS = 3600.0


@dataclass
class Practice:
    """One stay. `wall` is the time of day, in seconds since the epoch, `clock` one that only goes forwards."""

    given: Stay
    journal: Journal
    wall: Clock
    clock: Clock
    last: Report | None = None
    attempts: int = 0
    whys: int = 0
    passed: bool = False
    graded: str = ""
    _hint: int = field(init=False)
    _began: float = field(init=False)
    _worked: float = 0.0
    _review: str | None = None
    _attempt: str = ""

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._hint = self.journal.since_start(self.given.challenge.id).hint

    @property
    def level(self) -> Level:
        """The level of the stub that was handed out."""
        found = self.journal.level_of(self.given.challenge.id)
        return next((level for level in LEVELS if level == found), "standard")

    def restart(self) -> None:
        """A fresh stub was handed out: clock, hints and verdict begin anew; attempts and whys stay counted."""
        self.journal.record_start(self.given.challenge.id, self.given.path, self.wall(), self.level)
        self.given = replace(self.given, seconds_before=0.0)
        self.last, self.passed, self.graded, self._review = None, False, "", None
        self._hint, self._began, self._worked = 0, self.clock(), 0.0

    @property
    def seconds(self) -> float:
        """Spent on this challenge, with the time before this stay; of an hour and more without a save or a key, an hour."""
        return self.given.seconds_before + self._worked + min(self.clock() - self._began, _PAUSE_SECONDS)

    def touch(self) -> None:
        """The learner is here: a save, a key."""
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

    def attempted(self, report: Report, source: str) -> None:
        """A verdict is there; it is in the journal when this returns. Where and why may follow (`diagnosed`)."""
        self.attempts += 1
        self.last = report
        kept = record(self.journal, self.given.challenge, report, source, self.wall(), self.seconds, self.given.purpose)
        self._attempt = kept.attempt
        self.passed = self.passed or report.verdict == "passed"
        if kept.review is not None:
            self._review, self.graded = kept.review, kept.graded

    def diagnosed(self, report: Report) -> None:
        """The same report, now with where and why."""
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

    def left(self, how: Literal["quit", "next", "interrupted"]) -> Left:
        """What came of the stay."""
        return Left(how, self.passed, self.seconds, self.attempts, self._hint, self.whys, self.last)
