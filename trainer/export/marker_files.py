"""Hide the names of students from markers.

A marker sees the anonymous id of a student, the points, the verdicts and the reports. File names,
ids and the reasons why a file cannot be read may hold a name, so a marker does not see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from trainer.classroom.excerpts import anonymised, name_words
from trainer.classroom.records import (
    ChallengeGrade,
    Gradebook,
    Student,
    StudentGrade,
    StudentResult,
)
from trainer.export.grade_tables import cell_of, csv_line
from trainer.report.visible import visible

_HIDDEN = "The file cannot be graded. The teacher's report gives the reason."


def anonymous_gradebook(gradebook: Gradebook, ids: Mapping[str, str]) -> Gradebook:
    """Return the gradebook with anonymous ids, sorted by id.

    Args:
        gradebook: the grades of the class.
        ids: the anonymous id of each student, by name.
    """
    rows = sorted(
        (_row(row, ids[row.student.name]) for row in gradebook.rows),
        key=lambda row: row.student.name,
    )
    assignment = replace(gradebook.assignment, extensions={})
    return replace(gradebook, assignment=assignment, rows=tuple(rows), other_files=())


def _row(row: StudentGrade, anonymous_id: str) -> StudentGrade:
    grades = {challenge: _grade(grade, anonymous_id) for challenge, grade in row.challenges.items()}
    override = row.override and replace(row.override, student=anonymous_id)
    student = Student(anonymous_id, is_in_roster=row.student.is_in_roster)
    # The reasons to look may hold names and paths.
    return StudentGrade(student, grades, override, row.total)


def _grade(grade: ChallengeGrade, anonymous_id: str) -> ChallengeGrade:
    return replace(
        grade,
        file=_file(grade.file, anonymous_id),
        override=grade.override and replace(grade.override, student=anonymous_id),
        error=_HIDDEN if grade.error else "",
    )


def anonymous_results(
    results: Iterable[StudentResult], ids: Mapping[str, str]
) -> Iterator[StudentResult]:
    """Yield the results with anonymous ids, in the order of `results`."""
    for result in results:
        yield _result(result, ids[result.student])


def _result(result: StudentResult, anonymous_id: str) -> StudentResult:
    file = _file(result.file, anonymous_id)
    excerpt = result.excerpt and anonymised(result.excerpt, name_words(result.student, 2))
    hidden = replace(result, student=anonymous_id, id="", file=file, excerpt=excerpt, unsettled=())
    if result.report is None:
        unsettled = (_HIDDEN,) if result.unsettled else ()
        return replace(hidden, error=_HIDDEN, text="", excerpt=None, unsettled=unsettled)
    report = replace(result.report, file=file, stdout="")
    if result.report.seed is None:  # the file could not be read
        outcomes = tuple(replace(outcome, message=_HIDDEN) for outcome in report.outcomes)
        return replace(hidden, report=replace(report, outcomes=outcomes), text=_HIDDEN)
    text = result.text.replace(visible(result.file), file)
    return replace(hidden, report=report, text=text)


def _file(file: str, anonymous_id: str) -> str:
    """Return a path that shows only the ending of the file."""
    return f"{anonymous_id}{PurePosixPath(file).suffix}" if file else ""


def anonymous_ids_csv(ids: Mapping[str, str], students: Iterable[Student]) -> str:
    """Return the text of `anonymous_ids.csv`: the names that belong to the anonymous ids."""
    rows = [("anonymous_id", "student", "id")]
    rows += [
        (ids[student.name], cell_of(student.name), cell_of(student.id)) for student in students
    ]
    return "".join(map(csv_line, rows))
