"""Read the roster of a class, and find the student of each file in it.

The exports of the systems have these columns:

- Canvas, gradebook: "Student" (or "LastName" and "FirstName"), "ID", "SIS User ID",
  "SIS Login ID", "Section", then a column `Title (12345)` for each assignment. A row
  "Points Possible" comes before the students, and "Student, Test" is not a student.
  source: Canvas Instructor Guide, "How do I import grades in the Gradebook?", and the gradebook
  exporter in the source of Canvas.
- Moodle, grading worksheet: "Identifier" ("Participant 12345"), "Full name", sometimes
  "ID number", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed",
  "Last modified (submission)", "Last modified (grade)", "Feedback comments".
  source: MoodleDocs, "Assignment settings: Offline grading worksheet", and the importer
  `assignfeedback_offline` in the source of Moodle.
- Moodle, participants: "First name", "Last name" (older: "Surname"), "ID number", "Email address".
  source: MoodleDocs, "Participants".
- Blackboard, grade centre: "Last Name", "First Name", "Username", "Student ID", "Last Access",
  "Availability", then `Title [Total Pts: 100 Score] |12345` for each column. The file is
  tab-delimited in UTF-16 with the ending .xls, or a CSV file. If only one column is downloaded,
  "Grading Notes", "Notes Format", "Feedback to Learner" and "Feedback Format" follow it.
  source: Blackboard Help for Instructors, "Work Offline With Grade Data".
- Gradescope, roster: "First Name" and "Last Name" or "Name", "SID", "Email", "Role".
  source: Gradescope Help, "Adding Students and Staff".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainer.classroom.csv_file import CsvLine, CsvTable, listed, plain_heading, read_csv
from trainer.classroom.name_forms import folded, in_order, key_form, name_forms, without_accents
from trainer.classroom.records import Student, System
from trainer.model.errors import DrillError

# The headings of a column in the form of `plain_heading`. Earlier headings come first.
NAME = ("student", "fullname", "name", "studentname", "displayname")
FIRST_NAME = ("firstname", "givenname", "forename", "first")
LAST_NAME = ("lastname", "surname", "familyname", "last")
ID = (
    *("sisuserid", "studentid", "idnumber", "studentnumber", "studentno", "sid", "userid"),
    *("matriculationnumber", "id"),
)
LOGIN = ("sisloginid", "login", "loginid", "username", "user", "netid")
EMAIL = ("emailaddress", "email", "mail")

NEXT_STEP = "Name a CSV file with the columns id, name and email, or the export of your system."
_PARTICIPANT = re.compile(r"\D*([0-9]+)\s*")
_CANVAS_COLUMN = re.compile(r"(?P<title>.+?) *\((?P<id>[0-9]+)\) *", re.DOTALL)
_BLACKBOARD_COLUMN = re.compile(
    r"(?P<title>.+?)(?: *\[[^\[\]]*?: *(?P<points>[0-9.]+)[^\[\]]*\])? *\| *(?P<id>[0-9]+) *",
    re.DOTALL,
)
_POSTING = re.compile(r"\s*(muted|manual posting.*)?\s*", re.IGNORECASE)
_PARTS = re.compile(r"[\s,;()\[\]_]+")
_LEAST_PART = 4  # a short number in a file name, for example `gqa_2`, is hardly an id


@dataclass(frozen=True)
class RosterEntry:
    """One student of the roster.

    Attributes:
        student: the student. The name is unique within the roster: "Ana Lee", or "Ana Lee (101)" if
            there are two of them. The row has all cells and headings exactly as read.
        full_name: the name without the addition that makes it unique, or "".
        line: the number of the line in the file.
    """

    student: Student
    full_name: str
    line: int


@dataclass(frozen=True)
class Roster:
    """The students of a class.

    Attributes:
        entries: the students, in the order of the file.
        system: the system whose export the roster is; "" for none.
        possible: the points possible of each assignment's column, by heading, as Canvas writes
            them. Empty for other systems.
    """

    entries: tuple[RosterEntry, ...]
    system: System = ""
    possible: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Match:
    """The student of the roster that a file belongs to.

    Attributes:
        name: the name that the file gives its student.
        candidates: every student that the name fits: none if the file belongs to nobody, and
            several if the name does not decide.
    """

    name: str
    candidates: tuple[RosterEntry, ...]

    @property
    def entry(self) -> RosterEntry | None:
        """The student, or None if the file belongs to nobody or the name fits several students."""
        return self.candidates[0] if len(self.candidates) == 1 else None


def read_roster(path: Path) -> Roster:
    """Read a roster.

    Raises:
        DrillError: one sentence that names the file, the line and the next step.
    """
    table = read_csv(path, NEXT_STEP)
    system = system_of(table.headings)
    _require_columns(path, table, system)
    lines = [line for line in table.lines if _is_student(line, table, system)]
    entries = [_entry(path, line, table, system) for line in lines]
    if not entries:
        raise DrillError(f"{path} lists no student. {NEXT_STEP}")
    _require_unique(path, entries, lambda entry: entry.student.id)
    _require_unique(path, entries, lambda entry: entry.student.system_id)
    return Roster(_with_unique_names(entries), system, _possible(table, system))


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
        plain & {"availability", "lastaccess"} or _columns(_BLACKBOARD_COLUMN, headings)
    ):
        return "blackboard"
    if "role" in plain and "email" in plain and plain & {"name", "firstname"}:
        return "gradescope"
    return ""


def assignment_columns(system: System, headings: Iterable[str]) -> dict[str, str]:
    """Return the title of each assignment's column, by its heading."""
    if system == "canvas":
        return _columns(_CANVAS_COLUMN, headings)
    if system == "blackboard":
        return _columns(_BLACKBOARD_COLUMN, headings)
    return {}


