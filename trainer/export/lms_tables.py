"""Write the grades of a class for the gradebook import of Canvas, Moodle and Blackboard.

If the roster is the system's own export, the cells that identify a student are repeated exactly,
and only the points and the feedback change. The columns of other assignments are left out, because
their grades may have changed since the export. The docstring of `trainer/classroom/roster.py` has
the columns.

An import must not remove a grade. Moodle ignores an empty cell, so a student without a total has
an empty cell. Canvas and Blackboard may remove the grade of an empty cell. So their tables repeat
the grade that the roster has for such a student; without one, the cell is empty.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from trainer.report.class_words import points
from trainer.report.visible import visible

_MOST = 100  # points
# The addition that makes the name of a student unique: "Ana Lee (101)".
_ADDITION = re.compile(r" \([^()]*\)\Z")
# The feedback begins with this, so that a later table replaces it and never a person's text.
_SIGNATURE = "attn-drill: "
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
# No system gives a user an id like this. The cell cannot be made harmless, because the id would
# then be another id. So the student is left out.
_DANGEROUS_ID = re.compile(r"[\t\r\n]|\s*[=@＝＠]|\s*[+\-＋－].*[(|!]", re.DOTALL)

_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_CANVAS_IDENTITY = frozenset((*_CANVAS, "LastName", "FirstName", "Integration ID", "Root Account"))
_MOODLE = (
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"),
    *("Grade can be changed", "Last modified (submission)", "Last modified (grade)"),
    "Feedback comments",
)
_BLACKBOARD = ("Last Name", "First Name", "Username", "Student ID")
# Cells that the system compares with its own data, and texts that teachers wrote. A change of these
# cells would do harm, so they are repeated exactly.
_EXACT = frozenset(
    (
        *("ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account"),
        *("Identifier", "Feedback comments"),
        *("Username", "Student ID", "Grading Notes", "Feedback to Learner"),
    )
)

_Row = Mapping[str, str]


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


def canvas_csv(gradebook: Gradebook) -> LmsTable:
    """Return the table for Canvas: Grades, Import.

    source: Canvas Instructor Guide, "How do I import grades in the Gradebook?".
    """
    title = gradebook.assignment.title
    own_headings = _roster_headings(gradebook, "canvas")
    fitting = _fitting_columns("canvas", own_headings, title)
    column = fitting[0] if len(fitting) == 1 else title
    identity = [heading for heading in own_headings if heading.strip() in _CANVAS_IDENTITY]
    headings = (*(identity or _CANVAS), column)
    possible = {headings[0]: "    Points Possible", column: str(_MOST)}
    excused: list[str] = []

    def row(grade: StudentGrade) -> _Row | None:
        student = grade.student
        known = _own_row(student, "canvas") or {
            "Student": student.name,
            "ID": student.system_id if student.system == "canvas" else "",
            "SIS User ID": _school_id(student),
            "SIS Login ID": student.login,
            "Section": "",
        }
        if not any(known.get(key) for key in ("ID", "SIS User ID", "SIS Login ID")):
            return None
        old = known.get(column, "")
        if _is_excused(old):
            excused.append(student.name)
            return known
        return {**known, column: _grade_cell(grade, old)}

    table = _table(gradebook, headings, row, before=(possible,))
    if excused:
        note = f"These students are excused in Canvas and stay so: {', '.join(excused)}."
        table = replace(table, notes=(note,))
    if column in own_headings:
        return _with_note(table, {gradebook.possible.get(column, "")}, f"the column {column}")
    return LmsTable(
        table.text, table.left_out, (_new_column_note("Canvas", title, own_headings, fitting),)
    )


def moodle_csv(gradebook: Gradebook) -> LmsTable:
    """Return the grading worksheet for Moodle.

    source: MoodleDocs, "Assignment settings: Offline grading worksheet". The importer reads
    "Identifier", "Grade", "Last modified (grade)" and "Feedback comments".
    """
    headings = _roster_headings(gradebook, "moodle") or _MOODLE

    def row(grade: StudentGrade) -> _Row | None:
        student = grade.student
        known = _own_row(student, "moodle")
        if not known:
            if student.system != "moodle" or not student.system_id:
                return None
            known = _new_moodle_row(grade)
        feedback = known.get("Feedback comments", "")
        return {
            **known,
            "Grade": "" if grade.total is None else points(grade.total),
            "Feedback comments": _feedback(grade, feedback),
        }

    table = _table(gradebook, headings, row)
    most = {
        _own_row(grade.student, "moodle").get(heading, "")
        for grade in gradebook.rows
        for heading in headings
        if heading.casefold() == "maximum grade"
    }
    return _with_note(table, most, "the assignment in Moodle")


def blackboard_csv(gradebook: Gradebook) -> LmsTable:
    """Return the table for Blackboard: Grade Centre, Work Offline, Upload.

    Blackboard accepts tab-delimited files and CSV files. Every cell of a CSV file must have
    quotes. Feedback is possible only if the roster is the file of a single column.
    source: Blackboard Help for Instructors, "Work Offline With Grade Data".
    """
    title = gradebook.assignment.title
    own_headings = _roster_headings(gradebook, "blackboard")
    headings = own_headings or _BLACKBOARD
    fitting = _fitting_columns("blackboard", headings, title)
    column = fitting[0] if len(fitting) == 1 else f"{title} [Total Pts: {_MOST} Score]"
    others = assignment_columns("blackboard", headings).keys() - {column}
    headings = tuple(dict.fromkeys((*(name for name in headings if name not in others), column)))

    def row(grade: StudentGrade) -> _Row | None:
        known = _own_row(grade.student, "blackboard") or _new_blackboard_row(grade.student)
        if not known["Username"]:
            return None
        old = known.get(column, "")
        # A cell of a file that is not graded has words, for example "Needs Grading".
        cells = {column: _grade_cell(grade, old if _NUMBER.fullmatch(old.strip()) else "")}
        if "Feedback to Learner" in known and column in own_headings:
            feedback = _feedback(grade, known["Feedback to Learner"])
            if feedback != known["Feedback to Learner"] and "Feedback Format" in known:
                cells["Feedback Format"] = "PLAIN_TEXT"
            cells["Feedback to Learner"] = feedback
        return {**known, **cells}

    table = _table(gradebook, headings, row, is_quoted=True)
    if column in own_headings:
        return _with_note(table, {most_points(column)}, f"the column {column}")
    return LmsTable(
        table.text, table.left_out, (_new_column_note("Blackboard", title, own_headings, fitting),)
    )


def _new_column_note(
    system: str, title: str, own_headings: Sequence[str], fitting: Sequence[str]
) -> str:
    if fitting:
        return (
            f"The roster has {len(fitting)} columns “{title}”: {', '.join(fitting)}. So {system}"
            " will make a new column. To fill one of them, give the assignment its whole heading as"
            " the title."
        )
    if own_headings:
        return (
            f"No column of the roster has the title “{title}”, so {system} will make a new column."
            " To fill the column of an assignment, give the assignment the same title."
        )
    return (
        f"{system} will make a new column “{title}”. To fill the column of an assignment, name"
        f" {system}'s own file with --roster, and give the assignment the same title."
    )


# Columns


def _own_row(student: Student, system: System) -> _Row:
    """Return the student's row of the roster if the system can import it, otherwise {}."""
    can_import = system_of(student.row) == system and (
        system != "moodle" or {"Identifier", "Grade"} <= set(student.row)
    )
    return student.row if can_import else {}


