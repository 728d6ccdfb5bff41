"""Write the page that one student gets back, with the template `feedback.html.jinja`.

All texts about a submission come from `student_view`, which leaves out everything that could reveal
a hidden case. The page names no command, because students have no command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    StudentGrade,
    StudentResult,
)
from trainer.export.grade_words import (
    PointsRow,
    lateness_rows,
    override_words,
    points_rows,
    weight_rows,
    weights_in_words,
)
from trainer.export.student_view import StudentChallenge, student_view
from trainer.report.class_words import VERDICTS, points
from trainer.report.coloured import coloured
from trainer.report.pages import page

_UNITS = 100
_NOT_HANDED_IN = (
    "There is no submission for this challenge. If you handed in a file, tell your teacher."
)


@dataclass(frozen=True)
class FeedbackPart:
    """The feedback on one challenge.

    Attributes:
        challenge: the id of the challenge.
        share: the share of the total that the challenge counts, 0 to 1.
        verdict: a symbol and a word.
        kind: the class of the verdict: "right", "wrong" or "quiet".
        says: the text for the student.
        next_step: a sentence, or "".
        grade: the grade, or None without a submission.
        details: labels and words about the times, the penalty and an override.
        rows: the table of points. Empty if the student sees only the verdict.
        weights: a sentence about the weights, or "".
        reasons: the other failed checks, each with its reason.
        report: the report as text, or "".
    """

    challenge: str
    share: float
    verdict: tuple[str, str]
    kind: str
    says: str
    next_step: str = ""
    grade: ChallengeGrade | None = None
    details: tuple[tuple[str, str], ...] = ()
    rows: tuple[PointsRow, ...] = ()
    weights: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    report: str = ""


def feedback_html(
    grade: StudentGrade, results: Sequence[StudentResult], assignment: Assignment
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        grade: the grade of the student.
        results: the results of the student.
        assignment: the assignment, with the part of a report that students see.
    """
    view = student_view(results, assignment, _UNITS, grade)
    by_challenge = {result.challenge: result for result in results}
    whole = sum(assigned.worth for assigned in assignment.challenges)
    parts = [
        _part(
            assigned,
            assigned.worth / whole,
            shown,
            by_challenge.get(assigned.challenge),
            grade.challenges.get(assigned.challenge),
        )
        for assigned, shown in zip(assignment.challenges, view.challenges, strict=True)
    ]
    return page(
        "feedback",
        title=assignment.title.strip() or "Feedback",
        student=grade.student.name,
        grade=grade,
        parts=parts,
        decided=None if grade.override is None else override_words(grade.override),
        points=points,
        coloured=coloured,
    )


def _part(
    assigned: AssignedChallenge,
    share: float,
    shown: StudentChallenge,
    result: StudentResult | None,
    grade: ChallengeGrade | None,
) -> FeedbackPart:
    details = () if grade is None else _details(grade)
    if result is None:
        words = ("–", "no submission")
        return FeedbackPart(
            assigned.challenge, share, words, "quiet", _NOT_HANDED_IN, "", grade, details
        )
    rows = points_rows(result, assigned) if shown.table else ()
    weights = weights_in_words(weight_rows(assigned, result.statuses())) if rows else ""
    return FeedbackPart(
        challenge=assigned.challenge,
        share=share,
        verdict=VERDICTS[result.verdict],
        kind={"passed": "right", None: "quiet"}.get(result.verdict, "wrong"),
        says=shown.says,
        next_step=shown.next_step,
        grade=grade,
        details=details,
        rows=rows,
        weights=weights,
        reasons=() if shown.report else _reasons(shown, rows),
        report=shown.report,
    )


def _details(grade: ChallengeGrade) -> tuple[tuple[str, str], ...]:
    decided = () if grade.override is None else (("override", override_words(grade.override)),)
    return (*lateness_rows(grade.lateness), *decided)


def _reasons(shown: StudentChallenge, rows: Sequence[PointsRow]) -> tuple[tuple[str, str], ...]:
    """Return the failed checks that the table of points lacks, with the reasons that are shown."""
    in_table = {row.check for row in rows}
    return tuple(
        (check.name, check.says)
        for check in shown.checks
        if check.status == "failed" and check.name not in in_table and check.name != "verdict"
    )
