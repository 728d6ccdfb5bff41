"""Packs of installed packages: a broken pack is reported and stops no command."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install_pack, make_pack
from trainer.app.open_packs import open_packs
from trainer.packs import known_packs
from trainer.packs.installed_packs import installed_packs
from trainer.packs.known_packs import Places, catalogue


def test_package_of_a_pack_is_not_imported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the package nor its parent is imported.

    Comments, other groups and extras in `entry_points.txt` do not matter.
    """
    for package, folder in (
        ("silent_pack", "silent_pack"),
        ("silent_outer", "silent_outer/inner/pack"),
    ):
        init = make_pack(site / folder, "extra") / "__init__.py"
        init.write_text("raise ImportError('imported')\n")
        (site / package / "__init__.py").write_text("raise ImportError('imported')\n")
    lines = [
        "[console_scripts]",
        "x = nowhere:main",
        "",
        "[ attn_drill.packs ]",
        "# a comment",
        "; another",
        "plain=silent_pack",
        "deep = silent_outer.inner.pack [more]",
        "[other]",
        "y = z",
        "",
    ]
    install_pack(site, "silent", "\n".join(lines))
    found, troubles = installed_packs([str(site)])
    assert [(pack.name, pack.root) for pack in found] == [
        ("plain", site / "silent_pack"),
        ("deep", site / "silent_outer/inner/pack"),
    ]
    assert troubles == []
    assert not {"silent_pack", "silent_outer"} & set(sys.modules)


@pytest.mark.parametrize(
    "value",
    ["str(HERE / 'pack')", "HERE / 'pack'", "'pack'", "'../attribute_module/pack'"],
    ids=["text", "path", "relative", "relative, up"],
)
def test_attribute_of_a_module_names_the_folder(
    site: Path, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder may be text or a path, absolute or relative to the module.

    Text that the module prints goes to stderr, so that it does not mix with a command's output.
    """
    make_pack(site / "attribute_module" / "pack", "extra")
    (site / "attribute_module" / "__init__.py").write_text(
        "from pathlib import Path\n"
        "HERE = Path(__file__).parent\n"
        "print('hello')\n"
        f"class Folders:\n    mine = {value}\n"
    )
    monkeypatch.delitem(sys.modules, "attribute_module", raising=False)
    install_pack(site, "attribute", "[attn_drill.packs]\nmine = attribute_module : Folders.mine\n")
    found, troubles = installed_packs([str(site)])
    monkeypatch.delitem(sys.modules, "attribute_module")
    assert [pack.root for pack in found] == [site / "attribute_module" / "pack"], troubles
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("broken_nowhere", "there is no package 'broken_nowhere'", id="no package"),
        pytest.param(
            "broken_empty.nowhere",
            "broken_empty.nowhere is not a package with its own folder",
            id="no package in a package",
        ),
        pytest.param(
            "broken_module", "broken_module is not a package with its own folder", id="a module"
        ),
        pytest.param(
            "broken_empty", "broken_empty has no challenges/ and solutions/", id="no pack in it"
        ),
        pytest.param("", "there is no package ''", id="nothing"),
        pytest.param("broken_raises:PACK", "ZeroDivisionError", id="a module that raises"),
        pytest.param("broken_exits:PACK", "SystemExit: 5", id="a module that ends the process"),
        pytest.param("broken_module:PACK", "AttributeError", id="no such attribute"),
        pytest.param(
            "broken_module:number",
            "broken_module:number is 7, which is not a folder",
            id="an attribute that is a number",
        ),
        pytest.param(
            "broken_module:folder",
            "broken_empty has no challenges/",
            id="an attribute that names no pack",
        ),
    ],
)
def test_broken_entry_point_gives_one_sentence(
    site: Path,
    value: str,
    message: str,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sentence names the pack and its package. Other packs and all commands still work."""
    (site / "broken_empty").mkdir()
    (site / "broken_module.py").write_text(f"number = 7\nfolder = {str(site / 'broken_empty')!r}\n")
    (site / "broken_raises.py").write_text("1 / 0\n")
    (site / "broken_exits.py").write_text("raise SystemExit(5)\n")
    make_pack(site / "whole_pack", "extra")
    install_pack(site, "a_broken", f"[attn_drill.packs]\nmine = {value}\n")
    install_pack(site, "whole", "[attn_drill.packs]\nwhole = whole_pack\n")
    known = catalogue(Places())
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    (trouble,) = known.troubles
    assert trouble.startswith("The pack mine of the installed package a_broken is left out: ")
    assert message in trouble
    assert trouble.endswith(". Install a_broken again, or remove it.")
    assert known.roots == [BUILT_IN, site / "whole_pack"]
    code, out, err = run("list")
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "extra" in out
    assert run("start", "extra")[::2] == (0, "")


def test_unreadable_entry_points_cause_no_crash(site: Path) -> None:
    """Bytes that are not text and lines without a value are skipped or reported."""
    install_pack(site, "bytes", "")
    (site / "bytes-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"\xff\xfe[attn_drill.packs]\n\xff = \xff\nalone\n"
    )
    found, troubles = installed_packs([str(site), str(site / "nowhere"), ""])
    assert found == []
    assert len(troubles) <= 2


def test_editable_install_has_its_pack_next_to_its_package(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack is found in the project. A copy among the packages is hidden from submissions too.

    A pack next to a package counts only if the parent folder is a project with a pyproject.toml.
    """
    project = make_pack(tmp_path / "project", "extra")
    (project / "standing_pack").mkdir()
    (project / "standing_pack" / "__init__.py").write_text("")
    copy = make_pack(site / "standing_pack", "extra")
    install_pack(site, "standing", "[attn_drill.packs]\nstanding = standing_pack\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(project)])
    assert installed_packs(sys.path)[0] == []
    (project / "pyproject.toml").write_text("")
    # A process searches each sys.path only once, so the second search needs another sys.path.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (pack,) = (pack for pack in known_packs.known_packs(Places()) if pack.how == "installed")
    assert (pack.root, pack.copies) == (project, (copy,))
    assert open_packs().roots() == (BUILT_IN, project, copy)
