"""Write the grades of a class as CSV: two tables of its own, and tables that systems import.

`grades.csv` has one row for each student, and `grades_by_challenge.csv` one for each submission.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attn_drill.classroom.gradebook import total
from attn_drill.classroom.records import (
    Assignment,
    Gradebook,
    Student,
    StudentGrade,
    StudentResult,
    System,
)
from attn_drill.classroom.roster import assignment_columns, folded, most_points, system_of
from attn_drill.export._grade_words import KINDS, Reason, penalty_taken, remarks
from attn_drill.model.words import first_of
from attn_drill.report.class_text import checks_passed, likely, points
from attn_drill.report.wording import visible

# Excel reads a file without a byte order mark in the old encoding of its country. Read the tables
# with `utf-8-sig`, which removes the mark.
ENCODING = "utf-8-sig"

# Spreadsheets compute a cell that begins with one of these signs, also in full width. A sign alone
# is no formula: Moodle writes it for "never", and must find it again.
_FORMULA = re.compile(r"[\s\"'`\u200c\u200d]*[=+\-@＝＋－＠].", re.DOTALL)

_MOST = 100  # points
# The feedback begins with this, so that a later table replaces it and never a person's text.
_SIGNATURE = "attn-drill: "
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_FEEDBACK = ("Feedback comments", "Feedback to Learner")

_Row = Mapping[str, str]


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


@dataclass(frozen=True)
class Layout:
    """The table of one system.

    Attributes:
        identifier: the column that identifies a student.
        new_column: the heading of a new column for an assignment with this title.
        identity: the columns of the roster that are repeated; () for all.
        exact: the columns in which an apostrophe would do harm.
    """

    identifier: str
    new_column: str
    identity: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()


LAYOUTS: Mapping[System, Layout] = {
    "canvas": Layout(
        identifier="ID",
        new_column="{}",
        identity=(
            *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section"),
            *("Integration ID", "Root Account"),
        ),
        exact=("ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account"),
    ),
    "moodle": Layout(identifier="Identifier", new_column="Grade", exact=("Identifier",)),
    "blackboard": Layout(
        identifier="Username",
        new_column=f"{{}} [Total Pts: {_MOST} Score]",
        exact=("Username", "Student ID", "Grading Notes"),
    ),
}


class LmsTable(NamedTuple):
    """The text of a table, "" without students; and sentences that a person must know."""

    text: str
    notes: list[str]


def lms_table(gradebook: Gradebook, system: System) -> LmsTable:
    """Return the table for a system: "canvas", "moodle" or "blackboard"."""
    layout, title = LAYOUTS[system], system.capitalize()
    exported = [_exported_row(grade.student, system) for grade in gradebook.rows]
    roster_headings = tuple(next(filter(None, exported), ()))
    if not roster_headings:
        note = f"Nothing is written, because the roster is not {title}'s own export."
        return LmsTable("", [f"{note} Name the export with --roster."])
    fitting = _fitting_columns(system, gradebook.assignment.title, roster_headings)
    is_one = len(fitting) == 1
    column = fitting[0] if is_one else layout.new_column.format(gradebook.assignment.title)
    others = assignment_columns(system, roster_headings).keys() - {column}
    repeated = [
        heading
        for heading in roster_headings
        if heading not in others and (not layout.identity or heading.strip() in layout.identity)
    ]
    headings = tuple(dict.fromkeys((*repeated, column)))
    rows: list[_Row] = [{heading: cell_of(heading) for heading in headings}]
    if system == "canvas":  # a row with the points possible comes first
        rows.append({"Student": "    Points Possible", column: str(_MOST)})
    left_out: list[str] = []
    for grade, row in zip(gradebook.rows, exported, strict=True):
        if not row.get(layout.identifier):
            left_out.append(grade.student.name)
            continue
        cells = {**row, column: _mark(grade, row.get(column, ""), system)}
        if column in roster_headings:
            cells |= _feedback_cells(grade, cells, headings)
        rows.append({name: _cell(cell, name, layout) for name, cell in cells.items()})
    lines = [[row.get(heading, "") for heading in headings] for row in rows]
    text = csv_text(lines, quoted=system == "blackboard")
    notes: list[str] = []
    if left_out:
        notes.append(
            f"These students are missing, because {title} or the roster does not know them:"
            f" {first_of(left_out)}. Use {title}'s own export as the roster, or"
            " correct their rows in it."
        )
    if column not in roster_headings:
        notes.append(
            f"{title} will make a new column “{column}”, because {len(fitting)} columns of the"
            " roster have this title. To fill a column, give the assignment its whole heading as"
            " the title."
        )
    maxima = {gradebook.possible.get(column, ""), most_points(column)}
    maxima |= {row.get("Maximum Grade", row.get("Maximum grade", "")) for row in exported}
    notes += [
        f"The maximum of the column {column} is {maximum} points. Change it to {_MOST} before the"
        " import."
        for maximum in sorted(maxima)
        if _NUMBER.fullmatch(maximum) and float(maximum.replace(",", ".")) != _MOST
    ]
    return LmsTable(text, notes)


def _cell(text: str, heading: str, layout: Layout) -> str:
    """Return a cell exactly, or with an apostrophe if a spreadsheet could compute it."""
    is_exact = heading in (*layout.exact, *_FEEDBACK) or _NUMBER.fullmatch(text)
    return text if is_exact else cell_of(text)


def _exported_row(student: Student, system: System) -> _Row:
    """Return the student's row of the roster if the system can import it, otherwise {}."""
    is_whole = LAYOUTS[system].identifier in student.row  # a list of Moodle's participants is not
    return student.row if is_whole and system_of(student.row) == system else {}


def _fitting_columns(system: System, title: str, headings: Sequence[str]) -> list[str]:
    """Return the columns of the roster with the title of the assignment."""
    if system == "moodle":
        return ["Grade"]
    columns = assignment_columns(system, headings)
    fitting = [heading for heading in columns if heading.strip() == title.strip()]
    fitting = fitting or [name for name, words in columns.items() if folded(words) == folded(title)]
    # A file of Blackboard with feedback has a single column, which the teacher chose.
    return list(columns) if not fitting and "Feedback to Learner" in headings else fitting


def _mark(grade: StudentGrade, old: str, system: System) -> str:
    """Return the points of a student, or the roster's cell if there are none."""
    if system == "canvas" and old.strip().upper() == "EX":  # the student is excused
        return old
    if grade.total is not None:
        return points(grade.total)
    # A cell of Blackboard that is not graded has words, for example "Needs Grading".
    is_kept = system == "canvas" or (system == "blackboard" and _NUMBER.fullmatch(old.strip()))
    return old if is_kept else ""


def _feedback_cells(grade: StudentGrade, cells: _Row, headings: Sequence[str]) -> dict[str, str]:
    """Return the cells with the feedback, if the table has a column for it."""
    heading = next((name for name in _FEEDBACK if name in headings), "")
    old = cells.get(heading, "")
    is_of_a_person = bool(old.strip()) and not old.startswith(_SIGNATURE)
    if not heading or grade.total is None or is_of_a_person:
        return {}
    text = "; ".join((f"{points(grade.total)} of {_MOST} points", *remarks(grade)))
    new = {heading: visible(f"{_SIGNATURE}{text}")}
    return new | ({"Feedback Format": "PLAIN_TEXT"} if "Feedback Format" in headings else {})
