"""Write the grades of a class for the gradebook import of Canvas, Moodle and Blackboard.

If the roster is the system's own export, the cells that identify a student are repeated exactly,
and only the points and the feedback change. The columns of other assignments are left out, because
their grades may have changed since the export. The docstring of `trainer/classroom/roster.py` has
the columns.

An import must not remove a grade. Moodle ignores an empty cell, so a student without a total has
an empty cell. Canvas and Blackboard may remove the grade of an empty cell. So their tables repeat
the grade that the roster has for such a student; without one, the cell is empty.

Sources: Canvas Instructor Guide, "How do I import grades in the Gradebook?"; MoodleDocs,
"Assignment settings: Offline grading worksheet" (the importer reads "Identifier", "Grade", "Last
modified (grade)" and "Feedback comments"); Blackboard Help for Instructors, "Work Offline With
Grade Data" (every cell of a CSV file must have quotes, and feedback is possible only in the file of
a single column).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from trainer.classroom.csv_file import plain_heading
from trainer.classroom.records import ChallengeGrade, Gradebook, Student, StudentGrade, System
from trainer.classroom.roster import (
    FIRST_NAME,
    LAST_NAME,
    assignment_columns,
    most_points,
    system_of,
)
from trainer.classroom.students import folded
from trainer.export.grade_tables import cell_of
from trainer.export.grade_words import penalty_taken
from trainer.report.class_words import points
from trainer.report.visible import visible

_MOST = 100  # points
# The addition that makes the name of a student unique: "Ana Lee (101)".
_ADDITION = re.compile(r" \([^()]*\)\Z")
# The feedback begins with this, so that a later table replaces it and never a person's text.
_SIGNATURE = "attn-drill: "
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_OTHER_IDS = ("Student ID", "Integration ID", "Root Account")
_FEEDBACK = ("Feedback comments", "Feedback to Learner")

_Row = Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """The table of one system.

    Attributes:
        system: the system.
        headings: the columns without a roster of this system, except the column of the points.
        identity: the columns of the roster that are repeated; () for all.
        keys: the columns that identify a student. At least one cell must not be empty. A change of
            such a cell would do harm, so they are repeated exactly.
        new_row: make the cells of a student whom the roster does not have.
        fixed: the column of the points if it has the same heading in every class, otherwise "".
        new_column: the heading of a column for an assignment with this title.
        is_quoted: True if every cell has quotes.
    """

    system: System
    headings: tuple[str, ...]
    identity: tuple[str, ...]
    keys: tuple[str, ...]
    new_row: Callable[[StudentGrade], _Row]
    fixed: str = ""
    new_column: str = "{}"
    is_quoted: bool = False


@dataclass(frozen=True)
class LmsTable:
    """A table to import into a learning management system.

    Attributes:
        text: the text of the file, without a byte order mark. Write it with newline="".
        left_out: the names of the students whom the system could not identify.
        notes: sentences about the import that a person must know.
    """

    text: str
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def lms_table(gradebook: Gradebook, system: System) -> LmsTable:
    """Return the table for a system: "canvas", "moodle" or "blackboard"."""
    layout = LAYOUTS[system]
    own_headings = _roster_headings(gradebook, layout)
    column, fitting = _column(layout, gradebook.assignment.title, own_headings)
    headings = _headings(layout, own_headings, column)
    lines: list[list[str]] = [[_harmless(heading) for heading in headings]]
    if system == "canvas":  # a row with the points possible comes first
        lines.append(["    Points Possible", *[""] * (len(headings) - 2), str(_MOST)])
    left_out: list[str] = []
    excused: list[str] = []
    for grade in gradebook.rows:
        cells = _own_row(grade.student, layout) or layout.new_row(grade)
        # A file that belongs to nobody must not become a new student of the system.
        is_identified = any(cells.get(key) for key in layout.keys)
        if grade.student.is_in_roster is False or not is_identified:
            left_out.append(grade.student.name)
            continue
        if system == "canvas" and cells.get(column, "").strip().upper() == "EX":
            excused.append(grade.student.name)
        else:
            cells = {**cells, column: _points(grade, cells.get(column, ""), system)}
            if system == "moodle" or column in own_headings:
                cells |= _feedback_cells(grade, cells)
        lines.append([_cell(cells.get(heading, ""), heading, layout) for heading in headings])
    text = "".join(_line(line, layout.is_quoted) for line in lines)
    notes = _notes(gradebook, layout, column, fitting, own_headings)
    if excused:
        notes.append(f"These students are excused in Canvas and stay so: {', '.join(excused)}.")
    return LmsTable(text, tuple(left_out), tuple(notes))


# Columns


def _own_row(student: Student, layout: Layout) -> _Row:
    """Return the student's row of the roster if the system can import it, otherwise {}."""
    needed = {layout.keys[0], layout.fixed} - {""}  # a list of Moodle's participants has no grades
    can_import = system_of(student.row) == layout.system and needed <= set(student.row)
    return student.row if can_import else {}


