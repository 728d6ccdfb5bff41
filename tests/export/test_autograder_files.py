"""Tests of the scripts of a Gradescope autograder: run_autograder always leaves results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attn_drill.export.handout import FAILED, RUN_AUTOGRADER, SETUP
from tests.support.autograder import run

RESULTS = {"score": 72.7, "output": "first: failed – ✗", "tests": []}


def autograder(tmp_path: Path, grade: str) -> tuple[Path, dict[str, str]]:
    """Write an autograder whose Python runs a piece of bash in place of `-m attn_drill`.

    Args:
        tmp_path: the folder for all files.
        grade: the piece of bash. `$root` is the folder of the autograder.

    Returns:
        The folder of the autograder, and the environment for its scripts.
    """
    root = tmp_path / "auto grader"
    (root / "submission").mkdir(parents=True)
    (root / "submission" / "first.py").write_text("pass")
    (root / "source").mkdir()
    for name, script in (("run_autograder", RUN_AUTOGRADER), ("setup.sh", SETUP)):
        (root / "source" / name).write_text(script)
    fake = tmp_path / "fake python"
    fake.write_text(
        f"#!/usr/bin/env bash\nroot='{root}'\nmade=$root/work\n"
        'if [ "$1 $2" = "-m attn_drill.cli.autograde" ]; then\n'
        '  printf "%s\\n" "$@" >"$root/arguments"\n'
        f'  {grade}\n  exit\nfi\nexec "{sys.executable}" "$@"\n'
    )
    fake.chmod(0o755)
    return root, os.environ | {"AUTOGRADER_ROOT": str(root), "PYTHON": str(fake)}


def write_results(results: object) -> str:
    """Return bash that writes the student's results, given as text or as an object."""
    text = results if isinstance(results, str) else json.dumps(results, ensure_ascii=False)
    return f'mkdir -p "$made"; cat >"$made/results.json" <<"JSON"\n{text}\nJSON'


def test_results_of_grade_are_copied(tmp_path: Path) -> None:
    """The grader runs for one student with the right assignment and file."""
    root, environment = autograder(tmp_path, write_results(RESULTS))
    results, process = run(root, environment)
    assert results == RESULTS
    assert process.returncode == 0
    arguments = (root / "arguments").read_text().splitlines()
    assert arguments == [
        *("-m", "attn_drill.cli.autograde", f"{root}/submission"),
        *(f"{root}/source/assignment.toml", f"{root}/work/results.json"),
    ]
    assert {path.name for path in (root / "results").iterdir()} == {"results.json"}


@pytest.mark.parametrize(
    "grade",
    [
        pytest.param("exit 3", id="it fails"),
        pytest.param(write_results(RESULTS) + "\n  exit 3", id="it fails after it wrote"),
        pytest.param("true", id="it writes nothing"),
        pytest.param('kill -9 "$$"', id="it is killed"),
        pytest.param('mkdir -p "$made/results.json"', id="a folder instead of the file"),
    ],
)
def test_results_without_a_score_if_grade_fails(tmp_path: Path, grade: str) -> None:
    """Students see that the grader failed, and the teacher's log has the cause."""
    root, environment = autograder(tmp_path, grade)
    results, process = run(root, environment)
    assert results == {"output": FAILED, "stdout_visibility": "hidden"}
    assert process.returncode == 0
    assert "students see that the grader failed" in process.stderr


def test_results_without_a_score_if_the_grader_hangs_or_is_missing(tmp_path: Path) -> None:
    """The script ends the grader before the platform gives a score of 0."""
    root, environment = autograder(tmp_path, "exec sleep 100")
    results, process = run(root, environment | {"AUTOGRADER_SECONDS": "0.2"})
    assert results["output"] == FAILED
    assert "ended with 124" in process.stderr
    assert run(root, environment | {"PYTHON": str(tmp_path / "none")})[0]["output"] == FAILED


def test_results_exist_before_the_grading_begins(tmp_path: Path) -> None:
    """Results also remain if run_autograder itself is killed. Old results are removed."""
    root, environment = autograder(
        tmp_path,
        'cp "$root/results/results.json" "$root/before"; ls "$root/work" >"$root/old";'
        f" {write_results(RESULTS)}",
    )
    old = root / "work"
    old.mkdir(parents=True)
    (old / "results.json").write_text('{"score": 100}')
    (root / "results").mkdir()
    (root / "results" / "results.json").write_text('{"score": 100}')
    run(root, environment)
    assert json.loads((root / "before").read_text())["output"] == FAILED
    assert (root / "old").read_text() == ""


def test_python_does_not_import_files_of_the_submission(tmp_path: Path) -> None:
    """A student's json.py or attn_drill.py is not imported. The journal is in the work folder."""
    root, environment = autograder(
        tmp_path,
        'printf "%s\\n" "$PYTHONPATH" "$PYTHONSAFEPATH" "$ATTN_DRILL_HOME" >"$root/environment";'
        f" {write_results(RESULTS)}",
    )
    for name in ("json.py", "attn_drill.py"):
        (root / name).write_text("raise SystemExit('imported')")
    assert run(root, environment)[0] == RESULTS
    assert (root / "environment").read_text().splitlines() == [
        f"{root}/source/package",
        "1",
        f"{root}/work/home",
    ]


def test_setup_installs_the_packages_with_their_versions(tmp_path: Path) -> None:
    """setup.sh makes a virtual environment without the developers' tools, and uses a pip.conf."""
    root, environment = autograder(tmp_path, "true")
    recorder = tmp_path / "recorder"
    recorder.write_text(
        f'#!/usr/bin/env bash\nprintf "%s\\n" "$PIP_CONFIG_FILE" "$@" >>"{root}/commands"\n'
    )
    recorder.chmod(0o755)
    fake = tmp_path / "fake python"
    fake.write_text(
        '#!/usr/bin/env bash\nif [ "$1 $2" = "-m venv" ]; then\n  mkdir -p "${@: -1}/bin"\n'
        f'  cp "{recorder}" "${{@: -1}}/bin/python"\n  exit\nfi\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    (root / "source" / "pip.conf").write_text("")
    for name in ("package", "pack"):
        (root / "source" / name / "solutions").mkdir(parents=True)
    process = subprocess.run(
        ["bash", "source/setup.sh"],
        cwd=root,
        env=environment | {"PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    source = root / "source"
    assert (root / "commands").read_text().splitlines() == [
        f"{source}/pip.conf",
        *(
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--no-cache-dir",
            "-r",
            f"{source}/requirements.txt",
        ),
        f"{source}/pip.conf",
        *("-m", "attn_drill", "doctor"),
    ]
    for name in ("package", "pack"):
        assert (source / name / "solutions").stat().st_mode & 0o077 == 0


def test_scripts_are_bash_and_name_no_host() -> None:
    """pip's own settings name the source of the packages."""
    for script in (RUN_AUTOGRADER, SETUP):
        assert "://" not in script
        assert "index" not in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
