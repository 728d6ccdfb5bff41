"""Write the grades of a class as CSV.

`grades.csv` has one row for each student, and `grades_by_challenge.csv` one for each submission.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from trainer.classroom.records import ChallengeGrade, Gradebook, StudentGrade, StudentResult
from trainer.report.class_words import checks_passed, likely, points
from trainer.report.visible import visible

COLUMNS = (
    "student",
    "challenge",
    "verdict",
    "score",
    "checks_passed",
    "checks_total",
    "likely_mistake",
    "seconds",
)

# Excel reads a file without a byte order mark in the old encoding of its country. Read the tables
# with `utf-8-sig`, which removes the mark.
ENCODING = "utf-8-sig"

# The beginning of a text that spreadsheets read as a formula. Full-width signs count, too, and so
# do signs after blanks, quotes and invisible characters.
_FORMULA = re.compile(r"[\s\"'`\u200c\u200d]*[=+\-@＝＋－＠]")
# A sign alone, or a sign and words, for example `-rf`: spreadsheets know no value of such names,
# except TRUE and FALSE. Digits are different: `-A1` is the value of a cell, and `+49` loses its
# sign.
_SIGNED_WORDS = re.compile(r"[+\-](?!.*\b(?:true|false)\b)(?:[^\W\d_]+(?:[ .\-][^\W\d_]+)*)?", re.I)


def grades_csv(gradebook: Gradebook) -> str:
    """Return the text of `grades.csv`. Write the text with `ENCODING` and newline=""."""
    challenges = [assigned.challenge for assigned in gradebook.assignment.challenges]
    header = ("student", "id", "file", "late", *challenges, "total", "look")
    return "".join(map(csv_line, (header, *(_row(row, challenges) for row in gradebook.rows))))


def _row(grade: StudentGrade, challenges: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of one student. Unknown points are empty cells."""
    return (
        cell_of(grade.student.name),
        cell_of(grade.student.id),
        cell_of(", ".join(file for file in grade.files if file)),
        "yes" if grade.is_late else "",
        *(_points(grade.challenges.get(challenge)) for challenge in challenges),
        "" if grade.total is None else points(grade.total),
        cell_of("; ".join(grade.look)),
    )


def _points(grade: ChallengeGrade | None) -> str:
    return "" if grade is None or grade.points is None else points(grade.points)


def grades_by_challenge_csv(results: Iterable[StudentResult]) -> str:
    """Return the text of `grades_by_challenge.csv`, with the score that the checks brought.

    Each row is exactly one line: line ends in names are escaped. So tools that read line by line
    work, too.
    """
    return "".join(map(csv_line, (COLUMNS, *map(cells, results))))


def cells(result: StudentResult) -> tuple[str, ...]:
    """Return the cells of one submission, in the order of `COLUMNS`.

    Without a verdict, unknown values are empty cells. If several submissions have the same
    student's name, the column `likely_mistake` has a sentence about it.
    """
    graded = result.verdict is not None
    passed, total = checks_passed(result)
    return (
        cell_of(result.student),
        cell_of(result.challenge),
        "not graded" if result.verdict is None else result.verdict,
        points(result.score) if graded and result.score is not None else "",
        str(passed) if graded else "",
        str(total) if graded else "",
        cell_of((result.error or "") if result.is_ungraded else likely(result)),
        f"{result.seconds:.2f}",
    )


def cell_of(text: str) -> str:
    """Return a text that a spreadsheet shows and does not compute.

    A text that could be a formula gets an apostrophe at its beginning.
    """
    shown = visible(text)
    # `visible` has escaped tabs and line ends. A program that undoes the escapes must not get a
    # formula either, so texts that begin with these characters get an apostrophe, too.
    return "'" + shown if _is_formula(text) or text[:1] in ("\t", "\r", "\n") else shown


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet could compute a value from a text."""
    return bool(_FORMULA.match(text)) and not _SIGNED_WORDS.fullmatch(text)


def csv_line(row: tuple[str, ...]) -> str:
    """Return a row as a line of a CSV file."""
    # In some countries, spreadsheets split cells at semicolons. Quotes keep a name with a
    # semicolon in one cell.
    buffer = io.StringIO()
    csv.writer(
        buffer,
        quoting=csv.QUOTE_ALL if any(";" in cell for cell in row) else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    ).writerow(row)
    return buffer.getvalue()
