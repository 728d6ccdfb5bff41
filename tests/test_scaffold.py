"""`pack new`: a pack from nothing by the commands of CONTRIBUTING, and the same installed; what is stray in a pack is told."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.grading import diagnoser_of
from tests.support.paths import TINY_PACK
from tests.test_cli import drill
from trainer.casekit.draw import Draw
from trainer.grading.case_set import load_case_set
from trainer.grading.grader import Grader
from trainer.model.case import Case
from trainer.model.errors import DrillError
from trainer.packs import known_packs, pack_reader
from trainer.packs.known_packs import Places
from trainer.packs.scaffold import NewPack, module_name, scaffold
from trainer.packs.strays import strays
from trainer.quiz.bank_check import bank_troubles
from trainer.server.pack_check import PackChecker

CONTRIBUTING = (pack_reader.TRAINER.parent / "CONTRIBUTING.md").read_text()
HEADING = "## Write a pack of your own"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> NewPack:
    """A new pack, which no test changes."""
    return scaffold("my-pack", tmp_path_factory.mktemp("made"))


@pytest.fixture
def pack(made: NewPack, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(made.folder, tmp_path / "my-pack"))


def commands() -> list[list[str]]:
    """The commands below the heading in CONTRIBUTING, the words of each."""
    section = CONTRIBUTING.partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    return [
        shlex.split(line) for line in re.findall(r"^    (attn-drill .*)$", section, re.MULTILINE)
    ]


def test_by_the_commands_of_contributing(tmp_path: Path) -> None:
    """One after another in an empty folder, and nothing else: the pack holds to the rules, is listed, its stub does not pass and its reference does."""
    told = commands()
    assert [" ".join(one[:3]) for one in told[:2]] == [
        "attn-drill pack new",
        "attn-drill pack check",
    ]
    assert {"list", "start", "check"} <= {word for one in told for word in one}
    outputs = {}
    for _, *words in told:
        is_check = words[0] == "check"
        of_the_stub = is_check and not any(word.endswith(".py") for word in words)
        outputs[" ".join(words)] = drill(*words, cwd=tmp_path, code=1 if of_the_stub else 0).stdout
    by_command = {key.partition(" my-pack")[0]: text for key, text in outputs.items()}
    assert ", 0 failed (1 challenge, 1 seed)" in by_command["pack check"]
    assert re.search(r"(?m)^attention-pooling +easy +10 +new +my-pack$", by_command["--pack"])
    assert [text.partition(" ")[0] for key, text in outputs.items() if key.startswith("check")] == [
        "ERROR",
        "PASSED",
    ]


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


# What is written


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


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_never_over_what_is_there(there: str, tmp_path: Path) -> None:
    """Not even over an empty folder or a link to nowhere: one sentence, exit 2, and all is as it was."""
    place = tmp_path / "deep" / "my-pack"
    place.parent.mkdir()
    {
        "folder": lambda: place.mkdir(),
        "file": lambda: place.write_text("mine"),
        "link": lambda: place.symlink_to("nowhere"),
    }[there]()
    done = drill("pack", "new", "my-pack", "--dir", "deep", cwd=tmp_path, code=2)
    assert (
        done.stderr
        == "attn-drill: deep/my-pack is already there and is left as it is. Choose another name, or another folder with --dir.\n"
    )
    assert [path.name for path in place.parent.iterdir()] == ["my-pack"]
    assert (place.is_symlink(), place.is_file(), place.is_dir()) == (
        there == "link",
        there == "file",
        there == "folder",
    )
    assert not place.is_dir() or list(place.iterdir()) == []


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


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    """Where it is, and commands that work as they stand, also where a folder's name has a space."""
    text = drill("pack", "new", "my-pack", "--dir", "a b/c", cwd=tmp_path).stdout
    assert text.startswith("a b/c/my-pack is a pack with one challenge, attention-pooling.")
    (line,) = (line for line in text.splitlines() if "attn-drill start" in line)
    _, *words = shlex.split(line.partition("    ")[0])
    assert "attention_pooling.py is the stub" in drill(*words, cwd=tmp_path).stdout


