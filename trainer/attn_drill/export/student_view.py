"""Select what a student sees of a submission, on the page of feedback and on Gradescope.

Students always see the verdict, the points, and why a file does not load. At the level "checks"
they also see each check, and at the level "report" everything: messages, the printed text, the
seed, the time and the likely mistake. A message may have the inputs of a hidden case, because a
submission writes the text of its exceptions. No text here names an option or a command, because
students have no command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    StudentGrade,
    StudentResult,
)
from attn_drill.export.grade_words import PointsRow, challenge_shares, details, points_rows
from attn_drill.model.checks import Verdict
from attn_drill.report.class_words import VERDICTS, checks_passed, messages
from attn_drill.report.visible import visible

FAILED = "This could not be graded, which is not your fault. Tell your teacher."
UNGRADED = (
    "This is not graded yet: the file cannot be used as it is, or several files have your name. Ask"
    " your teacher which file to hand in."
)
NOT_HANDED_IN = (
    "There is no submission for this challenge. If you handed in a file, tell your teacher."
)
_NOT_LOADED = (
    "Nothing else could be checked. Correct the file so that it loads with torch and Python's own"
    " modules only, then ask your teacher whether you may hand it in again."
)


@dataclass(frozen=True)
class ChallengeView:
    """A student's view of one challenge. Everything that the student must not see is empty."""

    challenge: str
    share: float  # of the total, 0 to 1
    says: str = ""  # the text for the student
    verdict: Verdict | None = None  # None if the challenge was not graded
    grade: ChallengeGrade | None = None  # None without a submission
    rows: tuple[PointsRow, ...] = ()  # all checks with their points
    reasons: Mapping[str, str] = field(default_factory=dict)  # why a check failed or brings nothing
    report: str = ""
    details: tuple[tuple[str, str], ...] = ()  # labels and words about times and decisions

    @property
    def symbol_and_word(self) -> tuple[str, str]:
        return ("–", "no submission") if self.grade is None else VERDICTS[self.verdict]


def student_view(grade: StudentGrade, assignment: Assignment) -> tuple[ChallengeView, ...]:
    """Return a student's view of all challenges of the assignment."""
    return tuple(
        _view(assigned, grade.challenges.get(assigned.challenge), assignment)
        for assigned in assignment.challenges
    )


def _view(
    assigned: AssignedChallenge, grade: ChallengeGrade | None, assignment: Assignment
) -> ChallengeView:
    view = ChallengeView(
        assigned.challenge,
        challenge_shares(assignment)[assigned.challenge],
        grade=grade,
        details=() if grade is None else details(grade),
    )
    result = None if grade is None else grade.result
    if result is None:
        return replace(view, says=NOT_HANDED_IN)
    if result.verdict is None:
        return replace(view, says=UNGRADED if result.is_ungraded else FAILED)
    rows = () if assignment.shown == "verdict" else points_rows(result, assigned)
    return replace(
        view,
        says=_says(result, assignment),
        verdict=result.verdict,
        rows=rows,
        reasons={row.check: _reason(row, result, assignment) for row in rows},
        report=visible(result.text, lines=True) if assignment.shown == "report" else "",
    )


def _says(result: StudentResult, assignment: Assignment) -> str:
    """Return the verdict in words, with the counts and the likely mistake if students see them."""
    words = VERDICTS[result.verdict][1] + (", late" if result.late else "")
    if assignment.shown == "verdict":
        reason = messages(result, "loads")
        words = f"{words}: {reason}" if reason else words
    else:
        passed, due = checks_passed(result)
        words += f", {passed} of {due} checks passed"
    if assignment.shown == "report" and assignment.why:
        words += "".join(f"\nLikely: {mistake.says}" for mistake in result.mistakes)
    return f"{words}\n{_NOT_LOADED}" if result.statuses().get("loads") == "failed" else words


def _reason(row: PointsRow, result: StudentResult, assignment: Assignment) -> str:
    """Return why a check failed, did not run or brings no points, or ""."""
    if row.status == "failed":
        is_shown = assignment.shown == "report" or row.check == "loads"
        return messages(result, row.check) if is_shown else ""
    return "" if row.status == "passed" and row.points == row.most else row.words
