"""The folder for Gradescope: whole, installable from a checkout and from a wheel, and it always leaves results behind."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.autograder import small_checkout
from trainer.export.autograder_folder import write_autograder
from trainer.model.errors import DrillError
from trainer.packs.pack_reader import built_in_pack


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