# What is stray, and what the check of a pack knows of others


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda pack: (pack / "challenges/notes.txt").write_text(""), "challenges/notes.txt is a file", id="a file among challenges"),
        pytest.param(lambda pack: (pack / "solutions/notes.txt").write_text(""), "solutions/notes.txt is a file", id="a file among solutions"),
        pytest.param(lambda pack: (pack / "challenges/attention_pooling/solution.py").write_text(""), "attention_pooling/solution.py is not used", id="a solution among what is asked"),
        pytest.param(lambda pack: (pack / "challenges/attention_pooling/prompt.de.md").mkdir(), "prompt.de.md is not used", id="a folder in a file's place"),
        pytest.param(lambda pack: (pack / "challenges/attention_pooling/prompt.chinese.md").write_text(""), "prompt.chinese.md is not used", id="a language that is none"),
        pytest.param(lambda pack: (pack / "solutions/attention_pooling/old.py").write_text(""), "attention_pooling/old.py is not used", id="a file beside the solution"),
        pytest.param(lambda pack: (pack / "solutions/attention_pooling/also_right/notes.md").write_text(""), "notes.md is no Python file", id="no Python among answers"),
        pytest.param(lambda pack: (pack / "solutions/attention_pooling/also_right/more.py").mkdir(), "also_right/more.py is no Python file", id="a folder among answers"),
        pytest.param(lambda pack: (pack / "solutions/alone").mkdir(), "solutions/alone has no challenges/alone beside it", id="a solution to nothing"),
        pytest.param(lambda pack: (pack / "challenges/alone").mkdir(), "challenges/alone has no solutions/alone beside it", id="a challenge without a solution"),
        pytest.param(lambda pack: [(pack / part / "kv-cache").mkdir() for part in ("challenges", "solutions")], "kv-cache is no name for a folder", id="a hyphen"),
        pytest.param(lambda pack: [(pack / part / "Pooling").mkdir() for part in ("challenges", "solutions")], "Pooling is no name for a folder", id="a capital"),
        pytest.param(lambda pack: (pack / "challenges/_questions").mkdir() or (pack / "challenges/_questions/own.tml").write_text(""), "own.tml is no file of the question bank", id="a misspelt bank"),
        pytest.param(lambda pack: shutil.rmtree(pack / "solutions"), "has no folder solutions/", id="no solutions at all"),
    ],
)  # fmt: skip
def test_strays_are_told(pack: Path, change: Callable[[Path], object], says: str) -> None:
    """One thing at a time in a pack that is right otherwise; what editors and Python leave is no matter."""
    for name in (
        "challenges/.DS_Store",
        "solutions/attention_pooling/.stub.py.swp",
        "solutions/attention_pooling/__pycache__",
        "challenges/_draft",
    ):
        (pack / name).mkdir()
    (pack / "challenges/attention_pooling/prompt.fr.md").write_text("Bonjour\n")
    assert strays(pack) == []
    change(pack)
    found = strays(pack)
    assert any(says in one for one in found), found
    assert len(found) <= 2


@pytest.mark.thorough
def test_pack_check_tells_strays(pack: Path, tmp_path: Path) -> None:
    """They are failures of the pack, and --pack says which pack is meant; two of them are one too many. An id of ours is only noted."""
    (pack / "solutions" / "alone").mkdir()
    shutil.rmtree(pack / "solutions/attention_pooling/also_right")
    (pack / "solutions/attention_pooling/mistakes.toml").write_text("mistake = []\n")
    for part in ("challenges", "solutions"):
        (pack / part / "attention_pooling").rename(pack / part / "gqa")
    done = drill(
        "pack", "check", "--pack", "my-pack", "--seeds", "1", "--jobs", "1", cwd=tmp_path, code=1
    )
    assert "challenges/gqa: attn-drill has a challenge gqa itself" in done.stdout
    assert "BAD  files: " in done.stdout
    assert "solutions/alone has no challenges/alone beside it" in done.stdout
    assert "(1 challenge, 1 seed)" in done.stdout
    assert re.search(r"\n2 passed, 2 failed", done.stdout)
    assert (
        "one is checked at a time"
        in drill("--pack", "my-pack", "pack", "check", "--pack", ".", cwd=tmp_path, code=2).stderr
    )


@pytest.mark.thorough
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside ours"])
def test_a_pack_may_build_on_another(pack: Path, grader: Grader, beside: bool) -> None:
    """A challenge on a challenge of ours, a topic of ours, a question that follows up one of ours: where that pack is known."""
    others = [pack_reader.built_in_pack()] if beside else []
    file = pack / "challenges/attention_pooling/challenge.toml"
    file.write_text(file.read_text() + 'builds_on = ["gqa"]\n')
    (pack / "challenges/_questions").mkdir()
    (pack / "challenges/_questions/own.toml").write_text(
        'title = "Own"\n[[question]]\nid = "q"\nkind = "number"\nasks = "2?"\nexplains = "{answer}"\nanswer = "2"\nchallenges = ["gqa"]\n'
    )
    challenge = pack_reader.find_challenge(pack, "attention-pooling")
    checker = PackChecker(grader, diagnoser_of(grader), others)
    (row,) = checker.rows(challenge, [1], [("content", "prompt, hints, cases")])
    assert row.ok == beside
    assert ("it builds on gqa, which the pack does not have" in row.message) == (not beside)
    troubles = bank_troubles(pack, others)
    assert len(troubles) == (0 if beside else 2)
    assert beside or (
        "no file of the question bank is called attention.toml" in troubles[0]
        and "follows up 'gqa'" in troubles[1]
    )


def test_the_built_in_pack_has_no_strays() -> None:
    """Ours is held to the same; the small pack of these tests too."""
    assert strays(pack_reader.built_in_pack()) == []
    assert strays(TINY_PACK) == []
