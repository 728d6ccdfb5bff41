"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import csv
import io

import pytest

from tests.support.class_outputs import EVERYONE, FAILED, rows
from tests.support.class_results import (
    SETTLE,
    result,
    unsettled,
)
from trainer.export.gradebook import COLUMNS, grades_csv
from trainer.report.visible import visible

FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def test_grades_have_the_columns_of_the_contract() -> None:
    """In this order, with nothing before them."""
    assert grades_csv([]).splitlines() == [
        "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds"
    ]
    assert rows([FAILED]) == [
        dict(
            zip(
                COLUMNS,
                ("Ann", "first", "failed", "70", "11", "14", "no-scale+heads-tiled", "1.25"),
                strict=True,
            )
        )
    ]


def test_a_failed_grading_has_no_score() -> None:
    """Nobody's 0 comes from the grader."""
    assert rows([result("Ann", verdict=None)])[0] | {"seconds": ""} == dict.fromkeys(
        COLUMNS, ""
    ) | {
        "student": "Ann",
        "challenge": "first",
        "verdict": "not graded",
    }


def test_several_submissions_of_one_name_are_one_row() -> None:
    """The row has no score; it names the files and the next step."""
    expected = {
        "student": "bob",
        "challenge": "first",
        "verdict": "not graded",
        "likely_mistake": SETTLE,
    }
    assert rows([unsettled()])[0] | {"seconds": ""} == dict.fromkeys(COLUMNS, "") | expected


def test_one_row_a_student_whatever_the_names() -> None:
    """A reader gets every name back, by lines and by the csv module."""
    found = rows(EVERYONE)
    assert [one["student"].removeprefix("'") for one in found] == [
        visible(one.student).removeprefix("'") for one in EVERYONE
    ]
    assert len(grades_csv(EVERYONE).splitlines()) == len(EVERYONE) + 1
    assert len({one["student"] for one in found}) == len(EVERYONE)
    grades_csv(EVERYONE).encode()


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
    ],
)
def test_no_name_is_a_formula(name: str) -> None:
    """An apostrophe stands before it, and the name behind it."""
    assert rows([result(name)])[0]["student"] == "'" + visible(name)


@pytest.mark.parametrize("name", ["Ann", "a=1", "O'Neil", "Ann-Marie", "x@uni.example", "1+1"])
def test_other_names_stay(name: str) -> None:
    """Only the beginning makes a formula."""
    assert rows([result(name)])[0]["student"] == name


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_however_the_file_is_divided(delimiter: str) -> None:
    """Where a country's spreadsheets divide by semicolons, a name cannot begin a cell of its own either."""
    for row in csv.reader(
        io.StringIO(grades_csv([*EVERYONE, result("Bo;=1+1"), result("Bo\t=1")]), newline=""),
        delimiter=delimiter,
    ):
        assert not any(
            cell.lstrip(" \"'").startswith(FORMULA) and not cell.startswith("'") for cell in row
        )
