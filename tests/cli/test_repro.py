"""The command `repro`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import BUILT_IN, drill
from trainer.packs import pack_reader

# A challenge that is graded three times as fast as gqa.
NORM = pack_reader.solution(pack_reader.find_challenge(BUILT_IN, "rmsnorm"))


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Return a folder with a right rmsnorm.py."""
    (tmp_path / "rmsnorm.py").write_text(NORM)
    return tmp_path


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    return subprocess.run(
        [sys.executable, "rmsnorm_repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.thorough
def test_script_shows_the_difference(solved: Path) -> None:
    """The script fails like the check. A file that `repro` did not write is never overwritten."""
    (solved / "rmsnorm.py").write_text(NORM.replace(".mean(", ".sum("))
    report = json.loads(
        drill("check", "rmsnorm", "rmsnorm.py", "--seed", "3", "--json", cwd=solved, code=1).stdout
    )
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", cwd=solved).stdout
    assert f"Case {failed['case_number']} with seed 3" in shown
    done = run(solved)
    assert done.returncode == 1
    mismatch = failed["mismatch"]
    assert f"Mismatched elements: {mismatch['mismatched']} / {mismatch['total']}" in done.stderr
    (solved / "rmsnorm_repro.py").write_text("mine = 1\n")
    refused = drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", cwd=solved, code=2)
    assert "Move it away first" in refused.stderr
    assert (solved / "rmsnorm_repro.py").read_text() == "mine = 1\n"


@pytest.mark.resembling
def test_script_of_a_right_case_passes(solved: Path) -> None:
    """A case that is named with --case is written."""
    drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", "--case", "10", cwd=solved)
    assert run(solved).returncode == 0


@pytest.mark.thorough
def test_repro_of_a_pass_writes_nothing(solved: Path) -> None:
    """The sentence says that nothing fails."""
    assert (
        "nothing fails there"
        in drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", cwd=solved, code=2).stderr
    )
    assert not (solved / "rmsnorm_repro.py").exists()
