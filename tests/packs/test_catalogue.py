"""The known packs: their order, installed packs, and reports about broken packs and challenges."""

import os
import sys
from pathlib import Path

import pytest

from attn_drill.model.errors import DrillError
from attn_drill.packs import catalogue, pack_reader
from attn_drill.packs.catalogue import KnownPacks, Route
from tests.support.cli import Run
from tests.support.packs import BUILT_IN, install_pack, make_pack


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder on sys.path, for installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def pack_of(known_packs: KnownPacks, challenge_id: str) -> Path:
    """Return the pack in which `find` finds a challenge. The catalogue must agree."""
    found = known_packs.find(challenge_id)
    known = known_packs.catalogue()
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
    everything = KnownPacks((first,), variable).naming([str(second)])
    assert pack_of(everything, "gqa") == first
    assert pack_of(KnownPacks((second, first), variable), "gqa") == second
    assert pack_of(KnownPacks((), variable), "gqa") == third
    assert pack_of(KnownPacks(), "gqa") == BUILT_IN
    assert pack_of(KnownPacks(), "extra") == site / "precedence_pack"
    assert pack_of(KnownPacks((), variable), "extra") == third
    assert pack_of(everything, "installed-only") == site / "precedence_pack"
    named = (first, second, third, fourth)
    assert everything.roots() == (*named, BUILT_IN, site / "precedence_pack")


