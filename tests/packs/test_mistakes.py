"""Reading packs by path; a broken pack gives one sentence naming file and key."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hunt import SOURCE
from tests.support.known_packs import make
from tests.support.paths import TINY_PACK
from trainer.model.challenge import Mistake
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.known_packs import Places, catalogue
from trainer.packs.mistakes import patch, patch_all, read_mistakes, readable_mistakes


@pytest.mark.parametrize(
    ("mistakes", "says"),
    [
        pytest.param(
            (Mistake("a", "x * 2", "x", "", ""), Mistake("b", "y = x * 2", "y = 1", "", "")),
            "`was` is found 0 times",
            id="overlapping",
        ),
        pytest.param((Mistake("a", "q", "x", "", ""),), "found 0 times", id="not there"),
        pytest.param((Mistake("a", "comment", "x", "", ""),), "found 2 times", id="twice"),
        pytest.param((Mistake("a", "x * 2", "x *", "", ""),), "does not compile", id="no Python"),
    ],
)
def test_what_cannot_be_patched_is_said(mistakes: tuple[Mistake, ...], says: str) -> None:
    """A pack whose mistakes do not fit its reference is told so."""
    with pytest.raises(PackError, match=says):
        patch_all(SOURCE, mistakes, "mistakes.toml")


def test_mistakes_that_cannot_be_read(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """Told, and the quiz goes on without them."""
    pack = make(tmp_path / "mine", "fine", "torn")
    (pack / "solutions" / "torn" / "mistakes.toml").write_text("[[mistake]]\n")
    found, (trouble,) = readable_mistakes(catalogue(Places((pack,))).challenges)
    assert "fine" in found
    assert "torn" not in found
    assert "The mistakes of torn are left out" in trouble
    code, out, err = run("quiz", "--list", "--pack", str(pack))
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "torn" in out


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        pytest.param("absent", "", "found 0 times", id="not there"),
        pytest.param("a", "b", "found 2 times", id="twice"),
        pytest.param("x = a", "x = (", "does not compile", id="syntax"),
    ],
)
def test_patch_refuses(was: str, now: str, says: str) -> None:
    """A mistake must apply exactly once and compile."""
    with pytest.raises(PackError, match=says):
        patch("x = a\ny = a\n", Mistake("m", was, now, "", ""), "mistakes.toml")


def test_patch_applies() -> None:
    """The patched source differs in that place alone."""
    assert patch("x = a\ny = a\n", Mistake("m", "y = a", "y = b", "", ""), "m") == "x = a\ny = b\n"


def test_mistakes_with_one_id(pack: Path) -> None:
    """Ids are unique within a challenge."""
    file = pack / "solutions/prefix_sum/mistakes.toml"
    text = file.read_text()
    file.write_text(
        text + text[text.index("[[mistake]]") :].split("[[mistake]]")[1].join(["\n[[mistake]]", ""])
    )
    with pytest.raises(PackError, match="two mistakes have the id"):
        read_mistakes(pack_reader.find_challenge(pack, "prefix-sum"))
