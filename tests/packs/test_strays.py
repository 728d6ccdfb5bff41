"""`pack new`: a pack from nothing by the commands of CONTRIBUTING, and the same installed; what is stray in a pack is told."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.packs.scaffold import NewPack
from trainer.packs.strays import strays


@pytest.fixture
def pack(made: NewPack, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(made.folder, tmp_path / "my-pack"))


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


def test_the_built_in_pack_has_no_strays() -> None:
    """Ours is held to the same; the small pack of these tests too."""
    assert strays(pack_reader.built_in_pack()) == []
    assert strays(TINY_PACK) == []
