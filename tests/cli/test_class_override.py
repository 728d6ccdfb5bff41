"""Tests of `class override`: the points that a person decided, and errors."""

import csv
import io
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.classroom.result_store import ResultStore, write_record
from attn_drill.cli._class_commands import override
from attn_drill.model.errors import DrillError
from tests.support.classroom import class_record, result

app = typer.Typer()
app.command()(override)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder with the results of two students in two challenges."""
    store = ResultStore(tmp_path, ["first", "second"])
    both = Assignment("Week 3", (AssignedChallenge("first"), AssignedChallenge("second")))
    for student in ("Ana Lee", "Bo"):
        for challenge in ("first", "second"):
            store.write(result(student, challenge))
    write_record(tmp_path, class_record(both, "Ana Lee", "Bo"))
    return tmp_path


def run(out: Path, *arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, [str(out), *arguments], catch_exceptions=False)


def row(out: Path, student: str = "Ana Lee") -> dict[str, str]:
    """Return the row of a student in grades.csv."""
    text = (out / "grades.csv").read_text("utf-8-sig")
    rows = {each["student"]: each for each in csv.DictReader(io.StringIO(text, newline=""))}
    return rows[student]


def test_points_of_the_total_are_in_the_tables_at_once(out: Path) -> None:
    """The marks that changed are listed, and the file of overrides keeps the decision."""
    run(out, "Bo", "--points", "100")  # the first run of this folder writes all marks
    printed = run(out, "Ana Lee", "--points", "85", "--comment", 'Said "why".').stdout
    assert "1 mark changed:\n  Ana Lee, total: 100 → 85, override\n" in printed
    found = row(out)
    assert (found["first"], found["second"], found["total"]) == ("100", "100", "85")
    assert found["look"] == 'override: 85 points. Said "why".'
    assert 'file = "' in (out / "overrides.toml").read_text()


def test_points_of_a_challenge_change_the_total(out: Path) -> None:
    """The student may be named by id or by the anonymous id."""
    marked = anonymous_ids(["Ana Lee", "Bo"], "salt")["Ana Lee"]
    run(out, "id-Ana Lee", "--points", "50", "--challenge", "first")
    run(out, marked, "--points", "70", "--challenge", "second")
    found = row(out)
    assert (found["first"], found["second"], found["total"]) == ("50", "70", "60")


def test_decision_for_another_file_is_named(out: Path) -> None:
    """The reason to look has the points of the checks."""
    entry = '[[override]]\nstudent = "Bo"\nchallenge = "first"\npoints = 1\nfile = "old"\n'
    (out / "overrides.toml").write_text(entry)
    printed = run(out, "Ana Lee", "--points", "85").stdout
    assert "overrides that were decided for another file: Bo" in printed
    assert "the checks give the present file 100 points" in row(out, "Bo")["look"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["Ana Leo", "--points", "1"], "is called 'Ana Leo'. Did you mean 'Ana Lee'"),
        (["Bo", "--points", "101"], "--points is 101; it must be 0 to 100"),
        (["Bo", "--points", "nan"], "--points is nan; it must be 0 to 100"),
        (["Bo", "--points", "1", "--challenge", "third"], "this grading has first, second"),
    ],
)
def test_a_wrong_command_gets_a_sentence(out: Path, arguments: list[str], sentence: str) -> None:
    """Nothing is written."""
    with pytest.raises(DrillError) as error:
        run(out, *arguments)
    assert sentence in str(error.value)
    assert not (out / "overrides.toml").exists()


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    """The sentence names the folder."""
    with pytest.raises(DrillError, match=r"holds no results of `attn-drill class grade`"):
        run(tmp_path, "Ana", "--points", "1")
