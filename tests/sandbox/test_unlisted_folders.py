"""A worker imports from folders that it cannot list."""

import os
import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path

import pytest

from tests.support.copies import metadata
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.sandbox.unlisted_folders import remember_names

pytestmark = pytest.mark.usefixtures("search_for_copies")


@needs_kernel
def test_a_package_next_to_a_copy_can_still_be_imported(site: Path, grader: Grader) -> None:
    """A worker cannot list a folder with a hidden entry, but can import from this folder.

    This stays true if the folder changes later, for example because a package is installed.
    """
    metadata(site)
    (site / "neighbour_tools-2.1.dist-info").mkdir()
    (site / "neighbour_tools-2.1.dist-info" / "METADATA").write_text("Version: 2.1\n")
    (site / "single.py").write_text("VALUE = 1\n")
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    solution = pack_reader.solution(challenge)
    source = (
        "import neighbour.module\n"
        "import single\n"
        "import importlib.metadata as m\n"
        "assert m.version('torch')\n"
        "assert m.version('neighbour.tools') == '2.1'\n"
        f"{solution}"
    )
    with Grader([TINY_PACK], grader.workers.limits, isolation="kernel") as made:
        assert report_of(made, challenge, solution, "prefix_sum.py", 5).verdict == "passed"
        os.utime(site, (1, 1))
        report = report_of(made, challenge, source, "prefix_sum.py", 5)
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.parametrize(
    "files",
    [
        ["single.py"],
        ["single.pyc"],
        [f"single{EXTENSION_SUFFIXES[0]}"],
        ["single.py", f"single{EXTENSION_SUFFIXES[0]}", "single.pyc"],
        ["single.py", "single.pyc"],
        ["single/__init__.py"],
        ["single/__init__.py", f"single/__init__{EXTENSION_SUFFIXES[0]}", "single.py"],
        ["single/other.py"],
        ["single/other.py", "single.py"],
        ["single.txt"],
    ],
    ids=" ".join,
)
def test_modules_are_found_as_python_finds_them(
    files: list[str], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finder of a split folder chooses the same file as Python's own finder."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path_importer_cache", {})
    for file in files:
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).touch()
    remember_names([str(path) for path in site.iterdir()])
    remembering = sys.path_importer_cache[str(site)]
    listing = FileFinder(
        str(site),
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (SourceFileLoader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )
    assert remembering is not None
    actual, expected = (finder.find_spec("single", None) for finder in (remembering, listing))
    if expected is None:
        assert actual is None
        return
    assert actual is not None
    assert actual.origin == expected.origin
    assert type(actual.loader) is type(expected.loader)
    assert list(actual.submodule_search_locations or ()) == list(
        expected.submodule_search_locations or ()
    )
