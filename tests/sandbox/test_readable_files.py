"""The readable paths of a worker contain no copy of a pack or of attn-drill."""

import os
import py_compile
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copies import REFERENCE, metadata, planted
from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.sandbox import readable_files

pytestmark = pytest.mark.usefixtures("search_for_copies")

COMPILED = f"__pycache__/solution.{sys.implementation.cache_tag}.pyc"


def only_compiled(site: Path) -> Path:
    """Put compiled modules of a pack, without their sources, among the packages."""
    place = site / "left" / "solutions" / "prefix_sum" / COMPILED
    py_compile.compile(str(REFERENCE), str(place), doraise=True)
    return place


def registered(site: Path) -> Path:
    """Install a pack deep inside a package, with an entry point."""
    (site / "course-1.dist-info").mkdir()
    (site / "course-1.dist-info" / "entry_points.txt").write_text(
        "[attn_drill.packs]\ncourse = course.of.this.year\n"
    )
    return planted(site / "course" / "of" / "this" / "year")


def as_wheel(site: Path) -> Path:
    """Put a wheel of a pack among the packages."""
    with zipfile.ZipFile(site / "course-1-py3-none-any.whl", "w") as archive:
        archive.write(REFERENCE, "course/solutions/prefix_sum/solution.py")
    return site / "course-1-py3-none-any.whl"


def an_environment(site: Path) -> Path:
    """Put a virtual environment with an installed pack among the packages."""
    (site / "tool").mkdir()
    (site / "tool" / "pyvenv.cfg").touch()
    return planted(site / "tool" / "lib" / "python3.99" / "anything" / "trainer" / "_pack")


PLACES = [
    pytest.param(
        lambda site: planted(site / "trainer" / "_pack"), id="a wheel, or an old editable install"
    ),
    pytest.param(lambda site: planted(site / "~rainer" / "_pack"), id="an interrupted uninstall"),
    pytest.param(lambda site: planted(site / "course"), id="a package"),
    pytest.param(lambda site: planted(site / "school" / "course"), id="a package in a package"),
    pytest.param(planted, id="at the top"),
    pytest.param(only_compiled, id="only compiled modules"),
    pytest.param(registered, id="an entry point"),
    pytest.param(as_wheel, id="an archive"),
    pytest.param(an_environment, id="another environment"),
    pytest.param(metadata, id="metadata"),
    pytest.param(
        lambda site: planted(site.parent / "dist-packages" / "course"),
        id="a folder outside the import path",
    ),
]


def allows(allowed: list[str], path: Path) -> bool:
    """Return True if a path, or one of its parents, is in the list of readable paths."""
    return not {str(path), *map(str, path.parents)}.isdisjoint(allowed)


@pytest.mark.parametrize("plant", PLACES)
def test_no_copy_is_readable(site: Path, plant: Callable[[Path], Path]) -> None:
    """No file of a copy is readable, but the packages next to the copy are."""
    place = plant(site)
    files = [
        path for path in place.rglob("*") if path.is_file() and path.parent.name != "neighbour"
    ]
    allowed = readable_files.readable_paths([])
    assert not [path for path in files or [place] if allows(allowed, path)]
    assert allows(allowed, site / "neighbour" / "module.py")


FOLDERS_OF_THIS_VERSION = [path.parent.name for path in pack_reader.TRAINER.glob("*/__init__.py")]


@pytest.mark.parametrize(
    "folders", [FOLDERS_OF_THIS_VERSION, ["core", "grading", "running"]], ids=["this", "before 0.2"]
)
def test_renamed_copy_of_the_engine_is_not_readable(site: Path, folders: list[str]) -> None:
    """Its folders identify the copy, because its name does not."""
    for folder in folders:
        (site / "borrowed" / folder).mkdir(parents=True)
    (site / "borrowed" / "grading" / "judge.py").touch()
    allowed = readable_files.readable_paths([])
    assert not allows(allowed, site / "borrowed" / "grading" / "judge.py")
    assert allows(allowed, site / "neighbour" / "module.py")


def test_packages_of_other_interpreters_are_not_readable(site: Path) -> None:
    """Only package folders from which this process imports are readable."""
    allowed = readable_files.readable_paths([])
    base = Path(
        sys.base_prefix,
        "lib",
        f"python{sys.version_info.major}.{sys.version_info.minor}",
        "site-packages",
    )
    elsewhere = [
        base,
        Path("/usr/lib/python3/dist-packages"),
        Path(f"/usr/local/lib/{base.parent.name}/dist-packages"),
    ]
    imported = {os.path.realpath(path) for path in sys.path}
    assert not [
        path
        for path in elsewhere
        if os.path.realpath(path) not in imported and allows(allowed, path.resolve() / "x.py")
    ]
    assert allows(allowed, Path(os.__file__).resolve())
    assert allows(allowed, Path(pytest.__file__).resolve())


def test_the_history_of_a_checkout_with_a_hidden_pack_is_not_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of a checkout contains the same texts as its folders."""
    tree = tmp_path / "usr" / "lib"
    pack = planted(tree / "a" / "b" / "c" / "d" / "checkout")
    (pack / ".git").mkdir()
    (tree / "libx.so").touch()
    monkeypatch.setattr(readable_files, "_SYSTEM_FOLDERS", (str(tree),))
    allowed = readable_files.readable_paths([pack / "challenges", pack / "solutions"])
    assert not allows(allowed, pack / ".git")
    assert allows(allowed, tree / "libx.so")


def test_links_to_readable_neighbours_are_readable(site: Path) -> None:
    """bubblewrap shows only listed paths, so the link to a library must be in the list."""
    planted(site / "course")
    (site / "libx.so.1").touch()
    (site / "libx.so").symlink_to("libx.so.1")
    (site / "link").symlink_to("course")
    (site / "far").symlink_to(TINY_PACK)
    allowed = readable_files.readable_paths([])
    assert str(site / "libx.so") in allowed
    assert not {str(site / "link"), str(site / "far")} & set(allowed)
