"""The known packs: their order, and reports about broken packs and challenges."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install_pack, make_pack
from trainer.model.errors import DrillError
from trainer.packs import known_packs, pack_reader
from trainer.packs.known_packs import Places, catalogue, find


def pack_of(places: Places, challenge_id: str) -> Path:
    """Return the pack in which `find` finds a challenge. The catalogue must agree."""
    found = find(places, challenge_id)
    known = catalogue(places)
    (listed,) = (challenge for challenge in known.challenges if challenge.id == challenge_id)
    assert listed == found
    assert known.pack_of(listed).root == found.folder.parent.parent
    return found.folder.parent.parent


def test_earlier_pack_wins(tmp_path: Path, site: Path) -> None:
    """The order is: `--pack` as typed, the variable, the built-in pack, installed packs."""
    first, second, third, fourth = (
        make_pack(tmp_path / name, "gqa", "extra") for name in ("one", "two", "three", "four")
    )
    make_pack(site / "precedence_pack", "gqa", "extra", "installed_only")
    install_pack(site, "precedence", "[attn_drill.packs]\nprecedence = precedence_pack\n")
    variable = os.pathsep.join(["", str(third), str(fourth), ""])
    all_places = Places((first, second), variable)
    assert pack_of(all_places, "gqa") == first
    assert pack_of(Places((second, first), variable), "gqa") == second
    assert pack_of(Places((), variable), "gqa") == third
    assert pack_of(Places(), "gqa") == BUILT_IN
    assert pack_of(Places(), "extra") == site / "precedence_pack"
    assert pack_of(Places((), variable), "extra") == third
    assert pack_of(all_places, "installed-only") == site / "precedence_pack"
    assert [pack.root for pack in known_packs.known_packs(all_places)] == [
        first,
        second,
        third,
        fourth,
        BUILT_IN,
        site / "precedence_pack",
    ]


def test_pack_that_is_named_several_times_is_known_once(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack may be named by a link, the variable and an entry point; it never hides itself."""
    pack = make_pack(site / "once_pack", "extra")
    install_pack(site, "once", "[attn_drill.packs]\nonce = once_pack\n")
    (tmp_path / "link").symlink_to(pack)
    monkeypatch.chdir(site)
    known = catalogue(Places((tmp_path / "link", Path("once_pack"), BUILT_IN), str(pack)))
    assert known.roots == [pack, BUILT_IN]
    assert known.troubles == ()


def test_hidden_challenge_is_reported(tmp_path: Path) -> None:
    """The sentence names both folders, and the catalogue lacks the hidden challenge."""
    pack = make_pack(tmp_path / "mine", "gqa", "extra")
    known = catalogue(Places((pack,)))
    (trouble,) = known.troubles
    hidden, used = BUILT_IN / "challenges/gqa", pack / "challenges/gqa"
    assert f"{hidden} is hidden: {used} has the same id" in trouble
    found = [challenge for challenge in known.challenges if challenge.id == "gqa"]
    assert [challenge.folder.parent.parent for challenge in found] == [pack]


@pytest.mark.parametrize("by_variable", [False, True], ids=["--pack", "variable"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("nowhere", "nowhere, but there is no such folder", id="nowhere"),
        pytest.param("file", "file, but there is no such folder", id="a file"),
        pytest.param(
            "empty",
            "empty, which is not a pack: it has no folder challenges/ and no folder solutions/",
            id="an empty folder",
        ),
        pytest.param(
            "half", "half, which is not a pack: it has no folder solutions/", id="no solutions"
        ),
    ],
)
def test_named_folder_that_is_not_a_pack_is_refused(
    tmp_path: Path, name: str, message: str, by_variable: bool
) -> None:
    """One sentence says what named the folder, even if another pack has the challenge."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "half" / "challenges").mkdir(parents=True)
    folder = tmp_path / name
    if by_variable:
        who, places = "ATTN_DRILL_PACK names", Places((), str(folder))
    else:
        who, places = "--pack names", Places((make_pack(tmp_path / "right", "gqa"), folder))
    for look_up in (
        lambda: find(places, "gqa"),
        lambda: catalogue(places),
        lambda: known_packs.known_packs(places),
    ):
        with pytest.raises(DrillError, match=rf"^{who} .*{message}.*pack new"):
            look_up()


def test_installed_packages_are_searched_only_if_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id of an earlier pack causes no search through all packages."""
    monkeypatch.setattr(known_packs, "_installed", lambda path: 1 / 0)
    assert find(Places(), "gqa").id == "gqa"
    with pytest.raises(ZeroDivisionError):
        find(Places(), "nowhere")


def test_error_for_an_unknown_id_names_ids_of_all_packs(tmp_path: Path) -> None:
    """The nearest id may be in any pack."""
    with pytest.raises(DrillError, match="Did you mean attention-mask"):
        find(Places((make_pack(tmp_path / "mine", "attention_mask"),)), "attention-msk")


def test_broken_challenge_is_left_out(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """`list` shows the other challenges and one sentence per fault; `start` of it is an error."""
    pack = make_pack(tmp_path / "mine", "fine", "torn", "a-hyphen", "Capital", "unreadable")
    file = pack / "challenges" / "torn" / "challenge.toml"
    file.write_text("minutes = ")
    (pack / "challenges" / "unreadable" / "challenge.toml").unlink()
    (pack / "challenges" / "unreadable" / "challenge.toml").mkdir()
    code, out, err = run("list", "--pack", str(pack))
    assert code == 0
    assert "fine" in out
    assert not {"torn", "a-hyphen", "capital", "unreadable"} & set(out.lower().split())
    capital, hyphen, torn, unreadable = err.splitlines()
    assert f"{pack / 'challenges/Capital'} is left out, because no id can name it" in capital
    assert f"{pack / 'challenges/a-hyphen'} is left out, because no id can name it" in hyphen
    assert f"{file} is not valid TOML" in torn
    assert "challenge.toml cannot be read: Is a directory" in unreadable
    assert run("start", "torn", "--pack", str(pack))[0] == 2
    assert run("start", "fine", "--pack", str(pack))[0] == 0


def test_circle_through_two_packs_is_reported(tmp_path: Path) -> None:
    """The catalogue still has all challenges, each once, and one sentence about the circle."""
    roots = [make_pack(tmp_path / name, name) for name in ("one", "two")]
    for root, other in zip(roots, ("two", "one"), strict=True):
        file = root / "challenges" / root.name / "challenge.toml"
        file.write_text(file.read_text() + f'builds_on = ["{other}"]\n')
        assert catalogue(Places((root,))).troubles == ()
    known = catalogue(Places(tuple(roots)))
    ids = [challenge.id for challenge in known.challenges]
    assert sorted(ids) == sorted({*ids, "one", "two", "gqa"})
    assert len(ids) == len(pack_reader.read_pack(BUILT_IN)) + 2
    (trouble,) = known.troubles
    assert "circle" in trouble


def test_challenges_of_all_packs_are_in_one_order(tmp_path: Path) -> None:
    """A challenge comes after those that it builds on, then by minutes, in any pack."""
    pack = make_pack(tmp_path / "mine", "after", minutes=1)
    file = pack / "challenges" / "after" / "challenge.toml"
    file.write_text(file.read_text() + 'builds_on = ["mha"]\n')
    ids = [challenge.id for challenge in catalogue(Places((pack,))).challenges]
    assert ids[ids.index("mha") + 1] == "after"
