"""Tests of the scripts of a Gradescope autograder: run_autograder always leaves results."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from attn_drill.export import handout
from attn_drill.export.handout import FAILED, RUN_AUTOGRADER, SETUP, write_autograder
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import find_challenge
from tests.support.cli import run
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row

RESULTS = {"score": 72.7, "output": "first: failed – ✗", "tests": []}


def folder_with(tmp_path: Path, grade: str) -> tuple[Path, dict[str, str]]:
    """Write an autograder whose Python runs a piece of bash. There, `$root` is its folder.

    Return the folder, and the environment for its scripts.
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
    root, environment = folder_with(tmp_path, write_results(RESULTS))
    results, process = run(root, environment)
    assert results == RESULTS
    assert process.returncode == 0
    arguments = (root / "arguments").read_text().splitlines()
    assert arguments == [
        *("-m", "attn_drill.cli.autograde", f"{root}/submission"),
        *(f"{root}/source/assignment.toml", f"{root}/work/results.json"),
    ]
    assert {path.name for path in (root / "results").iterdir()} == {"results.json"}


@each_row(
    "grade",
    {
        "it fails": "exit 3",
        "it fails after it wrote": write_results(RESULTS) + "\n  exit 3",
        "it writes nothing": "true",
        "it is killed": 'kill -9 "$$"',
        "a folder instead of the file": 'mkdir -p "$made/results.json"',
    },
)
def test_results_without_a_score_if_grade_fails(tmp_path: Path, grade: str) -> None:
    """Students see that the grader failed, and the teacher's log has the cause."""
    root, environment = folder_with(tmp_path, grade)
    results, process = run(root, environment)
    assert results == {"output": FAILED, "stdout_visibility": "hidden"}
    assert process.returncode == 0
    assert "students see that the grader failed" in process.stderr


def test_results_without_a_score_if_the_grader_hangs_or_is_missing(tmp_path: Path) -> None:
    """The script ends the grader before the platform gives a score of 0."""
    root, environment = folder_with(tmp_path, "exec sleep 100")
    results, process = run(root, environment | {"AUTOGRADER_SECONDS": "0.2"})
    assert results["output"] == FAILED
    assert "ended with 124" in process.stderr
    assert run(root, environment | {"PYTHON": str(tmp_path / "none")})[0]["output"] == FAILED


def test_results_exist_before_the_grading_begins(tmp_path: Path) -> None:
    """Results also remain if run_autograder itself is killed. Old results are removed."""
    root, environment = folder_with(
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
    root, environment = folder_with(
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
    root, environment = folder_with(tmp_path, "true")
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


def test_folder_runs_without_an_installation(tmp_path: Path) -> None:
    """It has attn-drill with its pack, the course's challenge, and the versions of the packages."""
    folder = tmp_path / "new" / "autograder"
    write_autograder(folder, 'title = "Übung"\n', [find_challenge(TINY_PACK, "prefix-sum")])
    assert {path.name for path in folder.iterdir()} == {
        *("run_autograder", "setup.sh", "assignment.toml", "README.md", "requirements.txt"),
        *("package", "pack"),
    }
    assert (folder / "assignment.toml").read_text(encoding="utf-8") == 'title = "Übung"\n'
    for part, file in (("challenges", "stub.py"), ("solutions", "solution.py")):
        assert (folder / "pack" / part / "prefix_sum" / file).is_file()
        assert (folder / "package" / "attn_drill" / "_pack" / part / "gqa" / file).is_file()
    assert not [path for path in folder.rglob("*") if path.name.startswith((".", "__pycache__"))]
    torch = metadata.version("torch").partition("+")[0]
    assert f"torch=={torch}" in (folder / "requirements.txt").read_text().split()
    assert "ruff" not in (folder / "requirements.txt").read_text()
    for name in ("run_autograder", "setup.sh"):
        assert os.access(folder / name, os.X_OK)
        assert (folder / name).read_bytes().startswith(b"#!/usr/bin/env bash\n")
    code = "from attn_drill.packs.pack_reader import built_in_pack; print(built_in_pack())"
    environment = {**os.environ, "PYTHONPATH": str(folder / "package")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(folder / "package" / "attn_drill" / "_pack")


def test_pack_of_a_wheel_is_inside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is copied with the package."""
    package = tmp_path / "site-packages" / "attn_drill"
    (package / "_pack" / "solutions").mkdir(parents=True)
    monkeypatch.setattr(handout, "PACKAGE", package)
    monkeypatch.setattr(handout, "built_in_pack", lambda: package / "_pack")
    write_autograder(tmp_path / "autograder", "")
    copied = tmp_path / "autograder" / "package"
    assert sorted(copied.rglob("*")) == [
        copied / name for name in ("attn_drill", "attn_drill/_pack", "attn_drill/_pack/solutions")
    ]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few files are copied."""
    (tmp_path / "small" / "attn_drill" / "_pack").mkdir(parents=True)
    monkeypatch.setattr(handout, "PACKAGE", tmp_path / "small" / "attn_drill")
    monkeypatch.setattr(
        handout, "built_in_pack", lambda: tmp_path / "small" / "attn_drill" / "_pack"
    )


@pytest.mark.usefixtures("small")
def test_only_an_earlier_autograder_is_replaced(tmp_path: Path) -> None:
    """Old files of the package are removed, and other files stay.

    A folder with other files is refused and does not change.
    """
    folder = tmp_path / "autograder"
    write_autograder(folder, "old")
    (folder / "pip.conf").write_text("mine")
    (folder / "package" / "attn_drill" / "old.py").write_text("old")
    write_autograder(folder, "new")
    assert (folder / "assignment.toml").read_text() == "new"
    assert not (folder / "package" / "attn_drill" / "old.py").exists()
    assert (folder / "pip.conf").read_text() == "mine"
    (tmp_path / "thesis" / "package").mkdir(parents=True)
    message = r"thesis is not empty and is not an autograder \(it has no run_autograder\). Name a"
    with pytest.raises(DrillError, match=message):
        write_autograder(tmp_path / "thesis", "")
    assert (tmp_path / "thesis" / "package").is_dir()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("folder", ["a-file", "a-file/in"])
def test_error_has_the_next_step(tmp_path: Path, folder: str) -> None:
    """If the folder cannot be written, the sentence has the cause and the next step."""
    (tmp_path / "a-file").write_text("")
    with pytest.raises(DrillError, match=r"cannot be written: .* Name another folder"):
        write_autograder(tmp_path / folder, "")


def test_versions_are_known_only_of_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, the platform could grade with other versions."""

    def not_installed(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", not_installed)
    with pytest.raises(DrillError, match=r"attn-drill is not installed.* Install attn-drill"):
        write_autograder(tmp_path / "new", "")
