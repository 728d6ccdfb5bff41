"""Tests of writing the folder of a Gradescope autograder."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from attn_drill.export import handout
from attn_drill.export.handout import write_autograder
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import find_challenge
from tests.support.paths import TINY_PACK


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
    assert "pytest" not in (folder / "requirements.txt").read_text()
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
