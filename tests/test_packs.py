"""Reading packs by path; a broken pack gives one sentence naming file and key."""

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.model.challenge import Mistake
from trainer.model.errors import DrillError, PackError
from trainer.packs import pack_reader
from trainer.packs.interface import signatures
from trainer.packs.mistakes import patch, read_mistakes


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


def test_ids_and_folders_map_both_ways() -> None:
    """Ids have hyphens, folders underscores."""
    assert pack_reader.folder_name("kv-cache") == "kv_cache"
    assert pack_reader.challenge_id("kv_cache") == "kv-cache"


def test_prerequisites_come_first() -> None:
    """No challenge is listed before one that it builds on."""
    ids = [one.id for one in pack_reader.read_pack(pack_reader.built_in_pack())]
    for one in pack_reader.read_pack(pack_reader.built_in_pack()):
        assert all(ids.index(other) < ids.index(one.id) for other in one.builds_on if other in ids)


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        pytest.param("gqq", "gqa", id="one letter off"),
        pytest.param("kvcache", "kv-cache", id="no hyphen"),
        pytest.param("cache", "kv-cache", id="a part"),
    ],
)
def test_unknown_id_names_the_nearest(wanted: str, near: str) -> None:
    """A mistyped id is answered with what it may have meant."""
    with pytest.raises(DrillError, match=f"No challenge is called '{wanted}'.*{near}"):
        pack_reader.find_challenge(pack_reader.built_in_pack(), wanted)


@pytest.mark.parametrize("wanted", ["", ".", "..", "../solutions/gqa", "/etc", "gqa/../mha", "%00"])
def test_an_id_is_no_path(wanted: str) -> None:
    """Nothing outside challenges/ can be named."""
    with pytest.raises(DrillError, match="No challenge"):
        pack_reader.find_challenge(pack_reader.built_in_pack(), wanted)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param(
            "minutes = 5", 'minutes = "five"', r"challenge\.toml.*minutes", id="wrong type"
        ),
        pytest.param("minutes = 5\n", "", r"challenge\.toml.*minutes", id="missing key"),
        pytest.param(
            "minutes = 5", "minutes = 5\ncolour = 1", r"challenge\.toml.*colour", id="unknown key"
        ),
        pytest.param(
            'level = "easy"', 'level = "trivial"', r"challenge\.toml.*level", id="wrong level"
        ),
        pytest.param(
            "minutes = 5", "minutes = ", r"challenge\.toml is not valid TOML", id="no TOML"
        ),
        pytest.param(
            'entry = ["prefix_sum"]', "entry = []", r"challenge\.toml.*entry", id="no entry"
        ),
    ],
)
def test_broken_challenge_file(pack: Path, old: str, new: str, says: str) -> None:
    """The sentence names the file and the key."""
    file = pack / "challenges/prefix_sum/challenge.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(PackError, match=says):
        pack_reader.read_pack(pack)


def test_prerequisites_in_a_circle(pack: Path) -> None:
    """A circle is named, not followed for ever."""
    file = pack / "challenges/prefix_sum/challenge.toml"
    file.write_text(file.read_text() + '\nbuilds_on = ["prefix-sum"]\n')
    with pytest.raises(PackError, match="circle"):
        pack_reader.read_pack(pack)


def test_missing_folder(tmp_path: Path) -> None:
    """A folder that is no pack is said to be none."""
    with pytest.raises(PackError, match="has no folder challenges"):
        pack_reader.read_pack(tmp_path)


def test_signatures_come_from_the_stub() -> None:
    """Constructor and forward with names, order and defaults; `self` left out."""
    found = {
        one.name: one.parameters
        for one in signatures(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    }
    assert list(found) == ["GroupedQueryAttention.__init__", "GroupedQueryAttention.forward"]
    assert [one.name for one in found["GroupedQueryAttention.forward"]] == ["x", "mask"]
    assert found["GroupedQueryAttention.__init__"][3].default == 0.0
    assert found["GroupedQueryAttention.__init__"][2].required


def test_stub_without_entry(pack: Path) -> None:
    """A stub that does not define the entry is the pack's fault, and said so."""
    file = pack / "challenges/prefix_sum/stub.py"
    file.write_text("def other(): ...\n")
    with pytest.raises(PackError, match="defines no prefix_sum"):
        signatures(pack_reader.find_challenge(pack, "prefix-sum"))


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


def test_prompt_in_another_language() -> None:
    """The translated prompt where there is one, else English."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    assert "分组" in pack_reader.prompt(gqa, "zh")
    assert pack_reader.prompt(gqa, "fr") == pack_reader.prompt(gqa)
