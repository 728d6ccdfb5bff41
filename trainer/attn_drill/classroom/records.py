"""The values of a class's grading: submissions, assignments and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from attn_drill.model.challenge import DEFAULT_LIMITS, Mistake
from attn_drill.model.checks import Status, Verdict
from attn_drill.model.report import Outcome, Report

# The part of a report that a student sees: everything, the verdict and the checks, or only the
# verdict.
Shown = Literal["report", "checks", "verdict"]

# The learning management system that wrote a name or a roster; "" for none.
System = Literal["", "canvas", "moodle", "blackboard", "gradescope"]

# The tables and pages that `class grade` writes.
Format = Literal[
    "csv", "html", "canvas", "moodle", "blackboard", "gradescope", "junit", "feedback", "markers",
    "similar",
]  # fmt: skip


@dataclass(frozen=True)
class Student:
    """A student of the class: the name, and everything that identifies the student elsewhere.

    Attributes:
        name: unique within the class.
        id: the id in the roster, otherwise the id in the file names, or "".
        system: the system that wrote the file names of this student.
        system_id: the id in these names: Canvas' user id, the number of Moodle's participant,
            Blackboard's user name; or "".
        upload: the name of the newest file or folder as the system wrote it, for example
            "leeana_101_555_gqa.py"; "" if the student handed in nothing.
        is_in_roster: None without a roster.
        row: the student's row of the roster, by heading.
        notes: sentences about a clash of names.
    """

    name: str
    id: str = ""
    login: str = ""
    email: str = ""
    system: System = ""
    system_id: str = ""
    upload: str = ""
    is_in_roster: bool | None = None
    row: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudentSubmission:
    """One file that a student handed in for a challenge, or the reason why there is none.

    Attributes:
        source: None in `class.json`, and if there is nothing to grade.
        trouble: the reason why there is nothing to grade, in one sentence, or "".
        submitted: in seconds since the epoch, or None if unknown.
        is_missing: the student handed in other files, but none for this challenge.
        alternatives: the paths of other files that define the answer, too.
        has_late_marks: the system marks every late file in its name, so a file without a mark is in
            time.
    """

    student: str
    challenge: str
    file: str
    source: str | None
    trouble: str = ""
    submitted: float | None = None
    is_marked_late: bool = False
    is_missing: bool = False
    alternatives: tuple[str, ...] = ()
    has_late_marks: bool = False

    @property
    def is_ungraded(self) -> bool:
        """True if a person must settle which text counts: nothing can be graded until then."""
        return self.source is None and not self.is_missing


@dataclass(frozen=True)
class AssignedChallenge:
    """One challenge of an assignment."""

    challenge: str
    # By check. All other checks have the weights of `checks.WEIGHTS`.
    weights: Mapping[str, float] = field(default_factory=dict)
    worth: float = 1.0  # relative to the other challenges


@dataclass(frozen=True)
class Assignment:
    """The challenges that a class must solve, and the settings for their grading.

    The other settings are as in `assignment.AssignmentFile`.

    Attributes:
        due: in seconds since the epoch, or None.
        shown: the part of a report that students see.
        grace: in seconds.
        extensions: the due times of single students, by the words of the file, and by name once the
            class has been read.
        utc_offset: seconds from UTC to the time zone in which times are shown; None for the time
            zone of this machine.
        roster: the path of the file with the students, or "".
        times: the path of the file with the times of the submissions, or "".
    """

    title: str
    challenges: tuple[AssignedChallenge, ...]
    seconds: float = DEFAULT_LIMITS.seconds
    memory_mib: int = DEFAULT_LIMITS.memory_mib
    due: float | None = None
    shown: Shown = "report"
    why: bool = True
    grace: float = 0.0
    penalty: float = 0.0
    extensions: Mapping[str, float] = field(default_factory=dict)
    utc_offset: float | None = None
    ungraded: Literal["empty", "zero"] = "empty"
    one_mistake: float = 0.0
    roster: str = ""
    times: str = ""
    write: tuple[Format, ...] = ()
    seed: int | None = None
    cases: Literal["same", "own"] = "same"

    @property
    def challenge_ids(self) -> list[str]:
        return [assigned.challenge for assigned in self.challenges]


@dataclass(frozen=True)
class Override:
    """Points that a person decided for a challenge, or for the total if `challenge` is ""."""

    student: str
    challenge: str
    points: float
    comment: str = ""
    is_outdated: bool = False  # the student has handed in another text since


@dataclass(frozen=True)
class Lateness:
    """The time of a submission, compared with the due time of its student.

    Attributes:
        is_late: after the due time and the grace period, or if only the file name says so.
        submitted: in seconds since the epoch, or None if unknown.
        due: the due time of this student, with an extension; or None.
        days: the days after the due time that have begun; None if the time is unknown.
        utc_offset: as in the assignment.
    """

    is_late: bool = False
    submitted: float | None = None
    due: float | None = None
    is_extended: bool = False
    days: int | None = 0
    penalty: float = 0.0
    utc_offset: float | None = None


@dataclass(frozen=True, kw_only=True)
class StudentResult:
    """One file of `results/`: the report on a submission, and the data that the class needs.

    Attributes:
        report: None if nothing was graded; `error` gives the reason then.
        id: as in `Student`.
        score: the points from the checks, 0 to 100; None without a report.
        text: the report as plain text in 80 columns, without the likely mistake and without
            commands.
        source: the text that was graded, or "".
        task: the digest of everything that decides the result. `--resume` compares it.
        is_ungraded: a person must settle which file counts, or get a readable file. Otherwise a
            result without a report is a fault of the grader.
    """

    student: str
    challenge: str
    file: str
    report: Report | None = None
    error: str | None = None
    id: str = ""
    score: float | None = None
    late: bool = False
    text: str = ""
    source: str = ""
    task: str = ""
    is_ungraded: bool = False

    @property
    def verdict(self) -> Verdict | None:
        return None if self.report is None else self.report.verdict

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return () if self.report is None else self.report.outcomes

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        diagnosis = None if self.report is None else self.report.diagnosis
        return () if diagnosis is None else diagnosis.mistakes

    @property
    def line(self) -> int | None:
        """The number of the line that the report is about, or None."""
        if self.report is None:
            return None
        if self.report.diagnosis is not None and self.report.diagnosis.first_line is not None:
            return self.report.diagnosis.first_line.line
        failure = self.report.first_failure()
        return failure.frames[-1].line if failure is not None and failure.frames else None

    @property
    def seconds(self) -> float:
        return 0.0 if self.report is None else self.report.elapsed_seconds

    def statuses(self) -> dict[str, Status]:
        """Return the status of each due check over all cases, in the order of the checks."""
        return {} if self.report is None else self.report.statuses()


@dataclass(frozen=True)
class ChallengeGrade:
    """The grade of a student in one challenge.

    Attributes:
        submission: without its text.
        result: None if there is nothing to grade, and a person decided the points.
        points: the points that count, 0 to 100: the override, otherwise the score without the
            penalty; None if neither is known.
    """

    submission: StudentSubmission
    result: StudentResult | None
    lateness: Lateness
    override: Override | None
    points: float | None

    @property
    def score(self) -> float | None:
        """The points from the checks, 0 to 100, or None."""
        return None if self.result is None else self.result.score

    @property
    def has_unknown_time(self) -> bool:
        """True if nobody knows whether the file came after its due time."""
        is_read = self.result is not None and not (self.result.error or self.submission.trouble)
        has_time = self.lateness.submitted is not None or self.lateness.is_late
        is_asked = self.lateness.due is not None and not self.submission.has_late_marks
        return is_read and is_asked and not has_time


@dataclass(frozen=True)
class StudentGrade:
    """The grades of one student: one row of `grades.csv`.

    Attributes:
        challenges: by challenge. Empty if the student handed in nothing.
        override: the total that a person decided, or None.
        total: the points that count, 0 to 100; None if they are not known.
    """

    student: Student
    challenges: Mapping[str, ChallengeGrade]
    override: Override | None
    total: float | None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the submissions, each once."""
        return tuple(dict.fromkeys(grade.submission.file for grade in self.challenges.values()))

    @property
    def results(self) -> list[StudentResult]:
        return [grade.result for grade in self.challenges.values() if grade.result]

    @property
    def overrides(self) -> tuple[Override, ...]:
        """The overrides of the challenges and of the total."""
        decided = [*(grade.override for grade in self.challenges.values()), self.override]
        return tuple(filter(None, decided))


@dataclass(frozen=True)
class Gradebook:
    """The grades of a whole class, in the order of its students.

    Attributes:
        other_files: every file or folder that was not graded and belongs to no row, with the
            reason.
        possible: the points possible of each column of the roster, by heading, if it has them.
    """

    assignment: Assignment
    rows: tuple[StudentGrade, ...]
    other_files: tuple[str, ...] = ()
    has_roster: bool = False
    possible: Mapping[str, str] = field(default_factory=dict)

    @property
    def results(self) -> list[StudentResult]:
        """The results of all students, in the order of the rows."""
        return [result for row in self.rows for result in row.results]