def most_points(blackboard_heading: str) -> str:
    """Return the most points of a column that a heading of Blackboard names, or ""."""
    found = _BLACKBOARD_COLUMN.fullmatch(blackboard_heading)
    return (found["points"] or "") if found else ""


def match(roster: Roster, students: Iterable[tuple[str, System, str]]) -> list[Match]:
    """Find the student of each file.

    The id in a system's file names decides if the roster is the export of this system. Otherwise,
    a name may be the id, the user name, the e-mail address, the part of the address before the @,
    or the name of the student. Accents count only if the name fits somebody with them.

    Args:
        roster: the students of the class.
        students: the name, the system and the system's id of the students in the file names.
    """
    index = _Index(roster)
    return [
        Match(name, tuple(index.find(name, system, system_id)))
        for name, system, system_id in students
    ]


class _Index:
    """The students of a roster, by everything that identifies them."""

    def __init__(self, roster: Roster) -> None:
        self._system = roster.system
        self._entries = roster.entries
        self._by_system_id = _by(roster.entries, lambda entry: [entry.student.system_id])
        self._by_key = _by(roster.entries, _keys)
        self._by_name = _by(roster.entries, lambda entry: name_forms(entry.full_name), folded)
        self._by_plain_name = _by(
            roster.entries,
            lambda entry: map(without_accents, name_forms(entry.full_name)),
            without_accents,
        )

    def find(self, name: str, system: System, system_id: str) -> list[RosterEntry]:
        """Return every student that a name fits."""
        is_same_system = bool(system_id) and system == self._system
        name = name.removesuffix(f" ({system_id})")  # makes names from a system unique
        if is_same_system and (found := self._by_system_id.get(key_form(system_id))):
            return self._chosen(found)
        indices = self._by_key.get(key_form(name), set())
        named = self._named(name)
        if system:
            # An id of another system may be a number that means somebody else here. So the name
            # must agree with it.
            indices = indices | self._by_key.get(key_form(system_id), set()) | named
        else:
            indices = indices or named or self._in_parts(name)
        return [
            entry
            for entry in self._chosen(indices)
            # Somebody with another id in the same system is another person of the same name.
            if not (is_same_system and entry.student.system_id)
        ]

    def _chosen(self, indices: Iterable[int]) -> list[RosterEntry]:
        return [self._entries[index] for index in sorted(indices)]

    def _named(self, name: str) -> set[int]:
        """Return the students with this name, in any order of first and last names."""
        ordered = in_order(name)
        return self._by_name.get(folded(ordered)) or self._by_plain_name.get(
            without_accents(ordered), set()
        )

    def _in_parts(self, name: str) -> set[int]:
        """Return the students whose id or address is a part of the name: "12345_gqa"."""
        parts = [key_form(part) for part in _PARTS.split(name) if len(part) >= _LEAST_PART]
        found: set[int] = set()
        for part in parts:
            if "@" in part or any(character.isdigit() for character in part):
                found |= self._by_key.get(part, set())
        return found


def _by(
    entries: Sequence[RosterEntry],
    keys: Callable[[RosterEntry], Iterable[str]],
    form: Callable[[str], str] = key_form,
) -> dict[str, set[int]]:
    """Return the positions of the students with each key. Empty keys do not count."""
    found: dict[str, set[int]] = defaultdict(set)
    for index, entry in enumerate(entries):
        for key in keys(entry):
            if key and form(key):
                found[form(key)].add(index)
    return dict(found)


def _keys(entry: RosterEntry) -> tuple[str, ...]:
    """Return everything except the name that identifies a student in a file name."""
    local_part = entry.student.email.partition("@")[0]
    return (
        entry.student.id,
        *ids_in(entry.student.row),
        entry.student.login,
        entry.student.email,
        local_part,
    )


def ids_in(row: Mapping[str, str]) -> list[str]:
    """Return all ids in a row of a roster, for example Canvas' own id and the university's."""
    return [cell.strip() for heading, cell in row.items() if plain_heading(heading) in ID]


# Reading


