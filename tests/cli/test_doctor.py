"""The commands as a user types them: what they print, where, and the exit code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.copies import BUILT_IN, REFERENCE
from tests.support.known_packs import install, make
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.packs import pack_reader
from trainer.worker.selftest import COPIES


def test_doctor(tmp_path: Path) -> None:
    """Versions, and what was tried of the isolation."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert "torch 2.13" in text
    assert re.search(r"(held|OPEN)  open a network socket", text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that this process and its workers import from."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def copied(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a reference that names do not tell, in a folder that commands import from."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(BUILT_IN), str(site)]))
    return Path(shutil.copy(REFERENCE, folder / "hidden_by_nobody"))


@pytest.mark.thorough
@needs_kernel
def test_doctor_names_the_copy(copied: Path, tmp_path: Path) -> None:
    """The row is OPEN, and the path stands below."""
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


@pytest.fixture
def site_of_known_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path, as if it were one for packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_doctor_counts_every_pack(tmp_path: Path, site_of_known_packs: Path) -> None:
    """How many challenges each pack gives, where it lies, and what is hidden."""
    make(site_of_known_packs / "counted_pack", "gqa", "extra", "more")
    install(site_of_known_packs, "counted", "[attn_drill.packs]\ncounted = counted_pack\n")
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "doctor"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(pack_reader.TRAINER.parent), str(site_of_known_packs)]
            ),
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