def _roster_headings(gradebook: Gradebook, layout: Layout) -> tuple[str, ...]:
    """Return the columns of the roster if the system wrote it, otherwise ()."""
    rows = (_own_row(grade.student, layout) for grade in gradebook.rows)
    return tuple(next((row for row in rows if row), ()))


def _column(layout: Layout, title: str, own_headings: Sequence[str]) -> tuple[str, list[str]]:
    """Return the heading of the column for the points, and the roster's columns that fit.

    A column of the roster fits if it has the title of the assignment. A file of Blackboard with
    columns for feedback has a single column, which the teacher chose. So its title does not matter.
    """
    if layout.fixed:
        return layout.fixed, [layout.fixed]
    columns = assignment_columns(layout.system, own_headings)
    fitting: list[str] = []
    for wanted in (
        [heading for heading in columns if heading.strip() == title.strip()],
        [heading for heading, own in columns.items() if own.strip() == title.strip()],
        [heading for heading, own in columns.items() if folded(own) == folded(title)],
        list(columns) if "Feedback to Learner" in own_headings else [],
    ):
        fitting = fitting or wanted
    return fitting[0] if len(fitting) == 1 else layout.new_column.format(title), fitting


def _headings(layout: Layout, own_headings: Sequence[str], column: str) -> tuple[str, ...]:
    """Return the headings of the table, without those of other assignments."""
    others = assignment_columns(layout.system, own_headings).keys() - {column}
    repeated = [
        heading
        for heading in own_headings
        if heading not in others and (not layout.identity or heading.strip() in layout.identity)
    ]
    return tuple(dict.fromkeys((*(repeated or layout.headings), column)))


# Notes


def _notes(
    gradebook: Gradebook,
    layout: Layout,
    column: str,
    fitting: Sequence[str],
    own_headings: Sequence[str],
) -> list[str]:
    if layout.system == "moodle":
        rows = [_own_row(grade.student, layout) for grade in gradebook.rows]
        most = {row.get("Maximum Grade", row.get("Maximum grade", "")) for row in rows}
        return _about_maximum(most, "the assignment in Moodle")
    if column in own_headings:
        most = {gradebook.possible.get(column, ""), most_points(column)}
        return _about_maximum(most, f"the column {column}")
    system, title = layout.system.capitalize(), gradebook.assignment.title
    if fitting:
        return [
            f"The roster has {len(fitting)} columns “{title}”: {', '.join(fitting)}. So {system}"
            " will make a new column. To fill one of them, give the assignment its whole heading as"
            " the title."
        ]
    return [
        f"{system} will make a new column “{title}”. To fill the column of an assignment, use"
        f" {system}'s own file as the roster, and give the assignment the title of the column."
    ]


def _about_maximum(most: set[str], place: str) -> list[str]:
    """Return a note if a place has another maximum than 100 points."""
    return [
        f"The maximum of {place} is {number} points. Change it to {_MOST} before the import."
        for number in sorted(most)
        if _NUMBER.fullmatch(number) and float(number.replace(",", ".")) != _MOST
    ][:1]


# Rows


def _new_canvas_row(grade: StudentGrade) -> _Row:
    student = grade.student
    return {
        "Student": student.name,
        "ID": student.system_id if student.system == "canvas" else "",
        "SIS User ID": _school_id(student),
        "SIS Login ID": student.login,
    }


def _new_moodle_row(grade: StudentGrade) -> _Row:
    student = grade.student
    if student.system != "moodle" or not student.system_id:
        return {}
    times = [own.lateness.submitted for own in grade.challenges.values()]
    newest = max((time for time in times if time is not None), default=None)
    return {
        "Identifier": f"Participant {student.system_id}",
        "Full name": student.name,
        "Email address": student.email,
        "Status": "Submitted for grading" if grade.challenges else "No submission",
        "Maximum Grade": f"{_MOST:.2f}",
        "Grade can be changed": "Yes",
        "Last modified (submission)": "-" if newest is None else _moodle_words(newest),
        "Last modified (grade)": "-",
        "Feedback comments": "",
    }


def _moodle_words(time: float) -> str:
    """Return a time as Moodle writes it: "Saturday, 21 November 2026, 10:11 PM"."""
    when = datetime.fromtimestamp(time)
    clock = f"{when:%I:%M %p}".lstrip("0")
    return f"{when:%A}, {when.day} {when:%B %Y}, {clock}"