def _roster_headings(gradebook: Gradebook, system: System) -> tuple[str, ...]:
    """Return the columns of the roster if the system wrote it, otherwise ()."""
    rows = (_own_row(grade.student, system) for grade in gradebook.rows)
    return tuple(next((row for row in rows if row), ()))


def _fitting_columns(system: System, headings: Sequence[str], title: str) -> list[str]:
    """Return the headings of the roster's columns with this title. A heading itself fits, too.

    A file of Blackboard with columns for feedback has a single column, which the teacher chose. So
    its title does not matter.
    """
    columns = assignment_columns(system, headings)
    for wanted in (
        [heading for heading in columns if heading.strip() == title.strip()],
        [heading for heading, own in columns.items() if own.strip() == title.strip()],
        [heading for heading, own in columns.items() if folded(own) == folded(title)],
        list(columns) if "Feedback to Learner" in headings else [],
    ):
        if wanted:
            return wanted
    return []


# Cells


def _new_moodle_row(grade: StudentGrade) -> dict[str, str]:
    student = grade.student
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
    }


def _school_id(student: Student) -> str:
    """Return the id of the roster, unless it is only the number of a learning management system."""
    return student.id if student.is_in_roster and student.id != student.system_id else ""


def _moodle_words(time: float) -> str:
    """Return a time as Moodle writes it: "Saturday, 21 November 2026, 10:11 PM"."""
    when = datetime.fromtimestamp(time)
    clock = f"{when:%I:%M %p}".lstrip("0")
    return f"{when:%A}, {when.day} {when:%B %Y}, {clock}"


