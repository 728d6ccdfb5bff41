"""The search for copies of a reference by content, in this process and in real workers."""

import importlib.util
import os
import py_compile
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copies import REFERENCE, found_by_a_worker
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.sandbox import copy_search

pytestmark = pytest.mark.usefixtures("search_for_copies")

FORMS: dict[str, Callable[[Path], object]] = {
    "text": lambda folder: shutil.copy(REFERENCE, folder / "solution.py"),
    "another name": lambda folder: shutil.copy(REFERENCE, folder / "notes.txt"),
    "cases": lambda folder: shutil.copy(TINY_PACK / "challenges/prefix_sum/cases.py", folder / "c"),
    "line ends": lambda folder: (folder / "solution.py").write_bytes(
        REFERENCE.read_bytes().replace(b"\n", b"\r\n")
    ),
    "compiled": lambda folder: py_compile.compile(
        str(REFERENCE), str(folder / "x.pyc"), doraise=True
    ),
    "compiled without docstrings": lambda folder: py_compile.compile(
        str(REFERENCE), str(folder / "x.pyc"), doraise=True, optimize=2
    ),
    "compiled, by hash": lambda folder: py_compile.compile(
        str(REFERENCE),
        str(folder / "x.pyc"),
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    ),
    "compiled by another Python": lambda folder: compiled_by_another_python(
        folder / "solution.cpython-399.pyc"
    ),
    "zip": lambda folder: zipped(folder / "a.zip", REFERENCE),
    "wheel of compiled modules": lambda folder: zipped(
        folder / "a.whl",
        Path(py_compile.compile(str(REFERENCE), str(folder.parent / "y"), doraise=True) or ""),
    ),
    "tar": lambda folder: tarred(folder / "a.tar.gz"),
}


def compiled_by_another_python(path: Path) -> None:
    """Write the compiled reference with the header of another version of Python."""
    py_compile.compile(str(REFERENCE), str(path), doraise=True)
    path.write_bytes(b"\x00\x00\r\n" + path.read_bytes()[4:])


def zipped(path: Path, file: Path) -> None:
    """Write a zip archive with the file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(file, f"deep/er/file{'.pyc' if file != REFERENCE else '.py'}")


def tarred(path: Path) -> None:
    """Write a compressed tar archive with the reference."""
    with tarfile.open(path, "w:gz") as archive:
        archive.add(REFERENCE, "deep/er/solution.py")


@needs_kernel
@pytest.mark.usefixtures("search_only_site")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
def test_a_deep_copy_in_any_form_is_found(site: Path, form: str) -> None:
    """A copy too deep for the check of names is found by its content."""
    folder = site / "a" / "b" / "c" / "d" / "e"
    folder.mkdir(parents=True)
    FORMS[form](folder)
    found = found_by_a_worker()
    assert found.originals == ()
    assert [path.startswith(f"{folder}/") for path in found.found] == [True]
    assert f"can read {found.found[0]}, a copy" in found.sentence


@needs_kernel
@pytest.mark.usefixtures("search_only_site")
def test_files_that_are_not_copies_are_not_reported(site: Path) -> None:
    """Other files of the same size, broken archives, empty files and pipes are no copies."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    size = REFERENCE.stat().st_size
    (folder / "solution.py").write_bytes(b"#" * size)
    (folder / "other.py").write_text("x = 1\n".ljust(size))
    py_compile.compile(str(folder / "other.py"), str(folder / "solution.pyc"), doraise=True)
    (folder / "torn.pyc").write_bytes(
        importlib.util.MAGIC_NUMBER + bytes(8) + size.to_bytes(4, "little") + b"x"
    )
    for name in ("torn.zip", "torn.whl", "torn.tar.gz"):
        (folder / name).write_bytes(b"PK\x03\x04 torn")
    (folder / "empty").touch()
    os.mkfifo(folder / "pipe.zip")
    found = found_by_a_worker()
    assert (found.none_readable, found.found) == (True, ())
    assert found.files >= 8


def test_a_search_without_time_is_reported_as_cut(tmp_path: Path) -> None:
    """A search whose time is over does not claim to be complete."""
    (tmp_path / "a").mkdir()
    assert copy_search.Search([], 0.0).through([str(tmp_path)]).cut
    assert not copy_search.Search([], 60.0).through([str(tmp_path)]).cut


def test_links_are_followed_only_once(tmp_path: Path) -> None:
    """A circle of links ends, and a link out of the folder is followed."""
    (tmp_path / "start").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "start" / "round").symlink_to(tmp_path / "start")
    (tmp_path / "start" / "out").symlink_to(tmp_path / "other")
    shutil.copy(REFERENCE, tmp_path / "other")
    wanted = list(copy_search.wanted_of("solution", REFERENCE.read_bytes()))
    assert copy_search.Search(wanted, 60.0).through([str(tmp_path / "start")]).found == [
        str(tmp_path / "other" / "solution.py")
    ]


def test_a_request_to_a_worker_contains_no_line_of_the_text() -> None:
    """The request describes the texts only by sizes and digests."""
    fingerprints = repr(list(copy_search.wanted_of("solution", REFERENCE.read_bytes())))
    assert not [
        line
        for line in REFERENCE.read_text().splitlines()
        if len(line.strip()) > 8 and line.strip() in fingerprints
    ]
