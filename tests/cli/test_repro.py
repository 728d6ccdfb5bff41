"""The command `repro`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import drill


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in a process that cannot import this project."""
    return subprocess.run(
        [sys.executable, "gqa_repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_script_shows_the_difference(tiled: Path) -> None:
    """The script fails like the check. A file that `repro` did not write is never overwritten."""
    report = json.loads(
        drill("check", "gqa", "gqa.py", "--seed", "3", "--json", cwd=tiled, code=1).stdout
    )
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled).stdout
    assert f"Case {failed['case_number']} with seed 3" in shown
    done = run(tiled)
    assert done.returncode == 1
    mismatch = failed["mismatch"]
    assert f"Mismatched elements: {mismatch['mismatched']} / {mismatch['total']}" in done.stderr
    (tiled / "gqa_repro.py").write_text("mine = 1\n")
    refused = drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=tiled, code=2)
    assert "Move it away first" in refused.stderr
    assert (tiled / "gqa_repro.py").read_text() == "mine = 1\n"


@pytest.mark.thorough
def test_script_of_a_right_case_passes(solved: Path) -> None:
    """A case that is named with --case is written."""
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "10", cwd=solved)
    assert run(solved).returncode == 0


def test_repro_of_a_pass_writes_nothing(solved: Path) -> None:
    """The sentence says that nothing fails."""
    assert (
        "nothing fails there"
        in drill("repro", "gqa", "gqa.py", "--seed", "3", cwd=solved, code=2).stderr
    )
    assert not (solved / "gqa_repro.py").exists()
    drill("repro", "gqa", "gqa.py", "--seed", "3", "--case", "2", cwd=solved)
    assert (solved / "gqa_repro.safetensors").exists()
