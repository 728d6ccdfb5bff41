"""The folder for Gradescope: whole, installable from a checkout and from a wheel, and it always leaves results behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.autograder import run, small_checkout
from trainer.export.autograder_files import FAILED, RUN_AUTOGRADER, SETUP
from trainer.export.autograder_folder import write_autograder

RESULTS = {"score": 72.7, "output": "first: failed – ✗", "tests": []}


def autograder(tmp_path: Path, grade: str) -> tuple[Path, dict[str, str]]:
    """An autograder's folder with a Python whose `-m trainer` is this piece of bash; `$root` is the folder."""
    root = tmp_path / "auto grader"
    (root / "submission").mkdir(parents=True)
    (root / "submission" / "first.py").write_text("pass")
    (root / "source").mkdir()
    write_autograder(root / "source", "title = 'x'", small_checkout(tmp_path / "checkout"))
    fake = tmp_path / "fake python"
    fake.write_text(
        f"#!/usr/bin/env bash\nroot='{root}'\nmade=$root/work/gradescope/submission\n"
        f'if [ "$1 $2" = "-m trainer" ]; then\n  printf "%s\\n" "$@" >"$root/arguments"\n  {grade}\n  exit\nfi\nexec "{sys.executable}" "$@"\n'
    )
    fake.chmod(0o755)
    return root, os.environ | {"AUTOGRADER_ROOT": str(root), "PYTHON": str(fake)}


def written(what: object) -> str:
    """Bash that writes this as the student's results."""
    return f'mkdir -p "$made"; cat >"$made/results.json" <<"JSON"\n{what if isinstance(what, str) else json.dumps(what, ensure_ascii=False)}\nJSON'


def test_the_results_of_grade_are_the_results(tmp_path: Path) -> None:
    """Every byte of them; `grade` was asked for one student, this assignment, this format and this folder."""
    root, environment = autograder(tmp_path, written(RESULTS))
    made, done = run(root, environment)
    assert made == RESULTS
    assert done.returncode == 0
    arguments = (root / "arguments").read_text().splitlines()
    assert arguments == [
        *(
            "-m",
            "trainer",
            "grade",
            f"{root}/submission",
            "--single",
            "--assignment",
            f"{root}/source/assignment.toml",
        ),
        *("--format", "gradescope", "--out", f"{root}/work"),
    ]
    assert {path.name for path in (root / "results").iterdir()} == {"results.json"}


@pytest.mark.parametrize(
    "grade",
    [
        pytest.param("exit 3", id="it fails"),
        pytest.param(written(RESULTS) + "\n  exit 3", id="it fails after it wrote"),
        pytest.param("true", id="it writes nothing"),
        pytest.param(written('{"score": 100'), id="half of a file"),
        pytest.param(written([1, 2]), id="no object"),
        pytest.param('kill -9 "$$"', id="it is killed"),
        pytest.param('mkdir -p "$made/results.json"', id="a folder in its place"),
    ],
)
def test_whatever_grade_does_there_are_results_without_a_score(tmp_path: Path, grade: str) -> None:
    """Students are told that it was the grader, and the teacher's log says what happened."""
    root, environment = autograder(tmp_path, grade)
    made, done = run(root, environment)
    assert made == {"output": FAILED, "stdout_visibility": "hidden"}
    assert done.returncode == 0
    assert "students are told that the grader failed" in done.stderr


def test_a_grader_that_hangs_is_ended(tmp_path: Path) -> None:
    """Before the platform does it, which would be a 0."""
    root, environment = autograder(tmp_path, "exec sleep 100")
    made, done = run(root, environment | {"AUTOGRADER_SECONDS": "0.2"})
    assert made["output"] == FAILED
    assert "ended with 124" in done.stderr


def test_without_any_python_there_are_results(tmp_path: Path) -> None:
    """As after a setup that failed."""
    root, environment = autograder(tmp_path, "true")
    assert run(root, environment | {"PYTHON": str(tmp_path / "none")})[0]["output"] == FAILED


def test_results_are_there_before_the_grading_begins(tmp_path: Path) -> None:
    """So that even the end of run_autograder itself leaves them; and nothing of an earlier run is left to be taken for new."""
    root, environment = autograder(
        tmp_path,
        f'cp "$root/results/results.json" "$root/before"; ls "$root/work" >"$root/left"; {written(RESULTS)}',
    )
    old = root / "work" / "gradescope" / "submission"
    old.mkdir(parents=True)
    (old / "results.json").write_text('{"score": 100}')
    (root / "results").mkdir()
    (root / "results" / "results.json").write_text('{"score": 100}')
    run(root, environment)
    assert json.loads((root / "before").read_text())["output"] == FAILED
    assert (root / "left").read_text() == ""


def test_the_submission_is_not_where_python_looks(tmp_path: Path) -> None:
    """A student's json.py or trainer/ is not imported, wherever this runs; and the journal is not the user's own."""
    root, environment = autograder(
        tmp_path,
        f'printf "%s\\n" "$PYTHONSAFEPATH" "$ATTN_DRILL_HOME" >"$root/environment"; {written(RESULTS)}',
    )
    for name in ("json.py", "trainer.py"):
        (root / name).write_text("raise SystemExit('imported')")
    assert run(root, environment)[0] == RESULTS
    assert (root / "environment").read_text().splitlines() == ["1", f"{root}/work/home"]


def test_setup_installs_the_package_with_its_pins(tmp_path: Path) -> None:
    """In a virtual environment of its own, without the developer's tools; a pip.conf that lies there is taken."""
    root, environment = autograder(tmp_path, "true")
    recorder = tmp_path / "recorder"
    recorder.write_text(
        f'#!/usr/bin/env bash\nprintf "%s\\n" "$PIP_CONFIG_FILE" "$@" >>"{root}/asked"\n'
    )
    recorder.chmod(0o755)
    fake = tmp_path / "fake python"
    fake.write_text(
        f'#!/usr/bin/env bash\nif [ "$1 $2" = "-m venv" ]; then\n  mkdir -p "${{@: -1}}/bin"\n  cp "{recorder}" "${{@: -1}}/bin/python"\n  exit\nfi\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    (root / "source" / "pip.conf").write_text("")
    (root / "source" / "pack" / "solutions").mkdir(parents=True)
    done = subprocess.run(
        ["bash", "source/setup.sh"],
        cwd=root,
        env=environment | {"PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    source = root / "source"
    assert (root / "asked").read_text().splitlines() == [
        f"{source}/pip.conf",
        *(
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--no-cache-dir",
            "-c",
            f"{source}/package/constraints.txt",
            f"{source}/package",
        ),
        f"{source}/pip.conf",
        *("-m", "trainer", "doctor"),
    ]
    for name in ("package", "pack"):
        assert (source / name / "solutions").stat().st_mode & 0o077 == 0


def test_the_scripts_name_no_host_and_are_bash() -> None:
    """Where packages come from is pip's own setting."""
    for script in (RUN_AUTOGRADER, SETUP):
        assert "://" not in script
        assert "index" not in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
