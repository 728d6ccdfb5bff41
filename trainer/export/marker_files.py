"""Hide the names of students from markers.

A marker sees the anonymous id of a student, the points, the verdicts and the reports. File names,
ids and the reasons why a file cannot be read may hold a name, so a marker does not see them. Names
in reports and comments become `…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from trainer.classroom.excerpts import anonymised
from trainer.classroom.hidden_names import HiddenNames
from trainer.classroom.records import (
    Gradebook,
    Override,
    Student,
    StudentGrade,
    StudentResult,
)
from trainer.export.grade_tables import cell_of, csv_line
from trainer.report.visible import visible

_HIDDEN = "The file cannot be graded. The teacher's report gives the reason."


def anonymous_gradebook(
    gradebook: Gradebook, ids: Mapping[str, str], names: HiddenNames
) -> Gradebook:
    """Return the gradebook with anonymous ids, sorted by id.

    Args:
        gradebook: the grades of the class.
        ids: the anonymous id of each student, by name.
        names: the names to hide.
    """
    rows = sorted(
        (_row(row, ids[row.student.name], names) for row in gradebook.rows),
        key=lambda row: row.student.name,
    )
    assignment = replace(gradebook.assignment, extensions={})
    return replace(gradebook, assignment=assignment, rows=tuple(rows), other_files=())


def _row(row: StudentGrade, anonymous_id: str, names: HiddenNames) -> StudentGrade:
    def hidden(override: Override) -> Override:
        comment = names.hide(override.comment, row.student.name)
        return replace(override, student=anonymous_id, comment=comment)

    grades = {
        challenge: replace(
            grade,
            file=_file(grade.file, anonymous_id),
            override=grade.override and hidden(grade.override),
            error=_HIDDEN if grade.error else "",
            missing_module="",
            alternatives=(),
        )
        for challenge, grade in row.challenges.items()
    }
    student = Student(anonymous_id, is_in_roster=row.student.is_in_roster)
    # The reasons to look may hold names and paths.
    return StudentGrade(student, grades, row.override and hidden(row.override), row.total)


def anonymous_results(
    results: Iterable[StudentResult], ids: Mapping[str, str], names: HiddenNames
) -> Iterator[StudentResult]:
    """Yield the results with anonymous ids, in the order of `results`."""
    for result in results:
        yield _result(result, ids[result.student], names)


def _result(result: StudentResult, anonymous_id: str, names: HiddenNames) -> StudentResult:
    file = _file(result.file, anonymous_id)
    excerpt = result.excerpt and anonymised(result.excerpt, names.words_of(result.student))
    hidden = replace(result, student=anonymous_id, id="", file=file, excerpt=excerpt)
    if result.report is None:
        return replace(hidden, error=_HIDDEN, text="", excerpt=None)
    outcomes = tuple(
        replace(
            outcome,
            # A file without a seed could not be read, and the message has its path.
            message=_HIDDEN
            if result.report.seed is None
            else names.hide(outcome.message, result.student),
        )
        for outcome in result.report.outcomes
    )
    report = replace(result.report, file=file, stdout="", outcomes=outcomes)
    if result.report.seed is None:
        return replace(hidden, report=report, text=_HIDDEN)
    text = names.hide(result.text.replace(visible(result.file), file), result.student)
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
