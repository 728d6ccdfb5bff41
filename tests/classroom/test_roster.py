"""Tests of reading the roster: the exports of all systems."""

import codecs
import re
from pathlib import Path

import pytest

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.records import Student
from attn_drill.classroom.roster import (
    Roster,
    StudentIndex,
    assignment_columns,
    by_student,
    folded,
    in_order,
    listed,
    most_points,
    read_csv,
    read_roster,
    system_of,
    with_unique_names,
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


STEP = "Name another file."
TEXT = 'id,name\n1,"Lee, Ana"\n\n2,Zoë\n'


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.replace("\n", "\r\n").encode(),
        b'id;name\n1;"Lee, Ana"\n\n2;Zo\xc3\xab\n',
        b"id\tname\n1\tLee, Ana\n\n2\tZo\xc3\xab\n",
    ],
    ids="utf8 mark utf16 utf16-be utf16-without-mark crlf semicolon tab".split(),
)
def test_common_encodings_and_delimiters_are_read(tmp_path: Path, data: bytes) -> None:
    """All of them hold the same table."""
    path = tmp_path / "class.csv"
    path.write_bytes(data)
    table = read_csv(path, STEP)
    assert table.headings == ("id", "name")
    assert [dict(line.cells) for line in table.lines] == [
        {"id": "1", "name": "Lee, Ana"},
        {"id": "2", "name": "Zoë"},
    ]


def test_line_numbers_count_lines_of_the_file(tmp_path: Path) -> None:
    """Empty lines and line ends in cells count, too. The last line of a row counts."""
    path = tmp_path / "class.csv"
    path.write_text('id,name\n\n1,"a\nb"\n2,c\n')
    assert [line.number for line in read_csv(path, STEP).lines] == [4, 5]


def test_short_line_has_empty_cells(tmp_path: Path) -> None:
    """Columns keep their order. Empty cells beyond the last column do not count."""
    path = tmp_path / "class.csv"
    path.write_text("a,b,c\n1\n1,2,3,,\n")
    cells = [list(line.cells.items()) for line in read_csv(path, STEP).lines]
    assert cells == [[("a", "1"), ("b", ""), ("c", "")], [("a", "1"), ("b", "2"), ("c", "3")]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b"\xff\xe9\xe9", "no CSV file in UTF-8 or UTF-16"),
        (b"PK\x03\x04\x14\xb5\xff", "no CSV file .* In the spreadsheet, save the table as"),
        (b'id,name\n1,"Ana" Lee\n', "line 2 cannot be read: "),
        (b'id,name\n1,"Ana', "line 2 cannot be read: unexpected end of data"),
        (b"name,email\nLee, Ana,a@x\n", "line 2 has 3 cells, but the first line names 2 columns"),
    ],
)
def test_broken_file_gets_a_sentence(tmp_path: Path, data: bytes | None, words: str) -> None:
    """The sentence names the file."""
    path = tmp_path / "class.csv"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DrillError) as caught:
        read_csv(path, STEP)
    assert re.search(words, str(caught.value))
    assert str(path) in str(caught.value)


def test_cell_is_found_by_the_plain_name_of_its_column(tmp_path: Path) -> None:
    """Capitals, blanks and hyphens make no difference. The first cell that is not empty counts."""
    path = tmp_path / "class.csv"
    path.write_text("E-Mail,Student ID,Login\n,7,a\n")
    table = read_csv(path, STEP)
    assert table.has("mail", "email")
    assert not table.has("id")
    assert table.lines[0].cell("email", "login", "studentid") == "a"
    assert table.lines[0].cell("name") == ""


def test_long_list_of_columns_is_shortened() -> None:
    """A gradebook can have hundreds of columns."""
    assert listed(map(str, range(15))).endswith("“11” and 3 more")


ANA = Student("Ana Lee", "1001", "alee", "ana.lee@uni.example", row={"SIS User ID": "S1"})
BO = Student("Bo Li", "1002", email="bo@uni.example")
ZOE = Student("Zoë van der Berg", "1003", system_id="77")
TWINS = [Student("Alex Kim (1)", id="1"), Student("Alex Kim (2)", id="2")]
CLASS = [ANA, BO, ZOE, *TWINS]


