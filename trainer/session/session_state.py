"""The state and the rules of a practice session, without a screen.

The state counts attempts and hints, writes them to the journal, and knows the grade of a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from trainer.app.start_challenge import handed_out_level
from trainer.model.report import Report
from trainer.packs.stub_levels import Level
from trainer.practice.facts import Hinted, Overruled, Replaced, Started
from trainer.practice.journal import Journal
from trainer.practice.progress import since_start
from trainer.practice.record_attempt import record_diagnosis, write_attempt
from trainer.practice.schedule import RATINGS, item_of
from trainer.session.model import Ending, SessionRequest, SessionResult

Clock = Callable[[], float]

# A failed attempt counts if the learner saves no other text within this time after the verdict.
SETTLE_SECONDS = 5.0
_PAUSE_SECONDS = 3600.0


@dataclass
class SessionState:
    """The state of one session.

    Attributes:
        request: the request of the session.
        journal: the learner's journal.
        wall: returns the seconds since the epoch.
        clock: returns seconds that only go forwards.
        last: the report with the last verdict.
        last_source: the text that `last` is about.
        unfinished: the report on the current text if this text is not finished, else None.
        attempts: how many attempts count.
        passed: the learner's file passed.
        grade_text: the grade of the pass in words, or "".
        begun: the clock runs. In an interview it starts after the opening page.
    """

    request: SessionRequest
    journal: Journal
    wall: Clock
    clock: Clock
    last: Report | None = None
    last_source: str | None = None
    unfinished: Report | None = None
    attempts: int = 0
    passed: bool = False
    grade_text: str = ""
    begun: bool = field(init=False)
    _hint_level: int = field(init=False)
    _began: float = field(init=False)
    _worked: float = 0.0
    _passed_after: float | None = None  # the clock stops here, in seconds
    _review_id: str | None = None
    _attempt_id: str | None = None
    _verdict_at: float | None = None  # of the attempt that the next save may take back

    def __post_init__(self) -> None:
        self._began = self.clock()
        self.begun = self.request.sitting is None
        facts = self.journal.facts(subject=self.request.challenge.id)
        self._hint_level = since_start(facts, in_interview=not self.begun).hint

    @property
    def level(self) -> Level:
        """The level of the stub that was handed out."""
        if self.request.sitting is not None:
            return "standard"
        return handed_out_level(self.request.challenge, self.journal) or "standard"

    def begin(self) -> None:
        """Start the clock after the opening page."""
        self.begun = True
        self._began = self.clock()

    def restart(self) -> None:
        """Reset the clock, the hints and the verdict for a fresh stub.

        The count of attempts stays. The clock of an interview continues,
        because it is for the whole interview.
        """
        request = self.request
        if request.sitting is None:
            self.journal.add(
                Started(request.challenge.id, self.wall(), path=str(request.path), level=self.level)
            )
        self.last, self.last_source, self.unfinished = None, None, None
        self.passed, self.grade_text, self._review_id, self._verdict_at = False, "", None, None
        self._hint_level = 0
        if request.sitting is None:
            self.request = replace(request, seconds_before=0.0)
            self._began, self._worked, self._passed_after = self.clock(), 0.0, None

    @property
    def seconds(self) -> float:
        """The seconds spent on the challenge, with those before this session.

        A time of more than an hour without a save or a key counts as one hour. The clock stops at
        a pass, except in an interview.
        """
        return self._seconds_at(self.clock())

    @property
    def seconds_left(self) -> float:
        """The time left of the whole interview; 0 outside an interview."""
        sitting = self.request.sitting
        return (
            0.0
            if sitting is None
            else sitting.seconds_left - (self.seconds - self.request.seconds_before)
        )

    def _seconds_at(self, now: float) -> float:
        if not self.begun:
            return self.request.seconds_before
        if self._passed_after is not None:
            return self._passed_after
        return self.request.seconds_before + self._worked + min(now - self._began, _PAUSE_SECONDS)

    def touch(self) -> None:
        """Note that the learner is active: there was a save or a key."""
        if not self.begun:
            return
        now = self.clock()
        self._worked += min(now - self._began, _PAUSE_SECONDS)
        self._began = now

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints that were taken."""
        return self.request.challenge.hints[: self._hint_level]

    @property
    def has_hint(self) -> bool:
        """True if there is another hint."""
        return self._hint_level < len(self.request.challenge.hints)

    def take_hint(self) -> str:
        """Return the next hint and record it."""
        self._hint_level += 1
        if self.request.sitting is not None:
            self.request.sitting.recorder.hinted(self._hint_level, self.seconds)
        else:
            self.journal.add(Hinted(self.request.challenge.id, self.wall(), level=self._hint_level))
        return self.request.challenge.hints[self._hint_level - 1]

    def note_save(self, source: str) -> None:
        """Take back the attempt on the text before this one, if its verdict has only just come.

        An editor with autosave saves while its user types, and that text was not an answer. A pass
        and a verdict that the learner requested are never taken back.
        """
        if source == self.last_source or self._verdict_at is None:
            return
        if self._attempt_id is not None and self.clock() - self._verdict_at < SETTLE_SECONDS:
            self.journal.add(
                Replaced(self.request.challenge.id, self.wall(), attempt=self._attempt_id)
            )
            self.attempts -= 1
            if self.request.sitting is not None:
                self.request.sitting.recorder.replaced()
        self._verdict_at = None

    def take_verdict(self, report: Report, source: str, *, is_requested: bool = False) -> None:
        """Write an attempt with its verdict to the journal. `take_diagnosis` may follow.

        A file that is not finished is not an attempt: its report is only kept in `unfinished`.

        Args:
            report: the report with the verdict.
            source: the text that was graded.
            is_requested: the learner pressed a key for this verdict. Otherwise the file was saved.
        """
        if report.unfinished:
            self.unfinished = report
            return
        now = self.clock()
        self.attempts += 1
        self.last, self.last_source, self.unfinished = report, source, None
        self._verdict_at = None if is_requested or report.verdict == "passed" else now
        seconds = self._seconds_at(now)
        recorded = write_attempt(
            self.journal,
            self.request.challenge,
            report,
            source,
            self.wall(),
            seconds,
            self.request.purpose,
        )
        self._attempt_id = recorded.attempt
        if self.request.sitting is not None:
            self.request.sitting.recorder.attempted(report, source, seconds)
        self.passed = self.passed or report.verdict == "passed"
        if self.passed and self._passed_after is None and self.request.sitting is None:
            self._passed_after = seconds  # the clock of an interview is for the whole interview
        if recorded.review is not None:
            self._review_id, self.grade_text = recorded.review, recorded.graded

    def take_diagnosis(self, report: Report) -> None:
        """Record the diagnosis of the last verdict. `report` is the last report, now complete."""
        if report.unfinished:
            self.unfinished = report
            return
        self.last = report
        record_diagnosis(self.journal, self._attempt_id, report, self.wall())
        sitting, repair = self.request.sitting, report.repair
        if sitting is not None and repair is not None and repair.left is not None:
            sitting.recorder.repaired(len(repair.left))

    def note_revealed(self) -> None:
        """Record that the likely mistake was shown."""
        if self.request.sitting is not None:
            self.request.sitting.recorder.revealed(self.seconds)

    @property
    def can_overrule(self) -> bool:
        """True if there is a grade that the learner may change."""
        return self._review_id is not None

    def overrule(self, rating: int) -> None:
        """Replace the grade of the pass by the learner's own: 1 again, 2 hard, 3 good, 4 easy."""
        if self._review_id is not None:
            item = item_of(self.request.challenge.id)
            self.journal.add(Overruled(item, self.wall(), review=self._review_id, rating=rating))
            self.grade_text = f"graded {RATINGS[rating - 1]}, as you say"

    def result(self, ending: Ending) -> SessionResult:
        """Return the result of the session, which is over."""
        if self.request.sitting is not None:
            self.request.sitting.recorder.left(self.seconds)
        return SessionResult(ending, self.passed, self.seconds, self.attempts)