def _require_columns(path: Path, table: CsvTable, system: System) -> None:
    """Raise DrillError if the table has fewer than two of the columns id, name and email."""
    has_name = table.heading(*NAME) or (table.heading(*FIRST_NAME) and table.heading(*LAST_NAME))
    known = (table.heading(*ID, *LOGIN), has_name, table.heading(*EMAIL))
    is_worksheet = system == "moodle" and table.heading("identifier")
    if sum(map(bool, known)) < 2 and not is_worksheet:
        raise DrillError(
            f"{path}, line 1 has the columns {listed(table.headings) or 'without a name'}, but a"
            " roster needs two of id, name and email. Rename its columns, or name the export of"
            " your system."
        )


def _is_student(line: CsvLine, table: CsvTable, system: System) -> bool:
    """Return whether a line is about a student, and not about the columns or the staff."""
    cells = list(line.cells.values())
    if system == "canvas":
        is_about_columns = _has_possible(line) or all(_POSTING.fullmatch(cell) for cell in cells)
        return not is_about_columns and folded("".join(_names(line, table))) != "studenttest"
    if system == "gradescope":
        return _cell(line, table, ("role",)).casefold() in ("student", "")
    if system == "blackboard":  # the preview of a course is not a student
        return not _cell(line, table, LOGIN).endswith("_previewuser")
    return True


def _has_possible(line: CsvLine) -> bool:
    """Return whether a line of Canvas' gradebook has the points possible of each assignment."""
    return "Points Possible" in next(iter(line.cells.values()))


def _possible(table: CsvTable, system: System) -> dict[str, str]:
    """Return the points possible of each assignment's column in Canvas' gradebook."""
    columns = assignment_columns(system, table.headings)
    lines = [line for line in table.lines if system == "canvas" and _has_possible(line)]
    return {heading: line.cells[heading].strip() for line in lines for heading in columns}


def _entry(path: Path, line: CsvLine, table: CsvTable, system: System) -> RosterEntry:
    """Return the student of a line.

    Raises:
        DrillError: the line has neither a name nor an id.
    """
    last, first, full = _names(line, table)
    login, email = _cell(line, table, LOGIN), _cell(line, table, EMAIL)
    system_id = _system_id(line, table, system)
    student_id = next((cell for name in ID if (cell := _cell(line, table, (name,)))), "")
    name = in_order(full) or f"{first} {last}".strip()
    if not (name or student_id or login or system_id):
        raise DrillError(
            f"{path}, line {line.number} has neither a name nor an id. Add one of them, or remove"
            " the line."
        )
    if system == "canvas" and not email and "@" in login:
        email = login
    student = Student(
        name=name or student_id or login or f"Participant {system_id}",
        # The ids of students who are not in the export come from file names, so they are ids of
        # the system, too.
        id=system_id or student_id or login,
        login=login,
        email=email,
        system=system,
        system_id=system_id,
        is_in_roster=True,
        row=line.cells,
    )
    return RosterEntry(student, name, line.number)


def _system_id(line: CsvLine, table: CsvTable, system: System) -> str:
    """Return the id that the system writes into the file names of a student, or ""."""
    if system == "canvas":
        return _cell(line, table, ("id",))
    if system == "blackboard":
        return _cell(line, table, ("username",))
    if system == "moodle":
        found = _PARTICIPANT.fullmatch(_cell(line, table, ("identifier",)))
        return found[1] if found else ""
    return ""


def _names(line: CsvLine, table: CsvTable) -> tuple[str, str, str]:
    """Return the last name, the first name and the full name. Unknown names are ""."""
    return (
        _cell(line, table, LAST_NAME),
        _cell(line, table, FIRST_NAME),
        _cell(line, table, NAME),
    )


def _cell(line: CsvLine, table: CsvTable, names: Sequence[str]) -> str:
    heading = table.heading(*names)
    return "" if heading is None else line.cells[heading].strip()


def _require_unique(
    path: Path, entries: Sequence[RosterEntry], key: Callable[[RosterEntry], str]
) -> None:
    lines: dict[str, int] = {}
    for entry in entries:
        form = key_form(key(entry))
        if form and form in lines:
            raise DrillError(
                f"{path}, lines {lines[form]} and {entry.line} have the same id {key(entry)}."
                " Correct or remove one of the two lines."
            )
        lines[form] = entry.line


def _with_unique_names(entries: Sequence[RosterEntry]) -> tuple[RosterEntry, ...]:
    """Return the students with different names: "Ana Lee (101)" and "Ana Lee (102)"."""
    count: dict[str, int] = defaultdict(int)
    for entry in entries:
        count[_alike(entry.student.name)] += 1
    return tuple(
        replace(
            entry,
            student=replace(entry.student, name=f"{entry.student.name} ({_addition(entry)})"),
        )
        if count[_alike(entry.student.name)] > 1
        else entry
        for entry in entries
    )


def _alike(name: str) -> str:
    return " ".join(key_form(name).split())


def _addition(entry: RosterEntry) -> str:
    return entry.student.id or entry.student.email or f"line {entry.line}"


def _columns(pattern: re.Pattern[str], headings: Iterable[str]) -> dict[str, str]:
    found = {heading: pattern.fullmatch(heading) for heading in headings}
    return {heading: parts["title"] for heading, parts in found.items() if parts}
