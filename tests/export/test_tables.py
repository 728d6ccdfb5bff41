"""Tests of the tables of grades: columns, rows, and cells that no spreadsheet computes."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Gradebook,
    Lateness,
    Override,
    Student,
    StudentGrade,
    StudentResult,
)
from attn_drill.export._grade_words import Reason
from attn_drill.export.tables import (
    ENCODING,
    LmsTable,
    grades_by_challenge_csv,
    grades_csv,
    lms_table,
)
from attn_drill.report.wording import visible
from tests.support.classroom import EVERYONE, FAILED, SETTLE, grade_of, result, ungraded
from tests.support.whole_class import blackboard_grades, canvas_grades, moodle_grades, table


def rows(results: list[StudentResult]) -> list[dict[str, str]]:
    """Return the rows of grades_by_challenge.csv as a program reads them."""
    return list(csv.DictReader(io.StringIO(grades_by_challenge_csv(results), newline="")))


FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def test_columns_are_those_of_the_contract() -> None:
    """The header is the first line, with the columns in this order."""
    assert grades_by_challenge_csv([]).splitlines() == [
        "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds"
    ]
    cells = ["Ann", "first", "failed", "14.9", "11", "14", "no-scale+heads-tiled", "1.25"]
    assert [list(row.values()) for row in rows([FAILED])] == [cells]


@pytest.mark.parametrize(
    ("found", "likely"), [(result("bob", verdict=None), ""), (ungraded(), SETTLE)]
)
def test_submission_that_was_not_graded_has_no_score(found: StudentResult, likely: str) -> None:
    """A student does not get 0 points for a fault of the grader, or before a person settles it."""
    (row,) = rows([found])
    cells = {column: cell for column, cell in row.items() if cell and column != "seconds"}
    expected = {"student": "bob", "challenge": "first", "verdict": "not graded"}
    assert cells == expected | ({"likely_mistake": likely} if likely else {})


def test_each_student_has_one_row() -> None:
    """Even with hostile names, a reader by lines and the csv module find every name."""
    students = [row["student"] for row in rows(EVERYONE)]
    assert [student.removeprefix("'") for student in students] == [
        visible(result.student).removeprefix("'") for result in EVERYONE
    ]
    assert len(grades_by_challenge_csv(EVERYONE).splitlines()) == len(EVERYONE) + 1
    assert len(set(students)) == len(EVERYONE)
    grades_by_challenge_csv(EVERYONE).encode()


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+49 30 1234",
        "-A1",
        "-rf",
        "@SUM(A1)",
        "\t=1",
        "\n=1",
        " =1",
        "\"' =1",
        "＝1",
        "\xa0=1",
    ],
)
def test_name_that_looks_like_a_formula_gets_an_apostrophe(name: str) -> None:
    """The rest of the cell is the name."""
    assert rows([result(name)])[0]["student"] == "'" + visible(name)


@pytest.mark.parametrize("name", ["Ann", "-", "a=1", "O'Neil", "Ann-Marie", "x@uni.example", "1+1"])
def test_other_names_do_not_change(name: str) -> None:
    """Only a sign at the beginning makes a formula."""
    assert rows([result(name)])[0]["student"] == name


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_with_other_delimiters(delimiter: str) -> None:
    """A part of a name is not a formula, even if a spreadsheet splits cells at semicolons."""
    text = grades_by_challenge_csv([*EVERYONE, result("Bo;=1+1"), result("Bo\t=1")])
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        for cell in row:
            assert cell.startswith("'") or not cell.lstrip(" \"'").startswith(FORMULA)


def grade(challenge: str, file: str, score: float | None, **more: object) -> ChallengeGrade:
    """Return the grade of a file."""
    verdict = None if score is None else "failed"
    return grade_of(result("Ann", challenge, verdict, file=file, score=score), **more)  # type: ignore[arg-type]


def test_the_table_of_students_has_one_row_for_each() -> None:
    """Every cell is known: days, penalties, points after them, the total and the reasons."""
    two = Assignment("Week 3", (AssignedChallenge("gqa", worth=2), AssignedChallenge("mha")))
    late = Lateness(is_late=True, days=1, penalty=10.0)
    decided = Override("-rf", "mha", 50.0, "an oral exam")
    ann = StudentGrade(
        Student("=Ann;", id="12"),
        {
            "gqa": grade("gqa", "a/gqa.py", 100.0, lateness=late, points=90.0),
            "mha": grade("mha", "a/mha.py", 0.0, override=decided, points=50.0),
        },
        None,
        76.7,
    )
    ungraded = grade("mha", "b.pdf", None, points=None)
    rows = (ann, StudentGrade(Student("Bo"), {"mha": ungraded}, None, None))
    notes = [
        Reason("override", "=Ann;", "mha", "50 points: an oral exam"),
        Reason("clash", "=Ann;", "", "b, c"),
        Reason("clash", "=Ann;", "", "b, c"),
        Reason("ungraded", "Bo", "mha", "no Python"),
        Reason("time", "Bo", "mha", ""),
        Reason("files", "", "", "old/"),
    ]
    assert grades_csv(Gradebook(two, rows), notes).splitlines() == [
        "student,id,file,late,days_late,penalty,gqa,mha,total,look",
        '"\'=Ann;","12","a/gqa.py, a/mha.py","yes","1","6.6","90","50","76.7",'
        '"mha: override: 50 points: an oral exam; b, c"',
        "Bo,,b.pdf,,,,,,,mha: not graded: no Python",
    ]


def test_the_tables_begin_with_a_byte_order_mark() -> None:
    """Excel reads accents correctly then, and `utf-8-sig` removes the mark."""
    assert "é".encode(ENCODING) == b"\xef\xbb\xbf\xc3\xa9"


CANVAS_ROW = {
    "Student": "Lee, Ana",
    "ID": "101",
    "SIS User ID": "S1",
    "SIS Login ID": "-ana",
    "Section": "A; B",
    "Week 2 (554)": "-1.5",
    "Week 3 (555)": "",
    "Final Score": "70",
}
MOODLE_ROW = {
    "Identifier": "Participant 12345",
    "Full name": "Ana Lee",
    "ID number": "S1",
    "Email address": "ana@uni.example",
    "Status": "Submitted for grading - ",
    "Grade": "",
    "Maximum Grade": "100.00",
    "Grade can be changed": "Yes",
    "Last modified (submission)": "Saturday, 21 November 2026, 10:11 PM",
    "Online text": "=1+1",
    "Last modified (grade)": "-",
    "Feedback comments": "",
}
COLUMN = "Week 3 [Total Pts: 100 Score] |123"
BLACKBOARD_ROW = {
    "Last Name": "Lee",
    "First Name": "Ana",
    "Username": "alee",
    "Student ID": "S1",
    "Last Access": "2026-11-01",
    "Availability": "Yes",
    COLUMN: "",
    "Grading Notes": "",
    "Notes Format": "",
    "Feedback to Learner": "",
    "Feedback Format": "",
}
canvas_csv, moodle_csv, blackboard_csv = MAKERS = (
    partial(lms_table, system="canvas"),
    partial(lms_table, system="moodle"),
    partial(lms_table, system="blackboard"),
)


def graded(
    student: Student, total: float | None = 85.5, *grades: ChallengeGrade, **more: object
) -> StudentGrade:
    """Return the grades of a student."""
    challenges = {grade.submission.challenge: grade for grade in grades}
    override = more.get("override")
    assert override is None or isinstance(override, Override)
    return StudentGrade(student, challenges, override, total)


def challenge(
    name: str = "gqa", override: Override | None = None, **late: object
) -> ChallengeGrade:
    """Return the grade of a challenge."""
    lateness = Lateness(**late)  # type: ignore[arg-type]
    failed = result("Ana", name, "failed", score=85.5 + lateness.penalty)
    return grade_of(failed, lateness=lateness, override=override, points=85.5)


def book(*rows: StudentGrade, title: str = "Week 3") -> Gradebook:
    """Return the grades of a class."""
    return Gradebook(Assignment(title, (AssignedChallenge("gqa"),)), rows)


def in_canvas(**cells: str) -> Student:
    """Return a student of a class whose roster is Canvas' gradebook."""
    row = {**CANVAS_ROW, **cells}
    return Student("Ana Lee", "S1", "-ana", "", "canvas", "101", "x", True, row)


