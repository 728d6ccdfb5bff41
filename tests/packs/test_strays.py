"""Misplaced files and folders of a pack."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.packs.scaffold import NewPack
from trainer.packs.strays import strays


@pytest.fixture
def pack(new_pack: NewPack, tmp_path: Path) -> Path:
    """Return a copy of the new pack, which a test may change."""
    return Path(shutil.copytree(new_pack.folder, tmp_path / "my-pack"))


def file(name: str) -> Callable[[Path], object]:
    """Return a function that writes an empty file into a pack."""

    def write(pack: Path) -> None:
        (pack / name).parent.mkdir(exist_ok=True)
        (pack / name).write_text("")

    return write


def folders(*names: str) -> Callable[[Path], object]:
    """Return a function that makes empty folders in a pack."""
    return lambda pack: [(pack / name).mkdir() for name in names]


CHALLENGE = "challenges/attention_pooling"
SOLUTION = "solutions/attention_pooling"
STRAYS = {
    "a file among challenges": (
        file("challenges/notes.txt"),
        "challenges/notes.txt is a file",
    ),
    "a file among solutions": (
        file("solutions/notes.txt"),
        "solutions/notes.txt is a file",
    ),
    "a solution in a challenge": (
        file(f"{CHALLENGE}/solution.py"),
        "attention_pooling/solution.py is not used",
    ),
    "a folder instead of a file": (
        folders(f"{CHALLENGE}/prompt.de.md"),
        "prompt.de.md is not used",
    ),
    "an unknown language": (
        file(f"{CHALLENGE}/prompt.chinese.md"),
        "prompt.chinese.md is not used",
    ),
    "another file in a solution": (
        file(f"{SOLUTION}/old.py"),
        "attention_pooling/old.py is not used",
    ),
    "no Python file among right answers": (
        file(f"{SOLUTION}/also_right/notes.md"),
        "notes.md is not a Python file",
    ),
    "a folder among right answers": (
        folders(f"{SOLUTION}/also_right/more.py"),
        "also_right/more.py is not a Python file",
    ),
    "a solution without a challenge": (
        folders("solutions/alone"),
        "solutions/alone exists, but challenges/alone does not",
    ),
    "a challenge without a solution": (
        folders("challenges/alone"),
        "challenges/alone exists, but solutions/alone does not",
    ),
    "a hyphen": (
        folders("challenges/kv-cache", "solutions/kv-cache"),
        "kv-cache has a name that no id can use",
    ),
    "a capital letter": (
        folders("challenges/Pooling", "solutions/Pooling"),
        "Pooling has a name that no id can use",
    ),
    "a misspelt question bank": (
        file("challenges/_questions/own.tml"),
        "own.tml is not a file of the question bank",
    ),
    "no solutions": (
        lambda pack: shutil.rmtree(pack / "solutions"),
        "has no folder solutions/",
    ),
}


@pytest.mark.parametrize(("change", "message"), STRAYS.values(), ids=STRAYS)
def test_misplaced_entry_is_reported(
    pack: Path, change: Callable[[Path], object], message: str
) -> None:
    """One change to a right pack is reported. Files of editors and Python are ignored."""
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
    assert any(message in sentence for sentence in found), found
    assert len(found) <= 2


def test_built_in_pack_and_tiny_pack_have_no_strays() -> None:
    """The packs of this repository follow the same rules."""
    assert strays(pack_reader.built_in_pack()) == []
    assert strays(TINY_PACK) == []
