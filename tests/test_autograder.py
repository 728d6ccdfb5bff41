"""The folder for Gradescope: whole, installable from a checkout and from a wheel, and it always leaves results behind."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.paths import TINY_PACK
from trainer.export.autograder_files import FAILED, RUN_AUTOGRADER, SETUP
from trainer.export.autograder_folder import write_autograder
from trainer.model.errors import DrillError
from trainer.packs.pack_reader import built_in_pack

RESULTS = {"score": 72.7, "output": "first: failed – ✗", "tests": []}


def small_checkout(folder: Path) -> Path:
    """What of a checkout the autograder needs, in little, and some of what it must not take."""
    for name, text in {
        "pyproject.toml": '[project]\nname = "attn-drill"\n',
        "README.md": "read me",
        "LICENSE": "do what you like",
        "constraints.txt": "torch==2.13.0\n",
        "CHANGELOG.md": "changes",
        "trainer/__init__.py": "",
        "trainer/session/session.tcss": "x",
        "trainer/__pycache__/a.pyc": "",
        "trainer/.cache/a": "",
        "challenges/one/stub.py": "stub",
        "solutions/one/solution.py": "solution",
        "tests/test_x.py": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def small_wheel(folder: Path) -> Path:
    """The site-packages of an installed wheel, in little."""
    for name, text in {
        "trainer/__init__.py": "",
        "trainer/_pack/challenges/one/stub.py": "stub",
        "trainer/_pack/solutions/one/solution.py": "solution",
        "attn_drill-1.2.dist-info/METADATA": "Metadata-Version: 2.4\nName: attn-drill\nVersion: 1.2\n"
        "Requires-Dist: torch<2.14,>=2.13\nRequires-Dist: rich>=14\nRequires-Dist: pytest>=8; extra == 'dev'\n",
        "attn_drill-1.2.dist-info/licenses/LICENSE": "do what you like",
        "torch-2.13.0+cpu.dist-info/METADATA": "Metadata-Version: 2.4\nName: torch\nVersion: 2.13.0+cpu\n",
        "rich-15.0.dist-info/METADATA": "Metadata-Version: 2.4\nName: rich\nVersion: 15.0\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def files(folder: Path) -> set[str]:
    """Every file below, relative to it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_from_a_checkout_it_takes_what_is_installed_and_no_more(tmp_path: Path) -> None:
    """Package, content, licence and pins; no tests and no caches. The scripts can be run."""
    folder = tmp_path / "made" / "autograder"
    write_autograder(folder, 'title = "Übung"\n', small_checkout(tmp_path / "checkout"))
    package = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "constraints.txt",
        "trainer/__init__.py",
        "trainer/session/session.tcss",
    }
    package |= {"challenges/one/stub.py", "solutions/one/solution.py"}
    assert files(folder) == {"run_autograder", "setup.sh", "assignment.toml", "README.md"} | {
        f"package/{name}" for name in package
    }
    assert (folder / "assignment.toml").read_text(encoding="utf-8") == 'title = "Übung"\n'
    assert (folder / "package" / "constraints.txt").read_text() == "torch==2.13.0\n"
    for name in ("run_autograder", "setup.sh"):
        assert os.access(folder / name, os.X_OK)
        assert (folder / name).read_bytes().startswith(b"#!/usr/bin/env bash\n")


def test_from_a_wheel_it_is_the_same_package(tmp_path: Path) -> None:
    """The content is back beside trainer/; dependencies without the developer's, pinned to what is installed, in any build."""
    folder = tmp_path / "autograder"
    write_autograder(folder, "", small_wheel(tmp_path / "site-packages"))
    package = folder / "package"
    assert files(package) == {
        "pyproject.toml",
        "constraints.txt",
        "LICENSE",
        "trainer/__init__.py",
        "challenges/one/stub.py",
        "solutions/one/solution.py",
    }
    made = tomllib.loads((package / "pyproject.toml").read_text())
    assert (made["project"]["version"], made["project"]["dependencies"]) == (
        "1.2",
        ["torch<2.14,>=2.13", "rich>=14"],
    )
    ours = tomllib.loads((built_in_pack() / "pyproject.toml").read_text())
    for path in (
        ["build-system"],
        ["project", "scripts"],
        ["project", "name"],
        ["project", "requires-python"],
    ):
        mine, other = made, ours
        for key in path:
            mine, other = mine[key], other[key]
        assert mine == other
    wheel, our_wheel = (one["tool"]["hatch"]["build"]["targets"]["wheel"] for one in (made, ours))
    assert wheel["packages"] == our_wheel["packages"]
    assert wheel["force-include"] == {
        part: f"trainer/_pack/{part}" for part in ("challenges", "solutions")
    }
    assert (package / "constraints.txt").read_text() == "rich==15.0\ntorch==2.13.0\n"