def in_moodle(**cells: str) -> Student:
    """Return a student of a class whose roster is Moodle's worksheet."""
    return Student("Ana Lee", "S1", "", "", "moodle", "12345", "x", True, {**MOODLE_ROW, **cells})


def in_blackboard(row: Mapping[str, str] = BLACKBOARD_ROW) -> Student:
    """Return a student of a class whose roster is Blackboard's file."""
    return Student("Ana Lee", "S1", "alee", "", "blackboard", "alee", "x", True, row)


def test_canvas_columns_are_repeated() -> None:
    """Other assignments are left out, because their grades may be newer than the export."""
    made = canvas_csv(book(graded(in_canvas())))
    assert made.notes == []
    points, row = table(made.text)
    identity = list(CANVAS_ROW)[:5]
    assert row == {**{name: CANVAS_ROW[name] for name in identity}, "Week 3 (555)": "85.5"}
    assert list(row) == [*identity, "Week 3 (555)"]
    assert {name: cell for name, cell in points.items() if cell} == {
        "Student": "    Points Possible",
        "Week 3 (555)": "100",
    }
    assert canvas_grades(made.text) == ({"Week 3 (555)": 100}, {"101": {"Week 3 (555)": "85.5"}})


def test_column_of_canvas_has_the_title_of_the_assignment() -> None:
    """Capitals do not matter. Without a column, or with two of them, a note says what to do."""
    assert "WEEK 3" not in table(canvas_csv(book(graded(in_canvas()), title="WEEK 3")).text)[0]
    new = canvas_csv(book(graded(in_canvas()), title="Week 4"))
    assert canvas_grades(new.text)[1] == {"101": {"Week 4": "85.5"}}
    assert "Canvas will make a new column “Week 4”" in new.notes[0]
    twice = in_canvas(**{"week 3 (556)": ""})
    new = canvas_csv(book(graded(twice), title="WEEK 3"))
    assert "WEEK 3" in table(new.text)[0]
    assert "“WEEK 3”, because 2 columns of the roster have this title." in new.notes[0]
    chosen = canvas_csv(book(graded(twice), title="week 3 (556)"))
    assert "week 3 (556)" in table(chosen.text)[0]
    assert chosen.notes == []


