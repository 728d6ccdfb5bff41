"""Tests of the tables of grades: columns, rows, and cells that no spreadsheet computes."""

import csv
import io
import re

import pytest

from tests.support.class_outputs import EVERYONE, FAILED, rows
from tests.support.class_results import SETTLE, result, ungraded
from trainer.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Gradebook,
    Lateness,
    Override,
    Student,
    StudentGrade,
)
from trainer.export.grade_tables import (
    COLUMNS,
    ENCODING,
    cell_of,
    grades_by_challenge_csv,
    grades_csv,
)
from trainer.report.visible import visible

FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def test_columns_are_those_of_the_contract() -> None:
    """The header is the first line, with the columns in this order."""
    assert grades_by_challenge_csv([]).splitlines() == [
        "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds"
    ]
    cells = ("Ann", "first", "failed", "14.9", "11", "14", "no-scale+heads-tiled", "1.25")
    assert rows([FAILED]) == [dict(zip(COLUMNS, cells, strict=True))]


def test_failed_grading_has_no_score() -> None:
    """A student does not get 0 points for a fault of the grader."""
    (row,) = rows([result("Ann", verdict=None)])
    assert {column: cell for column, cell in row.items() if cell and column != "seconds"} == {
        "student": "Ann",
        "challenge": "first",
        "verdict": "not graded",
    }


def test_several_submissions_of_the_same_name_are_one_row() -> None:
    """The row has no score. It names the files and the next step."""
    (row,) = rows([ungraded()])
    assert {column: cell for column, cell in row.items() if cell and column != "seconds"} == {
        "student": "bob",
        "challenge": "first",
        "verdict": "not graded",
        "likely_mistake": SETTLE,
    }


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
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\tx",
        "\nx",
        " =1",
        "  \t =1",
        '"=1',
        "'=1",
        "\"' =1",
        "＝1",
        "＋1",
        "－1",
        "＠a",
        "\xa0=1",
        "\u3000＝1",
        "-A1",
        "-1+1",
        "+49 30 1234",
        "+SUM(A1)",
        "-cmd|' /C calc'!A0",
        "-true",
        "-x-TRUE",
        "- x",
        "--",
    ],
)
def test_name_that_looks_like_a_formula_gets_an_apostrophe(name: str) -> None:
    """The rest of the cell is the name."""
    assert rows([result(name)])[0]["student"] == "'" + visible(name)


@pytest.mark.parametrize("name", ["-rf", "-jane", "+ana", "-Jane-Marie Ruiz", "-é", "-", "-truer"])
def test_sign_and_words_are_no_formula(name: str) -> None:
    """Spreadsheets know no value of such names."""
    assert cell_of(name) == name


@pytest.mark.parametrize("name", ["Ann", "a=1", "O'Neil", "Ann-Marie", "x@uni.example", "1+1"])
def test_other_names_do_not_change(name: str) -> None:
    """Only a sign at the beginning makes a formula."""
    assert rows([result(name)])[0]["student"] == name


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_with_other_delimiters(delimiter: str) -> None:
    """A part of a name is not a formula, even if a spreadsheet splits cells at semicolons."""
    text = grades_by_challenge_csv([*EVERYONE, result("Bo;=1+1"), result("Bo\t=1")])
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        for cell in row:
            is_harmless = cell.startswith("'") or re.split("[,;\t]", cell)[0] == "-jane"
            assert is_harmless or not cell.lstrip(" \"'").startswith(FORMULA)


def test_the_table_of_students_has_one_row_for_each() -> None:
    """Every cell is known: points after penalties and overrides, the total and the reasons."""
    two = Assignment("Week 3", (AssignedChallenge("gqa", worth=2), AssignedChallenge("mha")))
    late = Lateness(is_late=True, days=1, penalty=10.0)
    decided = Override("-rf", "mha", 50.0, "an oral exam")
    ann = StudentGrade(
        Student("=Ann;", id="12"),
        {
            "gqa": ChallengeGrade("gqa", "a/gqa.py", "passed", 100.0, late, None, 90.0),
            "mha": ChallengeGrade("mha", "a/mha.py", "failed", 0.0, Lateness(), decided, 50.0),
        },
        None,
        76.7,
        ("override: mha 50 points: an oral exam", "b, c"),
    )
    nobody = StudentGrade(Student("-rf"), {}, None, None, ("handed in nothing",))
    text = grades_csv(Gradebook(two, (ann, nobody)))
    assert text.splitlines() == [
        "student,id,file,late,gqa,mha,total,look",
        '"\'=Ann;","12","a/gqa.py, a/mha.py","yes","90","50","76.7",'
        '"override: mha 50 points: an oral exam; b, c"',
        "-rf,,,,,,,handed in nothing",
    ]


def test_the_tables_begin_with_a_byte_order_mark() -> None:
    """Excel reads accents correctly then, and `utf-8-sig` removes the mark."""
    assert "é".encode(ENCODING) == b"\xef\xbb\xbf\xc3\xa9"
