"""Select what a student sees of a submission, on the page of feedback and on Gradescope.

Students always see the verdict, the points, and why a file does not load. At the level "checks"
they also see each check, and at the level "report" everything: messages, the printed text, the
seed, the time and the likely mistake. A message may have the inputs of a hidden case, because a
submission writes the text of its exceptions. No text here names an option or a command, because
students have no command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    StudentGrade,
    StudentResult,
)
from trainer.export.grade_words import PointsRow, lateness_rows, override_words, points_rows
from trainer.model.checks import Verdict
from trainer.report.class_words import VERDICTS, checks_passed
from trainer.report.visible import visible

FAILED = "This could not be graded, which is not your fault. Tell your teacher."
UNGRADED = (
    "This is not graded yet: the file cannot be used as it is, or several files have your name. Ask"
    " your teacher which file to hand in."
)
NOT_HANDED_IN = (
    "There is no submission for this challenge. If you handed in a file, tell your teacher."
)
_NOT_READ = "Nothing could be checked. Ask your teacher whether you may hand in the file again."
_MISSING_MODULE = (
    "Nothing else could be checked, because {} does not exist where the file is graded. Use only"
    " torch and Python's own modules, with all code in one file, or ask your teacher."
)
_NOT_LOADED = (
    "Nothing else could be checked. Correct the file, and import it in a new Python process to make"
    " sure that it loads. Then ask your teacher whether you may hand it in again."
)
_SKIPPED = "incomplete: not every case could be judged"
_VOID = "The answer brings no points: it was not written from scratch, as the challenge requires."


@dataclass(frozen=True)
class ChallengeView:
    """A student's view of one challenge.

    Attributes:
        challenge: the id of the challenge.
        share: the share of the total that the challenge counts, 0 to 1.
        says: the text for the student.
        verdict: None if the challenge was not graded.
        grade: None without a submission.
        next_step: a sentence for a file that does not load, or "".
        rows: all checks with their points. Empty if the student sees only the verdict.
        reasons: the reason of each check that failed or brings no points, or "".
        report: the report as text, or "" if the student does not see it.
        details: labels and words about the times, the penalty and an override.
    """

    challenge: str
    share: float
    says: str
    verdict: Verdict | None = None
    grade: ChallengeGrade | None = None
    next_step: str = ""
    rows: tuple[PointsRow, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    report: str = ""
    details: tuple[tuple[str, str], ...] = ()

    @property
    def symbol_and_word(self) -> tuple[str, str]:
        """The verdict as a symbol and a word."""
        return ("–", "no submission") if self.grade is None else VERDICTS[self.verdict]


def student_view(
    grade: StudentGrade, results: Iterable[StudentResult], assignment: Assignment
) -> tuple[ChallengeView, ...]:
    """Return a student's view of all challenges of the assignment."""
    by_challenge = {result.challenge: result for result in results}
    whole = sum(assigned.worth for assigned in assignment.challenges)
    return tuple(
        _of_challenge(
            assigned,
            assigned.worth / whole,
            by_challenge.get(assigned.challenge),
            grade.challenges.get(assigned.challenge),
            assignment,
        )
        for assigned in assignment.challenges
    )


def _of_challenge(
    assigned: AssignedChallenge,
    share: float,
    result: StudentResult | None,
    grade: ChallengeGrade | None,
    assignment: Assignment,
) -> ChallengeView:
    details = () if grade is None else (*lateness_rows(grade.lateness), *_decided(grade))
    if result is None or result.verdict is None:
        says = FAILED if result is None or not result.is_ungraded else UNGRADED
        says = NOT_HANDED_IN if result is None else says
        return ChallengeView(assigned.challenge, share, says, grade=grade, details=details)
    rows = () if assignment.shown == "verdict" else points_rows(result, assigned)
    return ChallengeView(
        challenge=assigned.challenge,
        share=share,
        says=_says(result, assignment),
        verdict=result.verdict,
        grade=grade,
        next_step=_next_step(result),
        rows=rows,
        reasons={row.check: _reason(row, result, assignment) for row in rows},
        report=visible(result.text, lines=True) if assignment.shown == "report" else "",
        details=details,
    )


def _decided(grade: ChallengeGrade) -> tuple[tuple[str, str], ...]:
    return () if grade.override is None else (("override", override_words(grade.override)),)


def _next_step(result: StudentResult) -> str:
    if result.report is None or result.statuses().get("loads") != "failed":
        return ""
    if result.missing_module:
        return _MISSING_MODULE.format(result.missing_module)
    return _NOT_READ if result.report.seed is None else _NOT_LOADED


def _says(result: StudentResult, assignment: Assignment) -> str:
    """Return the verdict in words, with the counts and the likely mistake if students see them."""
    words = VERDICTS[result.verdict][1] + (", late" if result.late else "")
    if assignment.shown == "verdict":
        reason = _messages(result, "loads")
        return f"{words}: {reason}" if reason else words
    passed, due = checks_passed(result)
    words += f", {passed} of {due} checks passed"
    if result.verdict == "not-allowed":
        words += f". {_VOID}"
    if assignment.shown == "report" and assignment.why:
        words += "".join(f"\nLikely: {mistake.says}" for mistake in result.mistakes)
    return words


def _reason(row: PointsRow, result: StudentResult, assignment: Assignment) -> str:
    """Return why a check failed, did not run or brings no points, or ""."""
    if row.status == "skipped":
        return _SKIPPED
    if row.status == "passed":
        return "" if row.points == row.most else row.words
    is_shown = assignment.shown == "report" or row.check == "loads"
    return _messages(result, row.check) if is_shown else ""


def _messages(result: StudentResult, check: str) -> str:
    """Return the messages of all cases that failed a check."""
    return "\n".join(
        visible(f"{outcome.case}: {outcome.message}" if outcome.case else outcome.message)
        for outcome in result.outcomes
        if outcome.check == check and outcome.status == "failed"
    )
