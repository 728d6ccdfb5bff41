"""Tests of writing the folder of a Gradescope autograder, from a checkout and from a wheel."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.autograder import small_checkout
from trainer.export.autograder_folder import write_autograder
from trainer.model.errors import DrillError
from trainer.packs.pack_reader import built_in_pack


def small_wheel(folder: Path) -> Path:
    """Write the site-packages of a small installed wheel."""
    metadata = "Metadata-Version: 2.4\nName: {}\nVersion: {}\n"
    for name, text in {
        "trainer/__init__.py": "",
        "trainer/_pack/challenges/one/stub.py": "stub",
        "trainer/_pack/solutions/one/solution.py": "solution",
        "attn_drill-1.2.dist-info/METADATA": metadata.format("attn-drill", "1.2")
        + "Requires-Dist: torch>=2.6\nRequires-Dist: rich>=14\n"
        "Requires-Dist: pytest>=8; extra == 'dev'\n",
        "attn_drill-1.2.dist-info/licenses/LICENSE": "do what you like",
        "torch-2.13.0+cpu.dist-info/METADATA": metadata.format("torch", "2.13.0+cpu"),
        "rich-15.0.dist-info/METADATA": metadata.format("rich", "15.0"),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def files(folder: Path) -> set[str]:
    """Return the relative paths of all files in a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_folder_from_a_checkout_holds_the_package(tmp_path: Path) -> None:
    """The folder has the package, challenges, licence and pins, but no tests and no caches.

    The scripts are executable.
    """
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


def test_folder_from_a_wheel_holds_the_same_package(tmp_path: Path) -> None:
    """The challenges are next to trainer/ again.

    The dependencies are without those of developers, and pinned to the installed versions without
    their build.
    """
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
    project = made["project"]
    assert (project["version"], project["dependencies"]) == (
        "1.2",
        ["torch>=2.6", "rich>=14"],
    )
    original = tomllib.loads((built_in_pack() / "pyproject.toml").read_text())
    assert made["build-system"] == original["build-system"]
    for key in ("scripts", "name", "requires-python"):
        assert project[key] == original["project"][key]
    wheel, original_wheel = (
        content["tool"]["hatch"]["build"]["targets"]["wheel"] for content in (made, original)
    )
    assert wheel["packages"] == original_wheel["packages"]
    assert wheel["force-include"] == {
        part: f"trainer/_pack/{part}" for part in ("challenges", "solutions")
    }
    assert (package / "constraints.txt").read_text() == "rich==15.0\ntorch==2.13.0\n"


def test_folder_from_the_real_checkout_is_complete(tmp_path: Path) -> None:
    """The folder has every file that pyproject.toml names, and all challenges and solutions."""
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
    challenges = {path.name for path in (package / "challenges").iterdir() if path.is_dir()}
    solutions = {path.name for path in (package / "solutions").iterdir()}
    assert {name for name in challenges if not name.startswith("_")} == solutions
    assert "torch==" in (package / "constraints.txt").read_text()


def test_only_an_earlier_autograder_is_replaced(tmp_path: Path) -> None:
    """Old files of the package are removed, and additional files next to the package stay.

    A folder with other files is refused and does not change.
    """
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
    message = r"thesis is not empty and is not an autograder \(it has no run_autograder\). Name a"
    with pytest.raises(DrillError, match=message):
        write_autograder(other, "", root)
    assert (other / "package").is_dir()


@pytest.mark.parametrize(
    ("folder", "root", "message"),
    [
        ("a-file", "checkout", "is a file. Name a folder"),
        ("new", "nothing", "neither a checkout nor an installed wheel of attn-drill. Install"),
        ("a-file/in", "checkout", "cannot be written: .* Name another folder"),
    ],
)
def test_error_has_the_next_step(tmp_path: Path, folder: str, root: str, message: str) -> None:
    """If the folder cannot be written, the sentence has the cause and the next step."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "nothing").mkdir()
    small_checkout(tmp_path / "checkout")
    with pytest.raises(DrillError, match=message):
        write_autograder(tmp_path / folder, "", tmp_path / root)
