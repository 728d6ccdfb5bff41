"""A new pack: its files, its name, and its use as an installed package."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attn_drill.grading.case_set import load_case_set
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.catalogue import KnownPacks
from attn_drill.packs.scaffold import CHALLENGE, scaffold
from tests.support.paths import SOURCE


@pytest.mark.thorough  # tests/packs/test_catalogue.py and tests/cli find the same faults
def test_installed_pack_works_in_every_command(new_pack: Path, tmp_path: Path) -> None:
    """The entry point is enough to list, start and grade the challenge, without `--pack`."""
    project = tomllib.loads((new_pack / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    (site / "my_pack").mkdir(parents=True)
    for part in ("challenges", "solutions"):
        shutil.copytree(new_pack / part, site / "my_pack" / part)
    (site / "my_pack" / "__init__.py").write_text("raise ImportError('a pack is not imported')\n")
    (site / "my_pack-0.1.0.dist-info").mkdir()
    (site / "my_pack-0.1.0.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n"
    )
    group = project["entry-points"]["attn_drill.packs"]
    (site / "my_pack-0.1.0.dist-info" / "entry_points.txt").write_text(
        "[attn_drill.packs]\n" + "".join(f"{name} = {value}\n" for name, value in group.items())
    )
    path = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(site)])}

    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "attn_drill", *arguments],
            cwd=tmp_path,
            env={**os.environ, **path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
        return done.stdout

    reference = new_pack / "solutions/attention_pooling/solution.py"
    assert re.search(
        r"(?m)^attention-pooling +easy +10 +new +Attention pooling \(my-pack\)$", run("list")
    )
    assert re.search(r"attn-drill check attention-pooling\b(?! --pack)", run("start", CHALLENGE))
    assert run("check", CHALLENGE, code=1).startswith("ERROR")
    assert run("check", CHALLENGE, str(reference)).startswith("PASSED")


@pytest.mark.thorough
def test_new_pack_is_a_complete_project(new_pack: Path) -> None:
    """All placeholders are filled, the wheel has all parts, and every Python file compiles."""
    project = tomllib.loads((new_pack / "pyproject.toml").read_text())
    assert project["project"]["name"] == "my-pack"
    assert project["project"]["entry-points"] == {"attn_drill.packs": {"my-pack": "my_pack"}}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["my_pack"]
    assert wheel["force-include"] == {
        "challenges": "my_pack/challenges",
        "solutions": "my_pack/solutions",
    }
    files = [path for path in new_pack.rglob("*") if path.is_file()]
    names = {path.name for path in new_pack.iterdir()}
    assert names == {"pyproject.toml", "README.md", "my_pack", "challenges", "solutions"}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\{\{\w", text), path
        assert "template" not in path.name
        if path.suffix == ".py":
            compile(text, str(path), "exec")
    assert "# my-pack" in (new_pack / "README.md").read_text()
    assert f"start {CHALLENGE} --pack ." in (new_pack / "README.md").read_text()


def test_challenge_of_a_new_pack_shows_the_features(new_pack: Path) -> None:
    """The challenge hides no other and is not hidden.

    It has three dtypes, masks, gradients, counted operations and a translation.
    """
    assert KnownPacks((new_pack,)).catalogue().troubles == ()
    challenge = pack_reader.find_challenge(new_pack, CHALLENGE)
    assert pack_reader.prompt(challenge, "zh") != pack_reader.prompt(challenge)
    cases = load_case_set(challenge, 1).cases
    assert {case.dtype for case in cases} == {"float32", "float64", "bfloat16"}
    assert {case.check for case in cases} == {"values", "masks", "properties"}
    assert {case.probe for case in cases} == {None, "vectorised"}


@pytest.mark.parametrize(
    "name", ["", "2pack", "my--pack", "my-pack-", "my pack", "a/b", "..", "päck", "x\n", "x" * 65]
)
def test_invalid_name_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    """One sentence says what a name may contain."""
    with pytest.raises(DrillError, match=r"cannot be the name of a pack\. Use up to 64 letters"):
        scaffold(name, tmp_path / "deep")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["torch", "Json", "attn_drill", "class"])
def test_name_of_a_needed_module_is_refused(name: str, tmp_path: Path) -> None:
    """An installed pack must not hide a module that Python or attn-drill needs."""
    with pytest.raises(DrillError, match=f"Python or attn-drill uses the name {name.lower()}"):
        scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that were written before a disk is full are removed."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DrillError, match="my-pack cannot be written"):
        scaffold("my-pack", tmp_path / "file" / "deeper")
    write, count = Path.write_text, iter(range(5))

    def full(path: Path, *arguments: str, **options: str) -> int:
        if next(count) == 4:
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DrillError, match=r"No space left on device\. Choose another folder"):
        scaffold("my-pack", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
