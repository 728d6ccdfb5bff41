"""`pack new`: a pack from nothing by the commands of CONTRIBUTING, and the same installed; what is stray in a pack is told."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.packs.scaffold import NewPack, scaffold


@pytest.mark.thorough
def test_pack_check_of_one_challenge(tmp_path: Path) -> None:
    """The table, the count, exit 0; a pack that breaks the rules exits 1 and says which."""
    done = drill(
        "pack",
        "check",
        "--challenge",
        "attention-cost",
        "--seeds",
        "1",
        "--table",
        "table.md",
        cwd=tmp_path,
    )
    assert re.search(r"\| attention-cost +\| float-head-dim +\|", done.stdout)
    assert ", 0 failed (1 challenge, 1 seed)" in done.stdout
    assert (tmp_path / "table.md").read_text().startswith("| challenge")
    tiny = drill(
        "pack",
        "check",
        str(TINY_PACK),
        "--seeds",
        "1",
        cwd=tmp_path,
        code=1,
    )
    assert "has 2 mistakes of at least 12" in tiny.stdout


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


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    """Where it is, and commands that work as they stand, also where a folder's name has a space."""
    text = drill("pack", "new", "my-pack", "--dir", "a b/c", cwd=tmp_path).stdout
    assert text.startswith("a b/c/my-pack is a pack with one challenge, attention-pooling.")
    (line,) = (line for line in text.splitlines() if "attn-drill start" in line)
    _, *words = shlex.split(line.partition("    ")[0])
    assert "attention_pooling.py is the stub" in drill(*words, cwd=tmp_path).stdout


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
