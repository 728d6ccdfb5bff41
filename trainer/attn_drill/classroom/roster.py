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

import csv
import difflib
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.records import Student, System
from attn_drill.model.errors import DrillError
from attn_drill.model.words import first_of

_SAVE_AS = "In the spreadsheet, save the table as “CSV UTF-8” and name that file."
_MOST_COLUMNS = 12  # in one sentence

# The columns of a roster with an id, in the form of `plain_heading`. Earlier headings come first.
ID = (
    *("sisuserid", "studentid", "idnumber", "studentnumber", "studentno", "sid", "userid"),
    *("matriculationnumber", "id"),
)
Value = TypeVar("Value")

_LEAST_PART = 4  # a short number in a file name, for example `gqa_2`, is hardly an id
_PARTS = re.compile(r"[\s,;()\[\]_]+")
# The addition that makes a name unique: "Ana Lee (101)".
_ADDITION = re.compile(r" \([^()]*\)\Z")
# Letters with a stroke or a ligature, which Unicode does not take apart.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv"))  # "Sammy Davis, Jr." is not turned around

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
class CsvLine:
    """One line of a table."""

    number: int  # of its last line in the file, from 1: a cell may hold line ends
    cells: Mapping[str, str]  # exactly as read, by heading

    def cell(self, *names: str) -> str:
        """Return the cell of the first of these plain headings that is not empty, or ""."""
        by_name: dict[str, str] = {}
        for heading, cell in self.cells.items():
            by_name.setdefault(plain_heading(heading), cell.strip())
        return next((by_name[name] for name in names if by_name.get(name)), "")


@dataclass(frozen=True)
class CsvTable:
    """A table with a heading for each column. Empty lines are left out."""

    headings: tuple[str, ...]
    lines: tuple[CsvLine, ...]

    def has(self, *names: str) -> bool:
        """Return whether one of these plain headings exists."""
        return not {plain_heading(heading) for heading in self.headings}.isdisjoint(names)


def plain_heading(heading: str) -> str:
    """Return a heading in small letters, without blanks and punctuation.

    >>> plain_heading(" E-Mail ")
    'email'
    """
    folded = unicodedata.normalize("NFKC", heading).casefold()
    return "".join(character for character in folded if character.isalnum())


def listed(names: Iterable[str]) -> str:
    """Return names of columns for a sentence.

    >>> listed(["id", " ", "name"])
    '“id”, “name”'
    """
    return first_of([f"“{name.strip()}”" for name in names if name.strip()], _MOST_COLUMNS)


def read_csv(path: Path, next_step: str) -> CsvTable:
    """Read a table with commas, semicolons or tabs, in UTF-8 or UTF-16, or raise DrillError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DrillError(f"{path} cannot be read: {error.strerror or error}. {next_step}") from None
    # Blackboard writes UTF-16, with or without a mark. A heading begins with a letter of ASCII.
    is_marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if is_marked else "utf-16-le" if data[1:2] == b"\0" else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise DrillError(f"{path} is no CSV file in UTF-8 or UTF-16. {_SAVE_AS}") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key="".join(first.split('"')[::2]).count)  # outside of quotes
    reader = csv.DictReader(
        io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter, restval="", strict=True
    )
    headings = tuple(reader.fieldnames or ())
    if not headings:
        raise DrillError(f"{path} is empty. {next_step}")
    lines: list[CsvLine] = []
    try:
        for row in reader:
            extra = row.pop(None, ())
            if any(cell.strip() for cell in extra):
                raise DrillError(
                    f"{path}, line {reader.line_num} has {len(headings) + len(extra)} cells, but"
                    f" the first line names {len(headings)} columns. Write quotes around a cell"
                    " that has a comma in it."
                )
            if any(cell.strip() for cell in row.values()):
                lines.append(CsvLine(reader.line_num, row))
    except csv.Error as error:
        raise DrillError(
            f"{path}, line {reader.line_num + 1} cannot be read: {error}. {_SAVE_AS}"
        ) from None
    return CsvTable(headings, tuple(lines))


def key_form(text: str) -> str:
    """Return the form in which ids, user names and addresses are compared.

    >>> key_form(" Ana.Lee ")
    'ana.lee'
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded(name: str) -> str:
    """Return a name in small letters without accents, blanks and punctuation.

    >>> folded("O'Neil-Łuk, Zoë")
    'oneillukzoe'
    """
    apart = unicodedata.normalize("NFD", key_form(name)).translate(_PLAIN)
    kinds = ((each, unicodedata.category(each)) for each in apart)
    return "".join(each for each, kind in kinds if kind[0] in "LNM" and kind != "Mn")