def test_the_real_checkout_gives_a_whole_package(tmp_path: Path) -> None:
    """Every file that pyproject.toml speaks of, and every challenge with its solution."""
    write_autograder(tmp_path / "autograder", "", built_in_pack())
    package = tmp_path / "autograder" / "package"
    made = tomllib.loads((package / "pyproject.toml").read_text())
    needed = [
        made["project"]["readme"],
        *made["project"]["license-files"],
        "hatch_build.py",
        "challenges",
        "solutions",
    ]
    assert "custom" in made["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
    assert all((package / name).exists() for name in needed)
    assert {
        path.name for path in (package / "challenges").iterdir() if not path.name.startswith("_")
    } == {path.name for path in (package / "solutions").iterdir()}
    assert "torch==" in (package / "constraints.txt").read_text()


def test_an_earlier_autograder_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    """What is not in the new one is gone from the package; what was put beside it stays; other folders are not touched."""
    folder, root = tmp_path / "autograder", small_checkout(tmp_path / "checkout")
    write_autograder(folder, "old", root)
    (folder / "pip.conf").write_text("mine")
    (folder / "package" / "trainer" / "old.py").write_text("old")
    write_autograder(folder, "new", root)
    assert (folder / "assignment.toml").read_text() == "new"
    assert not (folder / "package" / "trainer" / "old.py").exists()
    assert (folder / "pip.conf").read_text() == "mine"
    other = tmp_path / "thesis"
    (other / "package").mkdir(parents=True)
    with pytest.raises(
        DrillError,
        match=r"thesis is not empty and no autograder \(it has no run_autograder\). Name a new folder",
    ):
        write_autograder(other, "", root)
    assert (other / "package").is_dir()


@pytest.mark.parametrize(
    ("folder", "root", "words"),
    [
        ("a-file", "checkout", "is a file"),
        ("new", "nothing", "neither a checkout of attn-drill nor an installed one"),
        ("a-file/in", "checkout", "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_sentence(
    tmp_path: Path, folder: str, root: str, words: str
) -> None:
    """With what to do next."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "nothing").mkdir()
    small_checkout(tmp_path / "checkout")
    with pytest.raises(DrillError, match=words):
        write_autograder(tmp_path / folder, "", tmp_path / root)


# Running it


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


def run(
    root: Path, environment: dict[str, str]
) -> tuple[dict[str, object], subprocess.CompletedProcess[str]]:
    """Run it as the platform does: a copy in the root, the root as the working folder."""
    script = root / "run_autograder"
    script.write_text((root / "source" / "run_autograder").read_text())
    script.chmod(0o755)
    done = subprocess.run(
        [str(script)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8")), done


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


def test_a_challenge_of_a_course_goes_along(tmp_path: Path) -> None:
    """Asked for by --pack, it is graded when that folder is gone; what is not asked stays behind, and with another assignment so does all of it."""
    course, root = tmp_path / "course", tmp_path / "there"
    shutil.copytree(TINY_PACK, course)
    environment = {
        **os.environ,
        "PYTHONPATH": str(built_in_pack()),
        "PYTHON": sys.executable,
        "AUTOGRADER_ROOT": str(root),
    }
    made = forked.run(
        ["autograder", str(root / "source"), "--challenge", "prefix-sum", "--pack", str(course)],
        tmp_path,
        environment,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert {path.name for path in (course / "challenges").iterdir()} > {"prefix_sum"}
    assert sorted(path.relative_to(root).as_posix() for path in root.glob("source/pack/*/*")) == [
        "source/pack/challenges/prefix_sum",
        "source/pack/solutions/prefix_sum",
    ]
    shutil.rmtree(course)
    right = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()
    (root / "submission").mkdir()
    for source, whole in ((right, True), (right.replace(".flip(-1)", ""), False)):
        (root / "submission" / "prefix_sum.py").write_text(source)
        results, done = run(root, environment)
        assert results.get("score") is not None, done.stderr
        assert (results["score"] == 100.0) == whole
    made = forked.run(
        ["autograder", str(root / "source"), "--challenge", "gqa"], tmp_path, environment
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert not (root / "source" / "pack").exists()


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