def _new_blackboard_row(grade: StudentGrade) -> _Row:
    student = grade.student
    cells = {plain_heading(heading): cell.strip() for heading, cell in student.row.items()}
    first, last = (
        next((cells[name] for name in names if cells.get(name)), "")
        for names in (FIRST_NAME, LAST_NAME)
    )
    if not (first and last):
        first, _, last = _ADDITION.sub("", student.name).rpartition(" ")
    is_user = student.system == "blackboard"
    return {
        "Last Name": last,
        "First Name": first,
        "Username": student.login or (student.system_id if is_user else ""),
        "Student ID": _school_id(student),
    }


def _school_id(student: Student) -> str:
    """Return the id of the roster, unless it is only the number of a learning management system."""
    return student.id if student.is_in_roster and student.id != student.system_id else ""


LAYOUTS: Mapping[System, Layout] = {
    "canvas": Layout(
        "canvas",
        headings=("Student", "ID", "SIS User ID", "SIS Login ID", "Section"),
        identity=(
            *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section"),
            *("Integration ID", "Root Account"),
        ),
        keys=("ID", "SIS User ID", "SIS Login ID"),
        new_row=_new_canvas_row,
    ),
    "moodle": Layout(
        "moodle",
        headings=(
            *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"),
            *("Grade can be changed", "Last modified (submission)", "Last modified (grade)"),
            "Feedback comments",
        ),
        identity=(),
        keys=("Identifier",),
        new_row=_new_moodle_row,
        fixed="Grade",
    ),
    "blackboard": Layout(
        "blackboard",
        headings=("Last Name", "First Name", "Username", "Student ID"),
        identity=(),
        keys=("Username",),
        new_row=_new_blackboard_row,
        new_column=f"{{}} [Total Pts: {_MOST} Score]",
        is_quoted=True,
    ),
}


# Cells


def _points(grade: StudentGrade, old: str, system: System) -> str:
    """Return the points of a student, or the roster's own cell if there are none."""
    if grade.total is not None:
        return points(grade.total)
    # A cell of Blackboard that is not graded has words, for example "Needs Grading".
    is_kept = system == "canvas" or (system == "blackboard" and _NUMBER.fullmatch(old.strip()))
    return old if is_kept else ""


def _feedback_cells(grade: StudentGrade, cells: _Row) -> dict[str, str]:
    """Return the cells with the feedback, if the table has a column for it."""
    heading = next((name for name in _FEEDBACK if name in cells), "")
    if not heading:
        return {}
    old = cells[heading]
    text = _feedback(grade, old)
    has_format = text != old and "Feedback Format" in cells
    return {heading: text} | ({"Feedback Format": "PLAIN_TEXT"} if has_format else {})


def _feedback(grade: StudentGrade, old: str) -> str:
    """Return a short feedback. Keep the text of a person."""
    if grade.total is None or (old.strip() and not old.startswith(_SIGNATURE)):
        return old
    several = len(grade.challenges) > 1
    sentences = [f"{points(grade.total)} of {_MOST} points."]
    for challenge in grade.challenges.values():
        if challenge.lateness.is_late:
            about = f"{challenge.challenge}: " if several else ""
            sentences.append(f"{about}{_late_words(challenge, grade)}")
    for override in grade.overrides:
        about = f"{override.challenge}: " if override.challenge and several else ""
        comment = f" {override.comment}" if override.comment else ""
        sentences.append(f"{about}A person decided on {points(override.points)} points.{comment}")
    return visible(_SIGNATURE + " ".join(sentences))


def _late_words(challenge: ChallengeGrade, grade: StudentGrade) -> str:
    days = challenge.lateness.days
    late = "Late" if not days else f"{days} {'day' if days == 1 else 'days'} late"
    penalty = 0.0 if grade.override is not None else penalty_taken(challenge)
    return f"{late}: {points(penalty)} points off." if penalty else f"{late}."


def _cell(text: str, heading: str, layout: Layout) -> str:
    """Return a cell exactly, or with an apostrophe if a spreadsheet could compute it."""
    exact = (*layout.keys, *_OTHER_IDS, *_FEEDBACK, "Grading Notes")
    is_exact = heading in exact or _NUMBER.fullmatch(text.strip())
    return text if is_exact else _harmless(text)


def _harmless(text: str) -> str:
    return text if cell_of(text) == visible(text) else f"'{text}"


def _line(cells: Sequence[str], is_quoted: bool) -> str:
    # In some countries, spreadsheets split cells at semicolons. Quotes keep a name with a
    # semicolon in one cell. In Canvas' row of points, cells must be empty and without quotes.
    is_quoted = is_quoted or any(";" in cell for cell in cells)
    buffer = io.StringIO()
    csv.writer(
        buffer, quoting=csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL, lineterminator="\n"
    ).writerow(cells)
    return buffer.getvalue()