def test_pack_that_is_named_several_times_is_known_once(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack may be named by a link, the variable and an entry point; it never hides itself."""
    pack = make_pack(site / "once_pack", "extra")
    install_pack(site, "once", "[attn_drill.packs]\nonce = once_pack\n")
    (tmp_path / "link").symlink_to(pack)
    monkeypatch.chdir(site)
    packs = KnownPacks((tmp_path / "link", Path("once_pack"), BUILT_IN), str(pack))
    known = packs.catalogue()
    assert known.roots == [pack, BUILT_IN]
    assert known.troubles == ()


def test_hidden_challenge_is_reported(tmp_path: Path) -> None:
    """The sentence names both folders, and the catalogue lacks the hidden challenge."""
    pack = make_pack(tmp_path / "mine", "gqa", "extra")
    known = KnownPacks((pack,)).catalogue()
    (trouble,) = known.troubles
    hidden, used = BUILT_IN / "challenges/gqa", pack / "challenges/gqa"
    assert f"{hidden} is hidden: {used} has the same id" in trouble
    found = [challenge for challenge in known.challenges if challenge.id == "gqa"]
    assert [challenge.folder.parent.parent for challenge in found] == [pack]


@pytest.mark.parametrize("by_variable", [False, True], ids=["--pack", "variable"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "nowhere, which is not a pack: it has no folder challenges/"),
        ("empty", "empty, which is not a pack: it has no folder challenges/"),
        ("half", "half, which is not a pack: it has no folder solutions/"),
    ],
)
def test_named_folder_that_is_not_a_pack_is_refused(
    tmp_path: Path, name: str, message: str, by_variable: bool
) -> None:
    """One sentence says what named the folder, even if another pack has the challenge."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "half" / "challenges").mkdir(parents=True)
    folder = tmp_path / name
    if by_variable:
        who, packs = "ATTN_DRILL_PACK or config.toml names", KnownPacks((), str(folder))
    else:
        who, packs = "--pack names", KnownPacks((make_pack(tmp_path / "right", "gqa"), folder))
    for look_up in (lambda: packs.find("gqa"), packs.catalogue, packs.roots):
        with pytest.raises(DrillError, match=rf"^{who} .*{message}.*pack new"):
            look_up()


def test_installed_packages_are_searched_only_if_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id of an earlier pack causes no search through all packages."""
    monkeypatch.setattr(catalogue, "_installed", lambda path: 1 / 0)
    assert KnownPacks().find("gqa").id == "gqa"
    with pytest.raises(ZeroDivisionError):
        KnownPacks().find("nowhere")


def test_error_for_an_unknown_id_names_ids_of_all_packs(tmp_path: Path) -> None:
    """The nearest id may be in any pack."""
    packs = KnownPacks((make_pack(tmp_path / "mine", "attention_mask"),))
    with pytest.raises(DrillError, match="Did you mean attention-mask"):
        packs.find("attention-msk")


def test_pack_option_is_shown_for_named_packs_only(tmp_path: Path) -> None:
    """A shown command needs `--pack` only for a pack that `--pack` named."""
    pack = make_pack(tmp_path / "mine", "extra")
    named = KnownPacks((pack,))
    assert named.pack_option(named.find("extra")) == f" --pack {pack}"
    assert named.pack_option(named.find("gqa")) == ""
    by_variable = KnownPacks((), str(pack))
    assert by_variable.pack_option(by_variable.find("extra")) == ""


def test_broken_challenge_is_left_out(tmp_path: Path, run: Run) -> None:
    """`list` shows the other challenges and one sentence per fault; `start` of it is an error."""
    pack = make_pack(tmp_path / "mine", "fine", "torn", "a-hyphen", "Capital")
    file = pack / "challenges" / "torn" / "challenge.toml"
    file.write_text("minutes = ")
    code, out, err = run("list", "--pack", str(pack))
    assert code == 0
    assert "fine" in out
    assert not {"torn", "a-hyphen", "capital"} & set(out.lower().split())
    capital, hyphen, torn = err.splitlines()
    assert f"{pack / 'challenges/Capital'} has a name that no id can use" in capital
    assert f"{pack / 'challenges/a-hyphen'} has a name that no id can use" in hyphen
    assert f"{file} is not valid TOML" in torn
    assert run("start", "torn", "--pack", str(pack))[0] == 2
    assert run("start", "fine", "--pack", str(pack))[0] == 0


def test_route_leaves_out_what_no_pack_has(tmp_path: Path) -> None:
    """A sentence names the file and the id; a file that cannot be read is named, too."""
    pack = make_pack(tmp_path / "pack", "extra")
    path = pack / "challenges" / "routes.toml"
    path.write_text('[[route]]\ntitle = "Short"\nchallenges = ["extra", "gpa", "gqa"]\n')
    catalogue = KnownPacks((pack,)).catalogue()
    assert catalogue.routes[0] == Route("Short", ("extra", "gqa"))
    assert [route.title for route in catalogue.routes[1:]] == ["One evening", "Two weeks"]
    assert catalogue.troubles == (f"{path} names 'gpa', which no pack has; it is left out.",)
    path.write_text("[[route]]\n")
    (trouble,) = KnownPacks((pack,)).catalogue().troubles
    assert str(path) in trouble
    assert "title" in trouble


def test_circle_through_two_packs_is_reported(tmp_path: Path) -> None:
    """The catalogue still has all challenges, each once, and one sentence about the circle."""
    roots = [make_pack(tmp_path / name, name) for name in ("one", "two")]
    for root, other in zip(roots, ("two", "one"), strict=True):
        file = root / "challenges" / root.name / "challenge.toml"
        file.write_text(file.read_text() + f'builds_on = ["{other}"]\n')
        assert KnownPacks((root,)).catalogue().troubles == ()
    known = KnownPacks(tuple(roots)).catalogue()
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
    ids = [challenge.id for challenge in KnownPacks((pack,)).catalogue().challenges]
    assert ids[ids.index("mha") + 1] == "after"


def test_package_of_a_pack_is_not_imported(site: Path) -> None:
    """Neither the package nor its parent is imported. Comments and other groups do not matter."""
    for folder in ("silent_pack", "silent_outer/inner/pack"):
        init = make_pack(site / folder, Path(folder).name) / "__init__.py"
        init.write_text("raise ImportError('imported')\n")
    (site / "silent_outer" / "__init__.py").write_text("raise ImportError('imported')\n")
    plain, deep = "plain=silent_pack", "deep = silent_outer.inner.pack [more]"
    groups = f"[attn_drill.packs]\n# a comment\n{plain}\n{deep}\n[other]\ny = z\n"
    install_pack(site, "silent", f"[console_scripts]\nx = nowhere:main\n\n{groups}")
    known = KnownPacks().catalogue()
    assert [(pack.name, pack.root) for pack in known.packs[1:]] == [
        ("plain", site / "silent_pack"),
        ("deep", site / "silent_outer/inner/pack"),
    ]
    assert known.troubles == ()
    assert not {"silent_pack", "silent_outer"} & set(sys.modules)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("broken_nowhere", "there is no package 'broken_nowhere'"),
        ("broken_empty.nowhere", "the folder of 'broken_empty.nowhere' has no challenges/"),
        ("broken_module", "the folder of 'broken_module' has no challenges/"),
        ("broken_empty", "the folder of 'broken_empty' has no challenges/ and solutions/"),
        ("", "there is no package ''"),
        ("\xff", "there is no package 'ÿ'"),
    ],
)
def test_broken_entry_point_gives_one_sentence(
    site: Path, value: str, message: str, run: Run
) -> None:
    """The sentence names the pack and its package. Other packs and all commands still work."""
    (site / "broken_empty").mkdir()
    (site / "broken_module.py").write_text("")
    make_pack(site / "whole_pack", "extra")
    install_pack(site, "a_broken", f"[attn_drill.packs]\nmine = {value}\n")
    install_pack(site, "whole", "[attn_drill.packs]\nwhole = whole_pack\n")
    known = KnownPacks().catalogue()
    (trouble,) = known.troubles
    assert trouble.startswith("The pack mine of the installed package a_broken is left out: ")
    assert message in trouble
    assert trouble.endswith(". Install a_broken again, or remove it.")
    assert known.roots == [BUILT_IN, site / "whole_pack"]
    code, out, err = run("list")
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "extra" in out
    assert run("start", "extra")[::2] == (0, "")


def test_editable_install_has_its_pack_next_to_its_package(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent folder of the package must be a project with a pyproject.toml."""
    project = make_pack(tmp_path / "project", "extra")
    (project / "standing_pack").mkdir()
    (project / "standing_pack" / "__init__.py").write_text("")
    install_pack(site, "standing", "[attn_drill.packs]\nstanding = standing_pack\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(project)])
    assert KnownPacks().roots() == (BUILT_IN,)
    (project / "pyproject.toml").write_text("")
    # A process searches each sys.path only once, so the second search needs another sys.path.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert KnownPacks().roots() == (BUILT_IN, project)
