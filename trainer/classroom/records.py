"""The values of a class's grading: submissions, assignments and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.challenge import Mistake
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.report import Outcome, Report

# The part of a report that a student sees: everything, the verdict and the checks, or only the
# verdict.
Shown = Literal["report", "checks", "verdict"]

# Checks that only show that a file can be graded bring no points, nor does the absence of forbidden
# code. A student who hands in the stub unchanged gets 0 points.
WEIGHTS: Mapping[str, float] = {
    check: 0.0 if check in ("loads", "interface", "parameters", "from scratch") else 1.0
    for check in CHECK_ORDER
}


@dataclass(frozen=True)
class StudentSubmission:
    """One file that a student handed in, or the reason why there is none.

    Attributes:
        student: the name from the folder, the file or the archive. Unique within a class and
            challenge.
        challenge: the id of the challenge.
        file: the path that messages show, relative to the folder or inside the archive.
        source: the text, or None if it cannot be read.
        trouble: the reason why there is no source, in one sentence, or "".
        modified: seconds since the epoch, or None if unknown.
        unsettled: the paths of all files that have this student's name, if there are several and
            a person must choose one of them. There is no source then.
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

    Attributes:
        challenge: the id of the challenge.
        weights: the relative points of each check. Checks that are not due do not count.
        worth: the relative weight of this challenge among the challenges of the assignment.
    """

    challenge: str
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    worth: float = 1.0


@dataclass(frozen=True)
class Assignment:
    """The challenges that a class must solve, and the settings for their grading.

    Attributes:
        title: the title of the assignment.
        challenges: the challenges, in order.
        seconds: the CPU seconds for each submission.
        memory_mib: the memory beyond torch's own, in MiB.
        due: the due time in seconds since the epoch, or None.
        shown: the part of a report that students see.
        why: True if students see the likely mistake.
    """

    title: str
    challenges: tuple[AssignedChallenge, ...]
    seconds: float = 10.0
    memory_mib: int = 2048
    due: float | None = None
    shown: Shown = "report"
    why: bool = True


@dataclass(frozen=True)
class Excerpt:
    """A few lines of a submission.

    Attributes:
        first: the line number of the first line, from 1.
        marked: the line number of the line that the report is about.
        lines: the text of the lines.
    """

    first: int
    marked: int
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StudentResult:
    """One file of `results/`: the report on a submission, and the data that the class needs.

    Attributes:
        student: the name of the student.
        challenge: the id of the challenge.
        file: the path of the submission that messages show.
        report: the report, or None if the grader failed. The submission is not to blame then.
        error: the reason why there is no report, or None.
        score: 0 to 100, or None without a report.
        late: True if the submission came after the due time.
        text: the report as plain text in 80 columns, without the likely mistake and without
            commands.
        excerpt: the lines around the line that the report is about, or None.
        task: the digest of everything that decides the result. `--resume` compares it.
        unsettled: the files that have this student's name, if a person must choose one of them.
            There is no report then, and `error` gives the next step.
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
        """The verdict, or None without a report."""
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
        """The duration of the grading in seconds."""
        return 0.0 if self.report is None else self.report.elapsed_seconds

    def statuses(self) -> dict[str, Status]:
        """Return the status of each due check over all cases, in the order of the checks."""
        return {} if self.report is None else self.report.statuses()
