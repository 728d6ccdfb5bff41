"""Read the roster of a class: a CSV file with any columns, or the export of a system.

- Canvas, gradebook: "Student" (or "LastName" and "FirstName"), "ID", "SIS User ID",
  "SIS Login ID", "Section", then `Title (12345)` for each assignment. A row "Points Possible" comes
  first, and "Student, Test" is not a student.
- Moodle, grading worksheet: "Identifier" ("Participant 12345"), "Full name", "Grade", "Last
  modified (submission)" and others. Its list of participants: "First name", "Last name" (older:
  "Surname"), "ID number", "Email address".
- Blackboard, grade centre: "Last Name", "First Name", "Username", "Student ID", "Last Access",
  "Availability", then `Title [Total Pts: 100 Score] |12345`. The file has tabs, is in UTF-16 and
  ends in .xls, or is a CSV file.
- Gradescope, roster: "First Name" and "Last Name" or "Name", "SID", "Email", "Role".

Sources: Canvas Instructor Guide, "How do I import grades in the Gradebook?"; MoodleDocs, "Offline
grading worksheet" and "Participants"; Blackboard Help, "Work Offline With Grade Data"; Gradescope
Help, "Adding Students and Staff".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attn_drill.classroom.csv_file import CsvLine, listed, plain_heading, read_csv
from attn_drill.classroom.records import Student, System
from attn_drill.classroom.students import ID, folded, in_order, key_form, with_unique_names
from attn_drill.model.errors import DrillError

# The headings of a column in the form of `plain_heading`. Earlier headings come first.
NAME = ("student", "fullname", "name", "studentname", "displayname")
FIRST_NAME = ("firstname", "givenname", "forename", "first")
LAST_NAME = ("lastname", "surname", "familyname", "last")
LOGIN = ("sisloginid", "login", "loginid", "username", "user", "netid")
EMAIL = ("emailaddress", "email", "mail")

NEXT_STEP = "Name a CSV file with the columns id, name and email, or the export of your system."
_PARTICIPANT = re.compile(r"\D*([0-9]+)\s*")
_BLACKBOARD_COLUMN = re.compile(
    r"(?P<title>.+?)(?: *\[[^\[\]]*?: *(?P<points>[0-9.]+)[^\[\]]*\])? *\| *[0-9]+ *", re.DOTALL
)
_COLUMNS: Mapping[System, re.Pattern[str]] = {
    "canvas": re.compile(r"(?P<title>.+?) *\([0-9]+\) *", re.DOTALL),
    "blackboard": _BLACKBOARD_COLUMN,
}
# The column with the id that the system writes into the file names of a student.
_SYSTEM_ID: Mapping[System, str] = {
    "canvas": "id",
    "moodle": "identifier",
    "blackboard": "username",
}


@dataclass(frozen=True)
class Roster:
    """The students of a class, with distinct names, in the order of the file."""

    students: tuple[Student, ...]
    system: System = ""  # whose export the roster is
    # The points possible of each assignment's column in Canvas' gradebook, by heading.
    possible: Mapping[str, str] = field(default_factory=dict)


def read_roster(path: Path) -> Roster:
    """Read a roster, or raise DrillError."""
    table = read_csv(path, NEXT_STEP)
    system = system_of(table.headings)
    has_name = table.has(*NAME) or (table.has(*FIRST_NAME) and table.has(*LAST_NAME))
    has_two = sum((table.has(*ID, *LOGIN), has_name, table.has(*EMAIL))) >= 2
    if not has_two and not table.has("identifier"):  # Moodle hides the names of its worksheet
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings)}, but a roster needs two of"
            f" id, name and email. {NEXT_STEP}"
        )
    students: list[Student] = []
    lines: dict[str, int] = {}
    for line in table.lines:
        if not _is_student(line, system):
            continue
        student = _student(path, line, system)
        key = key_form(student.id)
        if key and key in lines:
            raise DrillError(
                f"{path}, lines {lines[key]} and {line.number} have the same id {student.id}."
                " Correct or remove one of the two lines."
            )
        lines[key] = line.number
        students.append(student)
    if not students:
        raise DrillError(f"{path} lists no student. {NEXT_STEP}")
    possible = {
        heading: line.cells[heading].strip()
        for line in table.lines
        for heading in assignment_columns(system, table.headings)
        if system == "canvas" and "Points Possible" in next(iter(line.cells.values()))
    }
    return Roster(tuple(with_unique_names(students)), system, possible)


def system_of(headings: Collection[str]) -> System:
    """Return the system that writes these headings; "" for none."""
    plain = {plain_heading(heading) for heading in headings}
    if {"id", "section", "sisloginid"} <= plain and plain & {"student", "lastname"}:
        return "canvas"
    is_worksheet = {"identifier", "grade"} <= plain
    is_participants = {"firstname", "emailaddress"} <= plain and bool(plain & set(LAST_NAME))
    if is_worksheet or (is_participants and not plain & {"sid", "username"}):
        return "moodle"
    if {"lastname", "firstname", "username"} <= plain and (
        plain & {"availability", "lastaccess"} or assignment_columns("blackboard", headings)
    ):
        return "blackboard"
    if "role" in plain and "email" in plain and plain & {"name", "firstname"}:
        return "gradescope"
    return ""


def assignment_columns(system: System, headings: Iterable[str]) -> dict[str, str]:
    """Return the title of each assignment's column, by its heading."""
    if system not in _COLUMNS:
        return {}
    columns = {heading: _COLUMNS[system].fullmatch(heading) for heading in headings}
    return {heading: parts["title"] for heading, parts in columns.items() if parts}


def most_points(blackboard_heading: str) -> str:
    """Return the most points of a column that a heading of Blackboard names, or ""."""
    parts = _BLACKBOARD_COLUMN.fullmatch(blackboard_heading)
    return (parts["points"] or "") if parts else ""


def _is_student(line: CsvLine, system: System) -> bool:
    """Return whether a line is about a student, and not about the columns or the staff."""
    if system == "canvas":  # a line about the columns has no id
        name = line.cell(*NAME) or line.cell(*LAST_NAME) + line.cell(*FIRST_NAME)
        return bool(line.cell("id")) and folded(name) != "studenttest"
    if system == "gradescope":
        return line.cell("role").casefold() in ("student", "")
    if system == "blackboard":  # the preview of a course is not a student
        return not line.cell(*LOGIN).endswith("_previewuser")
    return True


def _student(path: Path, line: CsvLine, system: System) -> Student:
    login, email = line.cell(*LOGIN), line.cell(*EMAIL)
    if system == "canvas" and not email and "@" in login:
        email = login
    system_id = line.cell(_SYSTEM_ID[system]) if system in _SYSTEM_ID else ""
    if system == "moodle":
        number = _PARTICIPANT.fullmatch(system_id)
        system_id = number[1] if number else ""
    # The ids of students who are not in the export come from file names, so they are ids of the
    # system, too.
    student_id = system_id or line.cell(*ID) or login
    full_name = f"{line.cell(*FIRST_NAME)} {line.cell(*LAST_NAME)}".strip()
    name = in_order(line.cell(*NAME)) or full_name or student_id
    if not name:
        raise DrillError(
            f"{path}, line {line.number} has neither a name nor an id. Add one of them, or remove"
            " the line."
        )
    return Student(
        name=f"Participant {name}" if name == system_id and system == "moodle" else name,
        id=student_id,
        login=login,
        email=email,
        system=system,
        system_id=system_id,
        is_in_roster=True,
        row=line.cells,
    )
