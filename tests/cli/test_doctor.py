"""The command `doctor`: versions, packs and the isolation on this machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.copies import BUILT_IN, REFERENCE
from tests.support.known_packs import install_pack, make_pack
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.packs import pack_reader
from trainer.worker.selftest import COPIES

pytestmark = pytest.mark.usefixtures("search_for_copies")


def test_doctor_shows_versions_and_isolation(tmp_path: Path) -> None:
    """The output has a line for each attempt to break out of the sandbox."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert "torch 2.13" in text
    assert re.search(r"(held|OPEN)  open a network socket", text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of packages from which this process and its workers import."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def copied(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of a reference, with another name, in a folder from which commands import."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(BUILT_IN), str(site)]))
    return Path(shutil.copy(REFERENCE, folder / "hidden_by_nobody"))


@pytest.mark.thorough
@needs_kernel
def test_doctor_names_the_readable_copy(copied: Path, tmp_path: Path) -> None:
    """The row of copies is OPEN, and the path of the copy is below."""
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "--pack", str(TINY_PACK), "doctor"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"OPEN  {COPIES}" in done.stdout
    assert (
        f"A submission can read {copied}, a copy of a reference or of its cases. Remove it"
        in done.stdout
    )
    assert "Isolation is limited" not in done.stdout


def test_doctor_counts_the_challenges_of_every_pack(tmp_path: Path) -> None:
    """Each pack has a line with its number of challenges; a hidden challenge is reported."""
    site = tmp_path / "site"
    site.mkdir()
    make_pack(site / "counted_pack", "gqa", "extra", "more")
    install_pack(site, "counted", "[attn_drill.packs]\ncounted = counted_pack\n")
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "doctor"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(pack_reader.TRAINER.parent), str(site)]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        f"{len(pack_reader.read_pack(BUILT_IN))} in {BUILT_IN} (attn-drill, built in)"
        in done.stdout
    )
    assert f"2 in {site / 'counted_pack'} (counted, installed)" in done.stdout
    assert f"{site / 'counted_pack/challenges/gqa'} is hidden" in done.stderr