@pytest.mark.parametrize(
    ("words", "student"),
    [
        *((words, ANA) for words in ("1001", " ALEE ", "ANA.LEE@uni.example", "ana.lee", "S1")),
        *((words, ANA) for words in ("Ana Lee", "Lee, Ana", "Lee Ana", "lee_ana", "analee")),
        *(
            (words, ANA)
            for words in ("hw3_1001", "1001_gqa", "gqa (1001)", "x ana.lee@uni.example")
        ),
        *((words, BO) for words in ("bo", "boli", "Ｂｏ Ｌｉ", "BO@UNI.EXAMPLE")),
        *((words, ZOE) for words in ("van der Berg, Zoe", "zoe\u0308 van der berg", "77")),
        ("Alex Kim (2)", TWINS[1]),
    ],
)
def test_a_student_may_be_named_in_several_ways(words: str, student: Student) -> None:
    """An id, a user name, an address or the name in any form is enough."""
    assert StudentIndex(CLASS).find(words) is student


@pytest.mark.parametrize(
    "words", ["Ana", "lee", "100", "gqa_1", "", "--", "uni.example", "x@uni.example"]
)
def test_other_words_fit_nobody(words: str) -> None:
    """A part of a name is not enough."""
    assert StudentIndex(CLASS).find_all(words) == []


def test_a_marker_names_a_student_by_the_anonymous_id() -> None:
    """Without the secret, nobody has one."""
    marked = anonymous_ids([BO.name], "salt")[BO.name]
    assert StudentIndex(CLASS, "salt").find(marked.upper()) is BO
    assert StudentIndex(CLASS).find_all(marked) == []


def test_an_exact_name_counts_first() -> None:
    """An id may look like the name of somebody else."""
    other = Student("1001", id="99")
    assert StudentIndex([*CLASS, other]).find("1001") is other


def test_unclear_words_give_an_error_with_the_next_step() -> None:
    """The sentence has the ids, or the nearest names."""
    same = [Student("Sam", "5", email="s@a.example"), Student("Sue", "6", login="s@a.example")]
    for students, words, message in (
        (same, "s@a.example", r"fits 2 students: Sam \(5\), Sue \(6\)\. Name the student by id"),
        (CLASS, "Kim, Alex", r"fits 2 students: Alex Kim \(1\), Alex Kim \(2\)"),
        (CLASS, "Ana Leo", r"is called 'Ana Leo'\. Did you mean 'Ana Lee'"),
        (CLASS, "zzzzzz", r"grades\.csv has all names"),
    ):
        with pytest.raises(DrillError, match=message):
            StudentIndex(students).find(words)
    with pytest.raises(DrillError, match=r"times\.csv: 's@a\.example' fits 2 students: Sam"):
        by_student([("s@a.example", 1)], same, "times.csv")


def test_table_of_a_person_is_read_by_the_names_of_the_students() -> None:
    """A line that stands twice does no harm."""
    table = [("alee", 1), ("Lee, Ana", 1), ("Bo", 2), ("Cy", 3)]
    assert by_student(table, CLASS, "t.csv") == ({"Ana Lee": 1, "Bo Li": 2}, ["Cy"])
    with pytest.raises(DrillError, match=r"t\.csv has two different values for Ana Lee\. Remove"):
        by_student([*table, ("1001", 2)], CLASS, "t.csv")


def test_same_names_become_distinct() -> None:
    """Ids distinguish them, otherwise addresses."""
    students = [Student("Ana Lee", "1"), Student("ana  lee", email="a@x"), Student("Bo")]
    names = [student.name for student in with_unique_names(students)]
    assert names == ["Ana Lee (1)", "ana  lee (a@x)", "Bo"]


@pytest.mark.parametrize(
    ("function", "name", "form"),
    [
        (folded, "O'Neil-Smith, Jo.", "oneilsmithjo"),
        (folded, "Ame\u0301lie", "amelie"),
        (folded, "Øystein Łuk", "oysteinluk"),
        (folded, "Straße", "strasse"),
        (folded, "王 小明", "王小明"),
        (folded, "--", ""),
        (in_order, "van der Berg,Zoë  Maria", "Zoë Maria van der Berg"),
        (in_order, " Ana   Lee ", "Ana Lee"),
        (in_order, "Sammy Davis, Jr.", "Sammy Davis, Jr."),
        (in_order, "Lee,", "Lee,"),
        (in_order, "a, b, c", "a, b, c"),
    ],
)
def test_forms_of_a_name(function, name: str, form: str) -> None:  # type: ignore[no-untyped-def]
    """Capitals, accents, blanks and punctuation make no difference, except in ids."""
    assert function(name) == form
