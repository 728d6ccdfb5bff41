"""Which packs are known and in what order; what is broken in one of them is told, and stops no command."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install, make
from trainer.model.errors import DrillError
from trainer.packs import known_packs, pack_reader
from trainer.packs.known_packs import Places, catalogue, find


def pack_of(places: Places, challenge: str) -> Path:
    """The pack in which a challenge is found; the catalogue has to agree."""
    found = find(places, challenge)
    (listed,) = (one for one in catalogue(places).challenges if one.id == challenge)
    assert listed == found
    assert catalogue(places).pack_of(listed).root == found.folder.parent.parent
    return found.folder.parent.parent


def test_the_earlier_pack_wins(tmp_path: Path, site: Path) -> None:
    """Named by --pack, in the order of naming, then by the variable, then the built-in pack, then what is installed."""
    one, two, three, four = (
        make(tmp_path / name, "gqa", "extra") for name in ("one", "two", "three", "four")
    )
    make(site / "precedence_pack", "gqa", "extra", "installed_only")
    install(site, "precedence", "[attn_drill.packs]\nprecedence = precedence_pack\n")
    variable = os.pathsep.join(["", str(three), str(four), ""])
    assert pack_of(Places((one, two), variable), "gqa") == one
    assert pack_of(Places((two, one), variable), "gqa") == two
    assert pack_of(Places((), variable), "gqa") == three
    assert pack_of(Places(), "gqa") == BUILT_IN
    assert pack_of(Places(), "extra") == site / "precedence_pack"
    assert pack_of(Places((), variable), "extra") == three
    assert pack_of(Places((one, two), variable), "installed-only") == site / "precedence_pack"
    assert [pack.root for pack in known_packs.known_packs(Places((one, two), variable))] == [
        one,
        two,
        three,
        four,
        BUILT_IN,
        site / "precedence_pack",
    ]


def test_a_pack_is_known_once(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often and by whatever way it is named, and nothing of it is hidden by itself."""
    pack = make(site / "once_pack", "extra")
    install(site, "once", "[attn_drill.packs]\nonce = once_pack\n")
    (tmp_path / "link").symlink_to(pack)
    monkeypatch.chdir(site)
    known = catalogue(Places((tmp_path / "link", Path("once_pack"), BUILT_IN), str(pack)))
    assert known.roots == [pack, BUILT_IN]
    assert known.troubles == ()


def test_what_is_hidden_is_told(tmp_path: Path) -> None:
    """A sentence that names both folders; the hidden challenge is not listed."""
    pack = make(tmp_path / "mine", "gqa", "extra")
    known = catalogue(Places((pack,)))
    (trouble,) = known.troubles
    assert (
        f"{BUILT_IN / 'challenges/gqa'} is hidden: {pack / 'challenges/gqa'} has the same id"
        in trouble
    )
    assert [one.folder.parent.parent for one in known.challenges if one.id == "gqa"] == [pack]


@pytest.mark.parametrize("by_variable", [False, True], ids=["--pack", "variable"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("nowhere", "nowhere, and there is no such folder", id="nowhere"),
        pytest.param("file", "file, and there is no such folder", id="a file"),
        pytest.param(
            "empty",
            "empty, which is no pack: it has no folder challenges/ and no folder solutions/",
            id="an empty folder",
        ),
        pytest.param(
            "half", "half, which is no pack: it has no folder solutions/", id="no solutions"
        ),
    ],
)
def test_a_folder_that_is_no_pack(tmp_path: Path, name: str, says: str, by_variable: bool) -> None:
    """One sentence that says who names it, whatever challenge is looked for."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "half" / "challenges").mkdir(parents=True)
    folder = tmp_path / name
    who = "ATTN_DRILL_PACK names" if by_variable else "--pack names"
    places = (
        Places((), str(folder))
        if by_variable
        else Places((make(tmp_path / "right", "gqa"), folder))
    )
    for ask in (
        lambda: find(places, "gqa"),
        lambda: catalogue(places),
        lambda: known_packs.known_packs(places),
    ):
        with pytest.raises(DrillError, match=rf"^{who} .*{says}.*pack new"):
            ask()


def test_installed_packages_are_looked_for_only_where_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id that an earlier pack has costs no look at every package."""
    monkeypatch.setattr(known_packs, "_installed", lambda path: 1 / 0)
    assert find(Places(), "gqa").id == "gqa"
    with pytest.raises(ZeroDivisionError):
        find(Places(), "nowhere")


def test_an_unknown_id_is_answered_from_all_packs(tmp_path: Path) -> None:
    """The nearest ids may be of any pack."""
    with pytest.raises(DrillError, match="Did you mean attention-mask"):
        find(Places((make(tmp_path / "mine", "attention_mask"),)), "attention-msk")


def test_a_broken_challenge_is_left_out(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """The others are listed, and a sentence names the file; asked for by name, it is an error."""
    pack = make(tmp_path / "mine", "fine", "torn", "a-hyphen", "Capital", "unreadable")
    file = pack / "challenges" / "torn" / "challenge.toml"
    file.write_text("minutes = ")
    (pack / "challenges" / "unreadable" / "challenge.toml").unlink()
    (pack / "challenges" / "unreadable" / "challenge.toml").mkdir()
    code, out, err = run("list", "--pack", str(pack))
    assert code == 0
    assert "fine" in out
    assert not {"torn", "a-hyphen", "capital", "unreadable"} & set(out.lower().split())
    capital, hyphen, torn, unreadable = err.splitlines()
    assert f"{pack / 'challenges/Capital'} is left out, for no id leads to it" in capital
    assert f"{pack / 'challenges/a-hyphen'} is left out, for no id leads to it" in hyphen
    assert f"{file} is not valid TOML" in torn
    assert "challenge.toml cannot be read: Is a directory" in unreadable
    assert run("start", "torn", "--pack", str(pack))[0] == 2
    assert run("start", "fine", "--pack", str(pack))[0] == 0


def test_a_circle_through_two_packs(tmp_path: Path) -> None:
    """All challenges are there all the same, each once, and a sentence says what is wrong."""
    roots = [make(tmp_path / name, name) for name in ("one", "two")]
    for root, other in zip(roots, ("two", "one"), strict=True):
        file = root / "challenges" / root.name / "challenge.toml"
        file.write_text(file.read_text() + f'builds_on = ["{other}"]\n')
        assert catalogue(Places((root,))).troubles == ()
    known = catalogue(Places(tuple(roots)))
    ids = [one.id for one in known.challenges]
    assert sorted(ids) == sorted({*ids, "one", "two", "gqa"})
    assert len(ids) == len(pack_reader.read_pack(BUILT_IN)) + 2
    (trouble,) = known.troubles
    assert "circle" in trouble


def test_challenges_stand_where_they_belong(tmp_path: Path) -> None:
    """Among those of other packs: after what they build on, by minutes."""
    pack = make(tmp_path / "mine", "after", minutes=1)
    file = pack / "challenges" / "after" / "challenge.toml"
    file.write_text(file.read_text() + 'builds_on = ["mha"]\n')
    ids = [one.id for one in catalogue(Places((pack,))).challenges]
    assert ids[ids.index("mha") + 1] == "after"
