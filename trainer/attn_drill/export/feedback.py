"""Write what a student gets back: the result as text, the page, and Gradescope's `results.json`.

Sources of the file names: Canvas, "How do I upload all student submissions for an assignment?";
Moodle, "Assignment settings: feedback types, Upload multiple feedback files in a zip"; Blackboard
has no upload for the feedback of a whole class, so its files are sorted by user name.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attn_drill.classroom.collect import read_name
from attn_drill.classroom.handed_in import NOTEBOOK
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Student,
    StudentGrade,
    StudentResult,
)
from attn_drill.classroom.result_store import safe_name
from attn_drill.export._grade_words import (
    PointsRow,
    challenge_shares,
    details,
    override_words,
    penalty_taken,
    points_lines,
    points_rows,
)
from attn_drill.model.checks import Verdict
from attn_drill.model.report import Outcome, Report
from attn_drill.practice.notebook_file import cell_line
from attn_drill.report.class_text import VERDICTS, checks_passed, messages, points
from attn_drill.report.code_text import console
from attn_drill.report.pages import page
from attn_drill.report.terminal import render
from attn_drill.report.wording import coloured, visible

_WIDTH = 80

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

_FILE = "feedback.html"


def with_report(result: StudentResult, report: Report, source: str) -> StudentResult:
    """Return the result of a submission that was graded, with the text of the submission."""
    graded = replace(result, report=report, source=source, text=as_text(report))
    if not result.file.endswith(NOTEBOOK):
        return graded
    failure = report.first_failure()
    numbers = {graded.line, *(frame.line for frame in (failure.frames if failure else ()))}
    # The report names lines of all cells together.
    sentences = []
    for number in sorted(filter(None, numbers)):
        if place := cell_line(source, number):
            sentences.append(f"Line {number} is line {place[1]} of code cell {place[0]}.")
    text = f"{graded.text}\n{' '.join(sentences)}\n" if sentences else graded.text
    return replace(graded, text=text)


def with_trouble(result: StudentResult, trouble: str) -> StudentResult:
    """Return the result of a student without a file for this challenge. `loads` failed."""
    report = Report(
        challenge=result.challenge,
        file=result.file,
        seed=None,  # nothing was run
        verdict="error",
        outcomes=(Outcome("loads", "failed", trouble),),
    )
    return replace(result, report=report, text=f"✗ loads\n  {visible(trouble, lines=True)}\n")


def with_failure(result: StudentResult, sentence: str) -> StudentResult:
    """Return a result without a verdict and without a score, because nothing was graded."""
    text = f"NOT GRADED  {result.challenge}\n{visible(sentence, lines=True)}\n"
    return replace(result, error=sentence, score=None, text=text)


def as_text(report: Report) -> str:
    """Return the report as plain text, without the likely mistake and without commands."""
    out = console(
        io.StringIO(), width=_WIDTH, no_color=True, force_terminal=False, legacy_windows=False
    )
    with out.capture() as capture:
        out.print(render(report, _WIDTH, stage="line", has_commands=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip() + "\n"


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


def gradescope_object(grade: StudentGrade, assignment: Assignment) -> dict[str, Any]:
    """Return the object with the keys of Gradescope's documentation.

    It has no score if a challenge has no points: no student may get 0 points for a fault of the
    grader.
    """
    views = student_view(grade, assignment)
    content: dict[str, Any] = {} if grade.total is None else {"score": round(grade.total, 2)}
    if assignment.shown == "report":
        seconds = sum(result.seconds for result in grade.results)
        content["execution_time"] = round(seconds, 1)
    decided = [] if grade.override is None else [f"override: {override_words(grade.override)}"]
    content |= {
        "output": "\n\n".join([*map(visible, decided), *(_output(view) for view in views)]),
        # Also the default of Gradescope. Set here so that no text is ever read as markup.
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # the grader prints messages for the teacher only
    }
    tests = [] if grade.total is None else _tests(views)
    return content | ({"tests": tests} if tests else {})


def _output(view: ChallengeView) -> str:
    details = (f"{label}: {visible(words)}" for label, words in view.details)
    table = "\n".join((f"{view.challenge}: {view.says}", *details, *points_lines(view.rows)))
    return "\n\n".join(filter(None, (table, view.report.rstrip())))


def _tests(views: Sequence[ChallengeView]) -> list[dict[str, Any]]:
    """Return an entry for each check, with its points of the total before penalties."""
    return [
        {
            "name": f"{view.challenge}: {row.check}" if len(views) > 1 else row.check,
            "status": "passed" if row.status == "passed" else "failed",
            "output": view.reasons[row.check],
            "output_format": "text",
            "visibility": "visible",
            "score": round(view.share * row.points, 2),
            "max_score": round(view.share * row.most, 2),
        }
        for view in views
        for row in view.rows
    ]


def feedback_html(grade: StudentGrade, assignment: Assignment) -> Iterator[str]:
    """Yield the page of one student in small pieces."""
    return page(
        "feedback",
        title=assignment.title,
        student=grade.student.name,
        grade=grade,
        parts=student_view(grade, assignment),
        decided=None if grade.override is None else override_words(grade.override),
        penalty_taken=penalty_taken,
        points=points,
        coloured=coloured,
    )


def feedback_path(student: Student) -> str:
    """Return the path of a student's feedback below `feedback/`.

    Canvas and Moodle accept a zip with these paths. The names of files in a class's zip may lead
    anywhere, so every name passes through `safe_name`.
    """
    if student.system == "blackboard" and student.system_id:
        return f"{safe_name(student.system_id)}/{_FILE}"
    lms = read_name(student.upload, False, student.system)
    if lms is None:
        return f"{safe_name(student.name)}.html"
    head = safe_name(lms.student)
    if lms.system == "moodle":  # the number of the participant
        return f"{head}_{lms.id}_assignsubmission_file_/{_FILE}"
    late = "_LATE" if lms.is_marked_late else ""
    return f"{head}{late}_{lms.id}_{lms.upload}_{_FILE}"


def feedback_zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of all feedback files with their paths."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files:
            # Without a date, the same feedback gives the same zip.
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
