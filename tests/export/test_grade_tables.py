"""Tests of the tables of grades: columns, rows, and cells that no spreadsheet computes."""

import csv
import io

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
from attn_drill.export.tables import ENCODING, grades_by_challenge_csv, grades_csv
from attn_drill.report.words import visible
from tests.support.class_results import EVERYONE, FAILED, SETTLE, grade_of, result, ungraded


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
