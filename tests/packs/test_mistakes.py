"""Known mistakes: reading them, and patching a reference with them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hunt import SOURCE
from tests.support.known_packs import make_pack
from trainer.model.challenge import Mistake
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.known_packs import Places, catalogue
from trainer.packs.mistakes import lines_of, patch, patch_all, read_mistakes, readable_mistakes


@pytest.mark.parametrize(
    ("mistakes", "message"),
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
def test_mistakes_that_do_not_fit_the_reference_are_refused(
    mistakes: tuple[Mistake, ...], message: str
) -> None:
    """The error of the pack says why the mistakes cannot be applied."""
    with pytest.raises(PackError, match=message):
        patch_all(SOURCE, mistakes, "mistakes.toml")


@pytest.mark.thorough
def test_unreadable_mistakes_are_reported(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """The quiz continues without these mistakes and prints one sentence."""
    pack = make_pack(tmp_path / "mine", "fine", "torn")
    (pack / "solutions" / "torn" / "mistakes.toml").write_text("[[mistake]]\n")
    found, (trouble,) = readable_mistakes(catalogue(Places((pack,))).challenges)
    assert "fine" in found
    assert "torn" not in found
    assert "The mistakes of torn are left out" in trouble
    code, out, err = run("quiz", "--list", "--pack", str(pack))
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "torn" in out


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        pytest.param("absent", "", "found 0 times", id="not there"),
        pytest.param("a", "b", "found 2 times", id="twice"),
        pytest.param("x = a", "x = (", "does not compile", id="syntax"),
    ],
)
def test_patch_refuses_a_mistake_that_does_not_fit(was: str, now: str, message: str) -> None:
    """A mistake must apply exactly once, and the result must compile."""
    with pytest.raises(PackError, match=message):
        patch("x = a\ny = a\n", Mistake("m", was, now, "", ""), "mistakes.toml")


def test_patch_changes_only_the_named_text() -> None:
    """The patched source differs from the reference in the replaced text only."""
    assert patch("x = a\ny = a\n", Mistake("m", "y = a", "y = b", "", ""), "m") == "x = a\ny = b\n"


def test_lines_of_a_mistake_count_from_one() -> None:
    """The range covers every line that the mistake replaces."""
    mistake = Mistake("m", "b\nc\n", "d\n", "", "")
    assert list(lines_of("a\nb\nc\ne\n", mistake)) == [2, 3]


def test_two_mistakes_with_the_same_id_are_refused(tiny_pack: Path) -> None:
    """Ids of mistakes are unique within a challenge."""
    file = tiny_pack / "solutions/prefix_sum/mistakes.toml"
    text = file.read_text()
    first_mistake = text[text.index("[[mistake]]") :].split("[[mistake]]")[1]
    file.write_text(f"{text}\n[[mistake]]{first_mistake}")
    with pytest.raises(PackError, match="two mistakes have the id"):
        read_mistakes(pack_reader.find_challenge(tiny_pack, "prefix-sum"))
