"""Write the grades of a class as CSV.

`grades.csv` has one row for each student, and `grades_by_challenge.csv` one for each submission.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from attn_drill.classroom.points import total
from attn_drill.classroom.records import Assignment, Gradebook, StudentGrade, StudentResult
from attn_drill.export.grade_words import penalty_taken
from attn_drill.export.to_look_at import KINDS, Reason
from attn_drill.report.class_words import checks_passed, likely, points
from attn_drill.report.visible import visible

# Excel reads a file without a byte order mark in the old encoding of its country. Read the tables
# with `utf-8-sig`, which removes the mark.
ENCODING = "utf-8-sig"

# Spreadsheets compute a cell that begins with one of these signs, also in full width. A sign alone
# is no formula: Moodle writes it for "never", and must find it again.
_FORMULA = re.compile(r"[\s\"'`\u200c\u200d]*[=+\-@＝＋－＠].", re.DOTALL)


def grades_csv(gradebook: Gradebook, notes: Iterable[Reason] = ()) -> str:
    """Return the text of `grades.csv`, with the reasons to look in the last column."""
    assignment = gradebook.assignment
    challenges = assignment.challenge_ids
    look: dict[str, list[str]] = {}
    for note in notes:
        # A time that nobody knows is about the download, and not about the student.
        if note.kind != "time" or note.text:
            about = f"{note.challenge}: " if note.challenge and len(challenges) > 1 else ""
            words = f"{about}{KINDS[note.kind].label}{note.text}"
            look.setdefault(note.student, []).append(words)
    header = ("student", "id", "file", "late", "days_late", "penalty", *challenges, "total", "look")
    lines: list[Sequence[str]] = [header]
    for row in gradebook.rows:
        days = [grade.lateness.days or 0 for grade in row.challenges.values()]
        is_late = any(grade.lateness.is_late for grade in row.challenges.values())
        in_order = map(row.challenges.get, challenges)
        lines.append(
            (
                cell_of(row.student.name),
                cell_of(row.student.id),
                cell_of(", ".join(filter(None, row.files))),
                "yes" if is_late else "",
                str(max(days, default=0) or ""),
                _number(_penalty(row, assignment) or None),
                *(_number(None if grade is None else grade.points) for grade in in_order),
                _number(row.total),
                cell_of("; ".join(dict.fromkeys(look.get(row.student.name, ())))),
            )
        )
    return csv_text(lines)


def _penalty(grade: StudentGrade, assignment: Assignment) -> float:
    """Return the points that lateness takes from the total."""
    if grade.total is None or grade.override is not None:
        return 0.0
    before = {
        challenge: None if each.points is None else each.points + penalty_taken(each)
        for challenge, each in grade.challenges.items()
    }
    return round((total(before, assignment) or 0.0) - grade.total, 1)


def _number(value: float | None) -> str:
    return "" if value is None else points(value)


def grades_by_challenge_csv(results: Iterable[StudentResult]) -> str:
    """Return the text of `grades_by_challenge.csv`, with the score that the checks brought.

    Each row is exactly one line: line ends in names are escaped.
    """
    header = ("student", "challenge", "verdict", "score", "checks_passed", "checks_total")
    lines: list[Sequence[str]] = [(*header, "likely_mistake", "seconds")]
    for result in results:
        passed, due = ("", "") if result.verdict is None else checks_passed(result)
        lines.append(
            (
                cell_of(result.student),
                cell_of(result.challenge),
                result.verdict or "not graded",
                _number(None if result.verdict is None else result.score),
                str(passed),
                str(due),
                cell_of((result.error or "") if result.is_ungraded else likely(result)),
                f"{result.seconds:.2f}",
            )
        )
    return csv_text(lines)


def cell_of(text: str) -> str:
    """Return a text that a spreadsheet shows and does not compute.

    >>> cell_of("=1+1")
    "'=1+1"
    """
    return f"'{visible(text)}" if _FORMULA.match(text) else visible(text)


def csv_text(rows: Iterable[Sequence[str]], *, quoted: bool = False) -> str:
    """Return rows as the text of a CSV file."""
    buffer = io.StringIO()
    for row in rows:
        # In some countries, spreadsheets split cells at semicolons. Quotes keep a name with a
        # semicolon in one cell.
        is_quoted = quoted or any(";" in cell for cell in row)
        writer = csv.writer(
            buffer,
            quoting=csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL,
            lineterminator="\n",
        )
        writer.writerow(row)
    return buffer.getvalue()