def _new_blackboard_row(student: Student) -> dict[str, str]:
    first, last = _first_and_last_name(student)
    is_user = student.system == "blackboard"
    return {
        "Last Name": last,
        "First Name": first,
        "Username": student.login or (student.system_id if is_user else ""),
        "Student ID": _school_id(student),
    }


def _first_and_last_name(student: Student) -> tuple[str, str]:
    """Return the names in the roster's own columns, otherwise the parts of the full name."""
    cells = {plain_heading(heading): cell.strip() for heading, cell in student.row.items()}
    first, last = (
        next((cells[name] for name in names if cells.get(name)), "")
        for names in (FIRST_NAME, LAST_NAME)
    )
    if not (first and last):
        first, _, last = _ADDITION.sub("", student.name).rpartition(" ")
    return first, last


def _is_excused(cell: str) -> bool:
    """Return whether a cell of Canvas says that the student need not hand in anything."""
    return cell.strip().upper() == "EX"


def _grade_cell(grade: StudentGrade, old: str) -> str:
    """Return the points of a student, or the roster's own cell if there are none."""
    return old if grade.total is None else points(grade.total)


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
    # No penalty is taken from points that a person decided.
    is_decided = challenge.override is not None or grade.override is not None
    if challenge.lateness.penalty and not is_decided:
        return f"{late}: {points(challenge.lateness.penalty)} points off."
    return f"{late}."


# Text


def _table(
    gradebook: Gradebook,
    headings: Sequence[str],
    row_of: Callable[[StudentGrade], _Row | None],
    *,
    before: Iterable[_Row] = (),
    is_quoted: bool = False,
) -> LmsTable:
    """Return the table with a row for each student whom the system can identify."""
    lines = [_line([_harmless(heading) for heading in headings], is_quoted)]
    lines += [_line([row.get(heading, "") for heading in headings], is_quoted) for row in before]
    left_out: list[str] = []
    for grade in gradebook.rows:
        # A file that belongs to nobody must not become a new student of the system.
        row = None if grade.student.is_in_roster is False else row_of(grade)
        if row is None or any(_DANGEROUS_ID.match(row.get(key, "")) for key in _keys()):
            left_out.append(grade.student.name)
        else:
            lines.append(_line([_cell(row, heading) for heading in headings], is_quoted))
    return LmsTable("".join(lines), tuple(left_out))


def _keys() -> frozenset[str]:
    """Return the columns that identify a student."""
    return _EXACT - {"Feedback comments", "Grading Notes", "Feedback to Learner"}


def _cell(row: _Row, heading: str) -> str:
    """Return a cell exactly, or with an apostrophe if a spreadsheet could compute it."""
    text = row.get(heading, "")
    is_exact = heading in _EXACT or _NUMBER.fullmatch(text.strip())
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


def _with_note(table: LmsTable, most: Iterable[str], place: str) -> LmsTable:
    """Return the table, with a note if the place has another maximum than 100 points."""
    others = sorted(
        number
        for number in most
        if _NUMBER.fullmatch(number) and float(number.replace(",", ".")) != _MOST
    )
    if not others:
        return table
    note = f"The maximum of {place} is {others[0]} points. Change it to {_MOST} before the import."
    return replace(table, notes=(*table.notes, note))
