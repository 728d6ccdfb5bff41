"""Tests of reading the roster: the exports of all systems."""

from pathlib import Path

import pytest

from attn_drill.classroom.roster import (
    Roster,
    assignment_columns,
    most_points,
    read_roster,
    system_of,
)
from attn_drill.model.errors import DrillError

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Week 3 (555),Current Score
,,,,,Manual Posting,
    Points Possible,,,,,100,(read only)
"Lee, Ana",101,S1,alee,A,80,80
"Müller, Jürgen",102,S2,jm@uni.example,A,,
"Student, Test",109,,9f3c,A,,
"""
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 12345,Ana Lee,S1,ana@uni.example,No submission,,100.00,Yes,-,-,
Participant 12346,Bo Li,S2,bo@uni.example,No submission,,100.00,Yes,-,-,
"""
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\t"Availability"\t'
    '"Week 3 [Total Pts: 100 Score] |123"\n'
    '"Lee"\t"Ana"\t"alee"\t"S1"\t"2026-11-01"\t"Yes"\t""\n'
    '"x"\t"y"\t"me_previewuser"\t""\t""\t"Yes"\t""\n'
)
GRADESCOPE = """\
First Name,Last Name,SID,Email,Role
Ana,Lee,S1,ana@uni.example,Student
Tee,Ay,S9,ta@uni.example,TA
"""
PARTICIPANTS = "First name,Last name,Email address\nAna,Lee,ana@uni.example\n"


def roster(folder: Path, text: str, encoding: str = "utf-8") -> Roster:
    """Return the roster of a file with this text."""
    path = folder / "roster.csv"
    path.write_text(text, encoding=encoding)
    return read_roster(path)


def fields(students: Roster) -> list[tuple[str, ...]]:
    """Return what identifies each student."""
    return [
        (student.name, student.id, student.login, student.email, student.system, student.system_id)
        for student in students.students
    ]


def test_canvas_gradebook_is_read(tmp_path: Path) -> None:
    """The rows about the columns and the test student are left out. Cells stay exact."""
    students = roster(tmp_path, CANVAS)
    assert fields(students) == [
        ("Ana Lee", "101", "alee", "", "canvas", "101"),
        ("Jürgen Müller", "102", "jm@uni.example", "jm@uni.example", "canvas", "102"),
    ]
    assert students.system == "canvas"
    assert dict(students.students[0].row) == {
        "Student": "Lee, Ana",
        "ID": "101",
        "SIS User ID": "S1",
        "SIS Login ID": "alee",
        "Section": "A",
        "Week 3 (555)": "80",
        "Current Score": "80",
    }


def test_points_possible_of_canvas_are_read(tmp_path: Path) -> None:
    """Only the columns of assignments have them, and other systems have no such row."""
    assert roster(tmp_path, CANVAS).possible == {"Week 3 (555)": "100"}
    assert roster(tmp_path, WORKSHEET, "utf-8-sig").possible == {}


def test_canvas_gradebook_with_two_columns_for_the_name_is_read(tmp_path: Path) -> None:
    """Without SIS ids, Canvas' own id is the id."""
    students = roster(
        tmp_path,
        "LastName,FirstName,ID,SIS Login ID,Section,A (1),B (2)\n"
        "    Points Possible,,,,,10,10\nLee,Ana,101,alee,A,,\nStudent,Test,102,x,A,,\n",
    )
    assert fields(students) == [("Ana Lee", "101", "alee", "", "canvas", "101")]


def test_moodle_worksheet_is_read(tmp_path: Path) -> None:
    """The id in file names is the number of the participant."""
    assert fields(roster(tmp_path, WORKSHEET, "utf-8-sig")) == [
        ("Ana Lee", "12345", "", "ana@uni.example", "moodle", "12345"),
        ("Bo Li", "12346", "", "bo@uni.example", "moodle", "12346"),
    ]


def test_moodle_worksheet_without_names_is_read(tmp_path: Path) -> None:
    """Moodle writes it if the markers must not know the names."""
    students = roster(tmp_path, "Identifier,Status,Grade\nParticipant 7,-,\n")
    assert fields(students) == [("Participant 7", "7", "", "", "moodle", "7")]


def test_moodle_participants_are_read(tmp_path: Path) -> None:
    """The list has no numbers of participants."""
    assert fields(roster(tmp_path, PARTICIPANTS)) == [
        ("Ana Lee", "", "", "ana@uni.example", "moodle", "")
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_blackboard_file_is_read(tmp_path: Path, encoding: str) -> None:
    """The user of the preview is left out."""
    students = roster(tmp_path, BLACKBOARD, encoding)
    assert fields(students) == [("Ana Lee", "alee", "alee", "", "blackboard", "alee")]


def test_gradescope_roster_is_read(tmp_path: Path) -> None:
    """Staff is left out."""
    assert fields(roster(tmp_path, GRADESCOPE)) == [
        ("Ana Lee", "S1", "", "ana@uni.example", "gradescope", "")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "id,name,email\n7,Ana Lee,ana@x\n",
        "E-Mail;NAME;ID\nana@x;Ana Lee;7\n",
        "Student Number\tSurname\tFirst Name\tMail\n7\tLee\tAna\tana@x\n",
        'name,student id,email address\n"Lee, Ana",7,ana@x\n',
    ],
)
def test_plain_columns_have_any_name_and_order(tmp_path: Path, text: str) -> None:
    """Common headings are known."""
    (student,) = roster(tmp_path, text).students
    assert (student.name, student.id, student.email) == ("Ana Lee", "7", "ana@x")


@pytest.mark.parametrize(
    "text", ["id,name\n7,Ana\n", "name,email\nAna,a@x\n", "user,email\na,a@x\n"]
)
def test_two_of_three_columns_are_enough(tmp_path: Path, text: str) -> None:
    """A user name counts as an id."""
    assert len(roster(tmp_path, text).students) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n", "lists no student"),
        ("Name,Points\nAna,3\n", "line 1 has the columns “Name”, “Points”, but a roster needs two"),
        ("id,name\n7,Ana\n8,Bo\n7,Cy\n", "lines 2 and 4 have the same id 7"),
        ("id,name,email\n7,Ana,a@x\n,,b@x\n", "line 3 has neither a name nor an id"),
    ],
)
def test_wrong_roster_gets_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    """The sentence names the file and the line."""
    with pytest.raises(DrillError) as caught:
        roster(tmp_path, text)
    assert words in str(caught.value)
    assert "roster.csv" in str(caught.value)


def test_missing_roster_gets_the_next_step(tmp_path: Path) -> None:
    """The sentence says which file is needed."""
    with pytest.raises(DrillError, match=r"No such file .*columns id, name and email"):
        read_roster(tmp_path / "roster.csv")


def test_columns_of_assignments_have_titles() -> None:
    """Calculated columns of Blackboard have their words in the title."""
    assert assignment_columns("canvas", ["Student", "Week 3 (a) (555)", "Final Score"]) == {
        "Week 3 (a) (555)": "Week 3 (a)"
    }
    heading = "Week 3 [Total Pts: 50 Score] |123"
    assert assignment_columns("blackboard", ["Username", heading]) == {heading: "Week 3"}
    assert assignment_columns("moodle", ["Grade"]) == {}
    assert most_points(heading) == "50"
    assert most_points("Week 3") == most_points("Week 3 |12") == ""


def test_plain_table_is_of_no_system() -> None:
    """A column called ID or section does not make a table Canvas' student."""
    assert system_of(["Student", "ID", "Section"]) == ""
    assert system_of(["id", "name", "email"]) == ""
