"""Write the grades of a class for the gradebook import of Canvas, Moodle and Blackboard.

If the roster is the system's own export, only the points and the feedback change. The columns of
other assignments are left out, because their grades may have changed since the export.

An import must not remove a grade. Moodle ignores an empty cell. Canvas and Blackboard may remove
the grade, so their tables repeat the grade that the roster has for a student without a total.

Sources: those of `classroom/roster.py`. Moodle's importer reads "Identifier", "Grade", "Last
modified (grade)" and "Feedback comments". For Blackboard, every cell must have quotes, and feedback
is possible only in the file of a single column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attn_drill.classroom.records import Gradebook, Student, StudentGrade, System
from attn_drill.classroom.roster import assignment_columns, most_points, system_of
from attn_drill.classroom.students import folded
from attn_drill.export.grade_tables import cell_of, csv_line
from attn_drill.export.grade_words import remarks
from attn_drill.model.listing import first_of
from attn_drill.report.class_words import points
from attn_drill.report.visible import visible

_MOST = 100  # points
_MOST_NAMED = 5  # students in one sentence
# The feedback begins with this, so that a later table replaces it and never a person's text.
_SIGNATURE = "attn-drill: "
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_FEEDBACK = ("Feedback comments", "Feedback to Learner")

_Row = Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """The table of one system."""

    keys: tuple[str, ...]  # the columns that identify a student; one of the cells must be filled
    headings: tuple[str, ...]  # without a roster of this system, before the points
    column: str  # the heading of the points, or of a new column for an assignment with this title
    identity: tuple[str, ...] = ()  # the columns of the roster that are repeated; () for all
    exact: tuple[str, ...] = ()  # more columns in which an apostrophe would do harm


_CANVAS_IDS = ("ID", "SIS User ID", "SIS Login ID")
LAYOUTS: Mapping[System, Layout] = {
    "canvas": Layout(
        keys=_CANVAS_IDS,
        headings=("Student", *_CANVAS_IDS, "Section"),
        column="{}",
        identity=(
            *("Student", "LastName", "FirstName", *_CANVAS_IDS, "Section"),
            *("Integration ID", "Root Account"),
        ),
        exact=("Integration ID", "Root Account"),
    ),
    "moodle": Layout(
        keys=("Identifier",),
        headings=("Identifier", "Full name", "Last modified (grade)", "Feedback comments"),
        column="Grade",
    ),
    "blackboard": Layout(
        keys=("Username",),
        headings=("Last Name", "First Name", "Username", "Student ID"),
        column=f"{{}} [Total Pts: {_MOST} Score]",
        exact=("Student ID", "Grading Notes"),
    ),
}


class LmsTable(NamedTuple):
    """The text of a table, and sentences about it that a person must know."""

    text: str
    notes: list[str]


def lms_table(gradebook: Gradebook, system: System) -> LmsTable:
    """Return the table for a system: "canvas", "moodle" or "blackboard"."""
    layout, title = LAYOUTS[system], system.capitalize()
    exported = [_exported_row(grade.student, system) for grade in gradebook.rows]
    roster_headings = tuple(next(filter(None, exported), ()))
    fitting = _fitting_columns(system, gradebook.assignment.title, roster_headings)
    is_one = len(fitting) == 1
    column = fitting[0] if is_one else layout.column.format(gradebook.assignment.title)
    headings = _headings(system, roster_headings, column)
    lines = [[cell_of(heading) for heading in headings]]
    if system == "canvas":  # a row with the points possible comes first
        lines.append(["    Points Possible", *[""] * (len(headings) - 2), str(_MOST)])
    left_out: list[str] = []
    for grade, row in zip(gradebook.rows, exported, strict=True):
        cells = dict(row or _new_row(grade.student, system))
        # A file that belongs to nobody must not become a new student of the system.
        if grade.student.is_in_roster is False or not any(cells.get(key) for key in layout.keys):
            left_out.append(grade.student.name)
            continue
        cells[column] = _points(grade, cells.get(column, ""), system)
        if system == "moodle" or column in roster_headings:
            cells |= _feedback_cells(grade, cells, headings)
        lines.append([_cell(cells.get(heading, ""), heading, layout) for heading in headings])
    text = "".join(csv_line(line, quoted=system == "blackboard") for line in lines)
    notes: list[str] = []
    if left_out:
        notes.append(
            f"These students are missing, because {title} or the roster does not know them:"
            f" {first_of(left_out, _MOST_NAMED)}. Use {title}'s own export as the roster, or"
            " correct their rows in it."
        )
    if system != "moodle" and column not in roster_headings:
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
    is_exact = heading in (*layout.keys, *layout.exact, *_FEEDBACK) or _NUMBER.fullmatch(text)
    return text if is_exact else cell_of(text)


def _exported_row(student: Student, system: System) -> _Row:
    """Return the student's row of the roster if the system can import it, otherwise {}."""
    # A list of Moodle's participants has no grades.
    needed = {"Identifier", "Grade"} if system == "moodle" else {LAYOUTS[system].keys[0]}
    return student.row if system_of(student.row) == system and needed <= set(student.row) else {}


def _fitting_columns(system: System, title: str, headings: Sequence[str]) -> list[str]:
    """Return the columns of the roster with the title of the assignment."""
    columns = assignment_columns(system, headings)
    fitting = [heading for heading in columns if heading.strip() == title.strip()]
    fitting = fitting or [name for name, words in columns.items() if folded(words) == folded(title)]
    # A file of Blackboard with feedback has a single column, which the teacher chose.
    return list(columns) if not fitting and "Feedback to Learner" in headings else fitting


def _headings(system: System, roster_headings: Sequence[str], column: str) -> tuple[str, ...]:
    """Return the headings of the table, without those of other assignments."""
    identity = LAYOUTS[system].identity
    others = assignment_columns(system, roster_headings).keys() - {column}
    repeated = [
        heading
        for heading in roster_headings
        if heading not in others and (not identity or heading.strip() in identity)
    ]
    return tuple(dict.fromkeys((*(repeated or LAYOUTS[system].headings), column)))


def _new_row(student: Student, system: System) -> dict[str, str]:
    """Return the cells of a student whom the roster does not have, for all systems."""
    system_id = student.system_id if student.system == system else ""
    # The id of the roster, unless it is only the number of a learning management system.
    school_id = student.id if student.is_in_roster and student.id != student.system_id else ""
    first, _, last = student.name.removesuffix(f" ({student.id})").rpartition(" ")
    return {
        "Student": student.name,
        "ID": system_id,
        "SIS User ID": school_id,
        "SIS Login ID": student.login,
        "Identifier": f"Participant {system_id}" if system_id else "",
        "Full name": student.name,
        "Last modified (grade)": "-",
        "Last Name": last,
        "First Name": first,
        "Username": student.login or system_id,
        "Student ID": school_id,
    }


def _points(grade: StudentGrade, old: str, system: System) -> str:
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
