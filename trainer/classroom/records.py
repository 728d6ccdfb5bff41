"""What the floor speaks of: submissions that came in, results that are kept, what an assignment asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.challenge import Mistake
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.report import Outcome, Report

# What of a report a student is shown: all of it; verdict and checks; the verdict alone.
Shown = Literal["report", "checks", "verdict"]

# What only says that a file can be graded at all brings no points, nor does what is not there: a stub handed in again scores nothing.
WEIGHTS: Mapping[str, float] = {
    check: 0.0 if check in ("loads", "interface", "parameters", "from scratch") else 1.0
    for check in CHECK_ORDER
}


@dataclass(frozen=True)
class StudentSubmission:
    """One file that a student handed in, or the reason why there is none.

    student    as the folder, the file or the archive names them; unique within a class and challenge
    file       its place, for people: relative to the folder or inside the archive
    source     None where it cannot be had; `trouble` says why in one sentence
    modified   seconds since the epoch, where that is known
    unsettled  the places of all files that came under this name, if there are several and a person
               has to say which of them counts; then there is no source
    """

    student: str
    challenge: str
    file: str
    source: str | None
    trouble: str = ""
    modified: float | None = None
    unsettled: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssignedChallenge:
    """One challenge of an assignment.

    weights   points of each check, relative to each other; checks that are not due for a challenge do not count
    worth     what this challenge counts among the assignment's, relative to each other
    """

    challenge: str
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    worth: float = 1.0


@dataclass(frozen=True)
class Assignment:
    """What a class was asked, and how it is graded. `due`: seconds since the epoch. `why`: whether students are told the likely mistake."""

    title: str
    asked: tuple[AssignedChallenge, ...]
    seconds: float = 10.0
    memory_mib: int = 2048
    due: float | None = None
    shown: Shown = "report"
    why: bool = True


@dataclass(frozen=True)
class Excerpt:
    """A few lines of a submission. `first`: the number of the first; `marked`: the line to show."""

    first: int
    marked: int
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StudentResult:
    """One file of `results/`: the report on a submission, and what the class needs with it.

    report    None if there is none: `error` says why. The submission is not to blame then
    score     0 to 100, or None without a report
    text      the report as plain text, 80 columns, without the likely mistake and without commands
    task      digest of all that decides the result; `--resume` compares it
    unsettled the files that came under one name, if a person has to say which of them counts; then
              there is no report, and `error` says what to do
    """

    student: str
    challenge: str
    file: str
    report: Report | None = None
    error: str | None = None
    score: float | None = None
    late: bool = False
    text: str = ""
    excerpt: Excerpt | None = None
    task: str = ""
    unsettled: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None without a report."""
        return None if self.report is None else self.report.verdict

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of all checks."""
        return () if self.report is None else self.report.outcomes

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """The likely mistakes."""
        diagnosis = None if self.report is None else self.report.diagnosis
        return () if diagnosis is None else diagnosis.mistakes

    @property
    def seconds(self) -> float:
        """How long the grading took."""
        return 0.0 if self.report is None else self.report.elapsed_seconds

    def statuses(self) -> dict[str, Status]:
        """Return each check that was due, in order, with its status over all cases."""
        return {} if self.report is None else self.report.statuses()
