"""The commands `class handout`, `class autograder` and `class override`."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.classroom.result_store import ResultStore, write_record
from attn_drill.cli._class_commands import override
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import built_in_pack
from tests.support import forked
from tests.support.classroom import class_record, result, table
from tests.support.cli import run
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row

COMMAND = ["class", "handout", "week.toml", "--pack", str(TINY_PACK), "--out", "out"]


def test_students_get_the_task_the_stub_and_the_rules(tmp_path: Path) -> None:
    """The table of points has the checks that the challenge has."""
    (tmp_path / "week.toml").write_text(
        'title = "Week 3"\ndue = 2026-12-01T23:59:00Z\n[[challenge]]\nid = "prefix-sum"\n'
    )
    process = forked.run(COMMAND, tmp_path, os.environ)
    assert process.stdout == "written: out/handout.html, out/prefix_sum.py\n"
    page = (tmp_path / "out" / "handout.html").read_text()
    for words in ("Week 3", "2026-12-01 23:59 (UTC+00:00)", "prefix_sum.py", "gradients"):
        assert words in page
    assert "masks" not in page
    assert "def prefix_sum" in (tmp_path / "out" / "prefix_sum.py").read_text()


@pytest.mark.parametrize(
    ("weights", "message"), [("masks = 2", "masks"), ("mask = 2", "Did you mean")]
)
def test_wrong_assignment_is_refused(tmp_path: Path, weights: str, message: str) -> None:
    """Students must not read points that do not hold."""
    (tmp_path / "week.toml").write_text(
        f'[[challenge]]\nid = "prefix-sum"\nweights = {{ {weights} }}\n'
    )
    process = forked.run(COMMAND, tmp_path, os.environ)
    assert process.returncode == 2
    assert message in process.stderr
    assert not (tmp_path / "out" / "handout.html").exists()


@pytest.mark.sampled(2)
@pytest.mark.thorough
@each_row(
    "is_right",
    {
        "not run": None,
        "right": pytest.param(True, marks=pytest.mark.thorough),
        "wrong": pytest.param(False, marks=pytest.mark.thorough),
    },
)
def test_autograder_includes_the_challenge_of_a_course(
    tmp_path: Path, is_right: bool | None
) -> None:
    """A challenge from --pack is copied, so that the autograder works without the pack's folder.

    Challenges that the assignment does not need are left out. A run takes seconds.
    """
    course, root = tmp_path / "course", tmp_path / "autograder"
    shutil.copytree(TINY_PACK, course)
    environment = {
        **os.environ,
        "PYTHONPATH": str(built_in_pack()),
        "PYTHON": sys.executable,
        "AUTOGRADER_ROOT": str(root),
    }
    command = ["class", "autograder", str(root / "source"), "--challenge"]
    process = forked.run([*command, "prefix-sum", "--pack", str(course)], tmp_path, environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert {path.name for path in (course / "challenges").iterdir()} > {"prefix_sum"}
    assert sorted(path.relative_to(root).as_posix() for path in root.glob("source/pack/*/*")) == [
        "source/pack/challenges/prefix_sum",
        "source/pack/solutions/prefix_sum",
    ]
    shutil.rmtree(course)
    right = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()
    (root / "submission").mkdir()
    if is_right is not None:
        source = right if is_right else right.replace(".flip(-1)", "")
        (root / "submission" / "prefix_sum.py").write_text(source)
        results, graded = run(root, environment)
        assert results.get("score") is not None, graded.stderr
        assert (results["score"] == 100.0) == is_right
    process = forked.run([*command, "gqa"], tmp_path, environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert not (root / "source" / "pack").exists()


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


def overrule(out: Path, *arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, [str(out), *arguments], catch_exceptions=False)


def row(out: Path, student: str = "Ana Lee") -> dict[str, str]:
    """Return the row of a student in grades.csv."""
    return {each["student"]: each for each in table(out / "grades.csv")}[student]


def test_points_of_the_total_are_in_the_tables_at_once(out: Path) -> None:
    """The marks that changed are listed, and the file of overrides keeps the decision."""
    overrule(out, "Bo", "--points", "100")  # the first run of this folder writes all marks
    printed = overrule(out, "Ana Lee", "--points", "85", "--comment", 'Said "why".').stdout
    assert "1 mark changed:\n  Ana Lee, total: 100 → 85, override\n" in printed
    found = row(out)
    assert (found["first"], found["second"], found["total"]) == ("100", "100", "85")
    assert found["look"] == 'override: 85 points. Said "why".'
    assert 'file = "' in (out / "overrides.toml").read_text()


def test_points_of_a_challenge_change_the_total(out: Path) -> None:
    """The student may be named by id or by the anonymous id."""
    marked = anonymous_ids(["Ana Lee", "Bo"], "salt")["Ana Lee"]
    overrule(out, "id-Ana Lee", "--points", "50", "--challenge", "first")
    overrule(out, marked, "--points", "70", "--challenge", "second")
    found = row(out)
    assert (found["first"], found["second"], found["total"]) == ("50", "70", "60")


def test_decision_for_another_file_is_named(out: Path) -> None:
    """The reason to look has the points of the checks."""
    entry = '[[override]]\nstudent = "Bo"\nchallenge = "first"\npoints = 1\nfile = "old"\n'
    (out / "overrides.toml").write_text(entry)
    printed = overrule(out, "Ana Lee", "--points", "85").stdout
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
        overrule(out, *arguments)
    assert sentence in str(error.value)
    assert not (out / "overrides.toml").exists()


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    """The sentence names the folder."""
    with pytest.raises(DrillError, match=r"holds no results of `attn-drill class grade`"):
        overrule(tmp_path, "Ana", "--points", "1")
