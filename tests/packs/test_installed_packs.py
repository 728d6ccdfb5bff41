"""Which packs are known and in what order; what is broken in one of them is told, and stops no command."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.known_packs import BUILT_IN, install, make
from trainer.app.open_packs import open_packs
from trainer.packs import known_packs
from trainer.packs.installed_packs import installed_packs
from trainer.packs.known_packs import Places, catalogue


def test_a_package_is_not_imported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the package that an entry point names, nor one that it lies in; comments, other groups and extras are no matter."""
    for package, folder in (
        ("silent_pack", "silent_pack"),
        ("silent_outer", "silent_outer/inner/pack"),
    ):
        (make(site / folder, "extra") / "__init__.py").write_text("raise ImportError('imported')\n")
        (site / package / "__init__.py").write_text("raise ImportError('imported')\n")
    lines = "[console_scripts]\nx = nowhere:main\n\n[ attn_drill.packs ]\n# a comment\n; another\nplain=silent_pack\ndeep = silent_outer.inner.pack [more]\n[other]\ny = z\n"
    install(site, "silent", lines)
    found, troubles = installed_packs([str(site)])
    assert [(one.name, one.root) for one in found] == [
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
def test_an_attribute_names_the_folder(
    site: Path, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As text or as a path, absolute or from where the module lies; what the module prints does not get between a command's words."""
    make(site / "attribute_module" / "pack", "extra")
    (site / "attribute_module" / "__init__.py").write_text(
        f"from pathlib import Path\nHERE = Path(__file__).parent\nprint('hello')\nclass Folders:\n    mine = {value}\n"
    )
    monkeypatch.delitem(sys.modules, "attribute_module", raising=False)
    install(site, "attribute", "[attn_drill.packs]\nmine = attribute_module : Folders.mine\n")
    found, troubles = installed_packs([str(site)])
    monkeypatch.delitem(sys.modules, "attribute_module")
    assert [one.root for one in found] == [site / "attribute_module" / "pack"], troubles
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("broken_nowhere", "there is no package 'broken_nowhere'", id="no package"),
        pytest.param(
            "broken_empty.nowhere",
            "broken_empty.nowhere is no package with a folder of its own",
            id="no package in a package",
        ),
        pytest.param(
            "broken_module", "broken_module is no package with a folder of its own", id="a module"
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
            "broken_module:number is 7, and no folder",
            id="an attribute that is a number",
        ),
        pytest.param(
            "broken_module:folder",
            "broken_empty has no challenges/",
            id="an attribute that names no pack",
        ),
    ],
)
def test_a_broken_entry_point_is_one_sentence(
    site: Path,
    value: str,
    says: str,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It names the pack and its package; other packs are there, and every command works."""
    (site / "broken_empty").mkdir()
    (site / "broken_module.py").write_text(f"number = 7\nfolder = {str(site / 'broken_empty')!r}\n")
    (site / "broken_raises.py").write_text("1 / 0\n")
    (site / "broken_exits.py").write_text("raise SystemExit(5)\n")
    make(site / "whole_pack", "extra")
    install(site, "a_broken", f"[attn_drill.packs]\nmine = {value}\n")
    install(site, "whole", "[attn_drill.packs]\nwhole = whole_pack\n")
    known = catalogue(Places())
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    (trouble,) = known.troubles
    assert trouble.startswith("The pack mine of the installed package a_broken is left out: ")
    assert says in trouble
    assert trouble.endswith(". Install a_broken again, or remove it.")
    assert known.roots == [BUILT_IN, site / "whole_pack"]
    code, out, err = run("list")
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "extra" in out
    assert run("start", "extra")[::2] == (0, "")


def test_entry_points_that_cannot_be_read(site: Path) -> None:
    """Bytes that are no text, and lines that say nothing: no crash."""
    install(site, "bytes", "")
    (site / "bytes-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"\xff\xfe[attn_drill.packs]\n\xff = \xff\nalone\n"
    )
    found, troubles = installed_packs([str(site), str(site / "nowhere"), ""])
    assert found == []
    assert len(troubles) <= 2


def test_a_project_that_is_installed_as_it_stands(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack lies beside its package; what an installer copied among the packages is hidden from what is graded as well."""
    project = make(tmp_path / "project", "extra")
    (project / "standing_pack").mkdir()
    (project / "standing_pack" / "__init__.py").write_text("")
    copy = make(site / "standing_pack", "extra")
    install(site, "standing", "[attn_drill.packs]\nstanding = standing_pack\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(project)])
    assert (
        installed_packs(sys.path)[0] == []
    )  # what lies beside a package is no pack unless that is a project
    (project / "pyproject.toml").write_text("")
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(tmp_path)]
    )  # another key for what is kept of a process
    (pack,) = (one for one in known_packs.known_packs(Places()) if one.how == "installed")
    assert (pack.root, pack.copies) == (project, (copy,))
    assert open_packs().roots() == (BUILT_IN, project, copy)