def in_order(name: str) -> str:
    """Return a name with the first name first.

    >>> in_order("Lee, Ana")
    'Ana Lee'
    """
    last, comma, first = (part.strip() for part in name.partition(","))
    is_turned = comma and first and last and "," not in first and folded(first) not in _SUFFIXES
    return " ".join((f"{first} {last}" if is_turned else name).split())


class StudentIndex:
    """The students of a class, by everything that identifies them.

    A student may be named by id, user name, e-mail address, the part of the address before the @,
    anonymous id, or name. A name has its first or its last word first, with or without blanks,
    punctuation and accents. With "" for the salt, there are no anonymous ids.
    """

    def __init__(self, students: Sequence[Student], salt: str = "") -> None:
        self._by_exact_name = {student.name: student for student in students}
        self._by_key: dict[str, list[Student]] = defaultdict(list)
        self._by_name: dict[str, list[Student]] = defaultdict(list)
        hidden = anonymous_ids(self._by_exact_name, salt) if salt else {}
        for student in students:
            # A row may have several ids, for example Canvas' own id and the university's.
            ids = [cell for heading, cell in student.row.items() if plain_heading(heading) in ID]
            keys = (
                *(student.id, student.system_id, *ids, student.login, student.email),
                *(student.email.partition("@")[0], hidden.get(student.name, "")),
            )
            for key in {key_form(key) for key in keys} - {""}:
                self._by_key[key].append(student)
            for name in _name_forms(student.name) | _name_forms(_ADDITION.sub("", student.name)):
                self._by_name[name].append(student)

    def find_all(self, words: str) -> list[Student]:
        """Return every student whom the words fit; of an exact name, only its student.

        An id or an address may be a part of the words: `12345_gqa`.
        """
        if words in self._by_exact_name:
            return [self._by_exact_name[words]]
        parts = [
            student
            for part in _PARTS.split(words)
            if len(part) >= _LEAST_PART and ("@" in part or any(map(str.isdigit, part)))
            for student in self._by_key.get(key_form(part), [])
        ]
        fitting = (
            self._by_key.get(key_form(words)) or self._by_name.get(folded(in_order(words))) or parts
        )
        return list({student.name: student for student in fitting}.values())

    def find(self, words: str) -> Student:
        """Return the only student whom the words fit, or raise DrillError."""
        fitting = self.find_all(words)
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise DrillError(_several(words, fitting))
        near = difflib.get_close_matches(words, self._by_exact_name, n=3, cutoff=0.5)
        hint = (
            f"Did you mean {' or '.join(map(repr, near))}?" if near else "grades.csv has all names."
        )
        raise DrillError(f"No student of this class is called {words!r}. {hint}")


def by_student(
    table: Iterable[tuple[str, Value]], students: Sequence[Student], source: str
) -> tuple[dict[str, Value], list[str]]:
    """Return a table of a person by the names of the students, and its keys that fit nobody.

    Raise DrillError if a key fits several students, or a student has two different values.
    """
    index = StudentIndex(students)
    values: dict[str, Value] = {}
    unknown: list[str] = []
    for key, value in table:
        fitting = index.find_all(key)
        if len(fitting) > 1:
            raise DrillError(f"{source}: {_several(key, fitting)}")
        if not fitting:
            unknown.append(key)
        elif values.setdefault(fitting[0].name, value) != value:
            raise DrillError(
                f"{source} has two different values for {fitting[0].name}. Remove the line that"
                " does not count."
            )
    return values, unknown


def _several(words: str, students: Sequence[Student]) -> str:
    names = [
        f"{student.name.removesuffix(f' ({student.id})')} ({student.id or student.email})"
        for student in students
    ]
    return f"{words!r} fits {len(names)} students: {first_of(names)}. Name the student by id."


def with_unique_names(students: Sequence[Student]) -> list[Student]:
    """Return the students with distinct names, as far as ids or addresses distinguish them."""
    counts = Counter(key_form(student.name) for student in students)
    unique: list[Student] = []
    for student in students:
        addition = student.id or student.email
        if addition and counts[key_form(student.name)] > 1:
            student = replace(student, name=f"{student.name} ({addition})")
        unique.append(student)
    return unique


def _name_forms(name: str) -> set[str]:
    """Return the `folded` forms of a name with first and last names in either order.

    Nobody can tell from "Ana Maria Lopez" where the last name begins. So each word may be the
    first word of the last name.
    """
    words = [word for word in map(folded, in_order(name).split()) if word]
    return {"".join(words[start:] + words[:start]) for start in range(len(words))}


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
