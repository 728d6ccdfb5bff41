"""`pack new`: a pack from nothing by the commands of CONTRIBUTING, and the same installed; what is stray in a pack is told."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainer.casekit.draw import Draw
from trainer.grading.case_set import load_case_set
from trainer.model.case import Case
from trainer.model.errors import DrillError
from trainer.packs import known_packs, pack_reader
from trainer.packs.known_packs import Places
from trainer.packs.scaffold import NewPack, module_name, scaffold
from trainer.packs.strays import strays


def test_installed_it_is_everywhere(made: NewPack, tmp_path: Path) -> None:
    """As a package among others, by its entry point alone: listed, handed out and graded without a word about packs."""
    project = tomllib.loads((made.folder / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    (site / "my_pack").mkdir(parents=True)
    for part in ("challenges", "solutions"):
        shutil.copytree(made.folder / part, site / "my_pack" / part)
    (site / "my_pack" / "__init__.py").write_text("raise ImportError('a pack is not imported')\n")
    (site / "my_pack-0.1.0.dist-info").mkdir()
    (site / "my_pack-0.1.0.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n"
    )
    group = project["entry-points"]["attn_drill.packs"]
    (site / "my_pack-0.1.0.dist-info" / "entry_points.txt").write_text(
        "[attn_drill.packs]\n" + "".join(f"{name} = {value}\n" for name, value in group.items())
    )
    path = {"PYTHONPATH": os.pathsep.join([str(pack_reader.TRAINER.parent), str(site)])}

    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "trainer", *arguments],
            cwd=tmp_path,
            env={**os.environ, **path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
        return done.stdout

    assert re.search(r"(?m)^attention-pooling +easy +10 +new +my-pack$", run("list"))
    assert "attn-drill check attention-pooling    grades it" in run("start", made.challenge)
    assert run("check", made.challenge, code=1).startswith("ERROR")
    assert run(
        "check", made.challenge, str(made.folder / "solutions/attention_pooling/solution.py")
    ).startswith("PASSED")


@pytest.mark.thorough
def test_a_project_of_its_own(made: NewPack) -> None:
    """The names are filled in everywhere; the build takes package, challenges and solutions; every Python file compiles."""
    project = tomllib.loads((made.folder / "pyproject.toml").read_text())
    assert project["project"]["name"] == "my-pack"
    assert project["project"]["entry-points"] == {"attn_drill.packs": {"my-pack": "my_pack"}}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["my_pack"]
    assert wheel["force-include"] == {
        "challenges": "my_pack/challenges",
        "solutions": "my_pack/solutions",
    }
    files = [path for path in made.folder.rglob("*") if path.is_file()]
    assert {path.name for path in made.folder.iterdir()} == {
        "pyproject.toml",
        "README.md",
        "my_pack",
        "challenges",
        "solutions",
    }
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\{\{\w", text), path
        assert "template" not in path.name
        if path.suffix == ".py":
            compile(text, str(path), "exec")
    assert "# my-pack" in (made.folder / "README.md").read_text()
    assert f"start {made.challenge} --pack ." in (made.folder / "README.md").read_text()


def test_its_challenge_is_none_of_ours(made: NewPack) -> None:
    """Its id hides nothing, is not hidden, and it shows what a challenge can have: three dtypes, masks, gradients, operations counted, a language."""
    assert known_packs.catalogue(Places((made.folder,))).troubles == ()
    challenge = pack_reader.find_challenge(made.folder, made.challenge)
    assert pack_reader.prompt(challenge, "zh") != pack_reader.prompt(challenge)
    cases = load_case_set(challenge, 1).cases
    assert {case.dtype for case in cases} == {"float32", "float64", "bfloat16"}
    assert {case.check for case in cases} == {"values", "masks", "properties"}
    assert {case.probe for case in cases} == {None, "vectorised"}
    assert strays(made.folder) == []


def test_masks_of_its_cases_reach_the_edges(made: NewPack) -> None:
    """Sequences that keep all tokens, and some that keep one; none that keeps none."""
    scope: dict[str, Callable[[Draw], Iterator[Case]]] = {}
    exec((made.folder / "challenges/attention_pooling/cases.py").read_text(), scope)
    masks = [
        case.inputs["mask"] for case in scope["cases"](Draw(3)) if case.inputs["mask"] is not None
    ]
    kept = [(int(row.sum()), len(row)) for mask in masks for row in mask]  # type: ignore[attr-defined]
    assert any(count == length for count, length in kept)
    assert any(count == 1 < length for count, length in kept)
    assert all(count for count, _ in kept)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("a", "a"),
        ("my-pack", "my_pack"),
        ("My_Pack2", "my_pack2"),
        ("x" * 64, "x" * 64),
        ("course-2026-attention", "course_2026_attention"),
    ],
)
def test_names(name: str, module: str) -> None:
    """Letters, digits and single hyphens or underscores between them."""
    assert module_name(name) == module


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-",
        "2pack",
        "my--pack",
        "my-pack-",
        "_x",
        "my pack",
        "my.pack",
        "a/b",
        "..",
        "/tmp/x",
        "päck",
        "my-pack\n",
        "--pack",
        "x" * 65,
    ],
)
def test_no_names(name: str, tmp_path: Path) -> None:
    """Refused in one sentence that says what a name is, before anything is written."""
    with pytest.raises(DrillError, match="is no name for a pack: up to 64 letters"):
        scaffold(name, tmp_path / "deep")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["torch", "Json", "trainer", "class", "challenges", "unicodedata"])
def test_names_of_others(name: str, tmp_path: Path) -> None:
    """An installed pack must not stand in the way of a module that is needed."""
    with pytest.raises(DrillError, match=f"a module {name.lower()}, which it would hide"):
        scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last", [1, 5, 14])
def test_the_whole_pack_or_nothing(
    last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk is full after some files, none is left."""
    write, count = Path.write_text, iter(range(1, 100))

    def full(path: Path, *arguments: str, **options: str) -> int:
        if next(count) == last:
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(
        DrillError,
        match=r"my-pack cannot be written: No space left on device\. Choose another folder",
    ):
        scaffold("my-pack", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    """One sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DrillError, match="my-pack cannot be written"):
        scaffold("my-pack", tmp_path / "file" / "deeper")
