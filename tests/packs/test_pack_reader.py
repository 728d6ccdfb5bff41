"""Reading packs by path; a broken pack gives one sentence naming file and key."""

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.model.errors import DrillError, PackError
from trainer.packs import pack_reader


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


def test_prompt_in_another_language() -> None:
    """The translated prompt where there is one, else English."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    assert "分组" in pack_reader.prompt(gqa, "zh")
    assert pack_reader.prompt(gqa, "fr") == pack_reader.prompt(gqa)