def test_excused_student_of_canvas_stays_excused() -> None:
    """A grade would count."""
    made = canvas_csv(book(graded(in_canvas(**{"Week 3 (555)": "EX"}), 7.1)))
    assert canvas_grades(made.text)[1]["101"] == {"Week 3 (555)": "EX"}


def test_moodle_worksheet_is_repeated() -> None:
    """Only the grade and the feedback change. A student's formula gets an apostrophe."""
    made = moodle_csv(book(graded(in_moodle())))
    assert table(made.text) == [
        {
            **MOODLE_ROW,
            "Grade": "85.5",
            "Online text": "'=1+1",
            "Feedback comments": "attn-drill: 85.5 of 100 points",
        }
    ]
    assert moodle_grades(made.text) == {12345: (85.5, "attn-drill: 85.5 of 100 points")}


@pytest.mark.parametrize(
    ("own", "total", "new"),
    [
        ("", None, ""),
        ("<p>Well done\n- ok</p>", 85.5, "<p>Well done\n- ok</p>"),
        ("=1", None, "=1"),
        ("attn-drill: 3 of 100 points", 85.5, "attn-drill: 85.5 of 100 points"),
        ("attn-drill: 3 of 100 points", None, "attn-drill: 3 of 100 points"),
    ],
)
def test_feedback_of_a_person_stays(own: str, total: float | None, new: str) -> None:
    """The feedback of an earlier table is replaced."""
    student = in_moodle(**{"Feedback comments": own})
    (row,) = table(moodle_csv(book(graded(student, total))).text)
    assert row["Feedback comments"] == new


def test_feedback_explains_late_files_and_decisions() -> None:
    """With several challenges, it names them. A decision on the total has no name."""
    row = graded(
        in_moodle(),
        90.0,
        challenge("gqa", is_late=True, days=1, penalty=10.0),
        challenge("mha", Override("Ana Lee", "mha", 7.0)),
        override=Override("Ana Lee", "", 90.0, "A look\nat it."),
    )
    assert moodle_grades(moodle_csv(book(row)).text)[12345][1] == (
        "attn-drill: 90 of 100 points; late in gqa: 1 day, −10 points; mha, override: 7 points.;"
        " override: 90 points. A look\\nat it."
    )
    late = graded(in_moodle(), 85.5, challenge(is_late=True, days=None))
    words = moodle_grades(moodle_csv(book(late)).text)[12345][1]
    assert words.endswith("points; late: time unknown, no penalty")


def test_blackboard_file_is_repeated() -> None:
    """Every cell has quotes. Feedback has a format."""
    made = blackboard_csv(book(graded(in_blackboard())))
    assert blackboard_grades(made.text) == {
        "alee": {
            **BLACKBOARD_ROW,
            COLUMN: "85.5",
            "Feedback to Learner": "attn-drill: 85.5 of 100 points",
            "Feedback Format": "PLAIN_TEXT",
        }
    }
    assert made.notes == []


def test_column_of_blackboard_has_the_title_or_is_the_only_one() -> None:
    """A teacher who downloads one column wants to fill that column."""
    alone = blackboard_csv(book(graded(in_blackboard()), title="Other title"))
    assert blackboard_grades(alone.text)["alee"][COLUMN] == "85.5"
    row = {name: cell for name, cell in BLACKBOARD_ROW.items() if "Feedback" not in name}
    made = blackboard_csv(book(graded(in_blackboard(row)), title="Week 4"))
    cells = blackboard_grades(made.text)["alee"]
    assert COLUMN not in cells
    assert cells["Week 4 [Total Pts: 100 Score]"] == "85.5"
    assert "Blackboard will make a new column “Week 4 [" in made.notes[0]


@pytest.mark.parametrize(
    ("make", "student", "cell"),
    [
        (canvas_csv, in_canvas(**{"Week 3 (555)": "EX"}), "EX"),
        (canvas_csv, in_canvas(**{"Week 3 (555)": "7"}), "7"),
        (canvas_csv, in_canvas(), ""),
        (moodle_csv, in_moodle(Grade="70.00"), ""),
        (blackboard_csv, in_blackboard({**BLACKBOARD_ROW, COLUMN: "70.00"}), "70.00"),
        (blackboard_csv, in_blackboard({**BLACKBOARD_ROW, COLUMN: "Needs Grading"}), ""),
    ],
)
def test_student_without_a_total_keeps_the_grade(
    make: Callable[[Gradebook], LmsTable], student: Student, cell: str
) -> None:
    """Moodle ignores an empty cell. Canvas and Blackboard may remove the grade instead."""
    row = table(make(book(graded(student, None))).text)[-1]
    assert row.get("Week 3 (555)", row.get("Grade", row.get(COLUMN))) == cell
    assert row.get("Feedback comments", "") == row.get("Feedback to Learner", "") == ""


@pytest.mark.parametrize(
    ("make", "student", "possible", "place"),
    [
        (moodle_csv, in_moodle(**{"Maximum Grade": "10.00"}), {}, "Grade is 10.00"),
        (
            blackboard_csv,
            in_blackboard(
                {
                    **dict.fromkeys(list(BLACKBOARD_ROW)[:3], "a"),
                    "Week 3 [Total Pts: 50 Score] |12": "",
                }
            ),
            {},
            "|12 is 50",
        ),
        (canvas_csv, in_canvas(), {"Week 3 (555)": "10"}, "Week 3 (555) is 10"),
        (canvas_csv, in_canvas(), {"Week 3 (555)": "100.0"}, ""),
        (canvas_csv, in_canvas(), {"Week 3 (555)": ""}, ""),
    ],
)
def test_other_maximum_gets_a_note(
    make: Callable[[Gradebook], LmsTable], student: Student, possible: dict[str, str], place: str
) -> None:
    """85 points in a column of 10 would be a wrong grade."""
    notes = make(replace(book(graded(student)), possible=possible)).notes
    assert len(notes) == bool(place)
    assert all(f"{place} points. Change it to 100" in note for note in notes)


def test_names_are_harmless_and_ids_exact() -> None:
    """A name may get an apostrophe. An id is the same as in the system."""
    student = in_canvas(Student="=HYPERLINK(1)", **{"SIS User ID": "+49 30 1"})
    row = table(canvas_csv(book(graded(student))).text)[1]
    assert row["Student"] == "'=HYPERLINK(1)"
    assert row["SIS User ID"] == "+49 30 1"
    assert row["SIS Login ID"] == "-ana"


@pytest.mark.parametrize("make", MAKERS)
def test_no_table_is_written_without_the_own_export(make: Callable[[Gradebook], LmsTable]) -> None:
    """A list of Moodle's participants, and names of uploaded files, are no export."""
    participants = {"First name": "Ana", "Last name": "Lee", "Email address": "a@x"}
    made = make(
        book(
            graded(Student("Ana", "7", system="moodle", is_in_roster=True, row=participants)),
            graded(Student("ed", "101", system="canvas", system_id="101")),
        )
    )
    (note,) = made.notes
    assert made.text == ""
    assert "own export. Name the export" in note


def test_students_whom_the_export_does_not_have_are_named() -> None:
    """A file that belongs to nobody must not become a new student of the system."""
    made = canvas_csv(book(graded(in_canvas()), graded(Student("ed", is_in_roster=False))))
    assert [row["Student"] for row in table(made.text)] == ["    Points Possible", "Lee, Ana"]
    assert any("does not know them: ed. Use " in note for note in made.notes)
