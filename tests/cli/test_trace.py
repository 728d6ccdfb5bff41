"""The commands `trace` and `repro`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from tests.support.cli import BUILT_IN, drill

# A challenge that is graded three times as fast as gqa.
NORM = pack_reader.solution(pack_reader.find_challenge(BUILT_IN, "rmsnorm"))


def test_trace_names_the_equal_result_of_the_reference(tiled: Path) -> None:
    """The first wrong line has a marker. The reference's code is not shown."""
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tiled).stdout
    assert re.search(r"q = self\.q_proj.*\n +  = q  \[B=2, L=5, H=6, D=7\] float32 ", shown)
    assert re.search(r"v = v\.repeat_interleave.*\n +  = v  ", shown)
    assert not re.search(r"k = k\.repeat\(1.*\n.*= k", shown)
    assert len(re.findall(r"^> \d+  k = k\.repeat\(1", shown, re.MULTILINE)) == 1
    assert "k.repeat_interleave" not in shown
    command = ("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", "--json")
    traced = json.loads(drill(*command, cwd=tiled).stdout)
    assert (traced["number"], traced["seed"], traced["failure"]) == (1, 3, "")
    assert {"line", "text", "shape"} <= traced["rows"][0].keys()


@pytest.mark.thorough
def test_trace_takes_the_failing_case_of_the_last_attempt(tmp_path: Path) -> None:
    """The seed is that of the last attempt."""
    (tmp_path / "rmsnorm.py").write_text(NORM.replace(".mean(", ".sum("))
    command = ("check", "rmsnorm", "rmsnorm.py", "--json")
    report = json.loads(drill(*command, cwd=tmp_path, code=1).stdout)
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("trace", "rmsnorm", "rmsnorm.py", cwd=tmp_path).stdout
    assert shown.startswith(f"case {failed['case_number']}:")
    assert f"seed {report['seed']}" in " ".join(shown.split())


@pytest.mark.thorough
def test_trace_of_an_exception_ends_with_it(tmp_path: Path) -> None:
    """The lines before the exception are shown."""
    (tmp_path / "rmsnorm.py").write_text(NORM.replace("torch.rsqrt(", "wide.mT @ torch.rsqrt("))
    command = ("trace", "rmsnorm", "rmsnorm.py", "--seed", "3", "--case", "1")
    shown = drill(*command, cwd=tmp_path).stdout
    assert "RuntimeError" in shown
    assert "mean_square = wide.square()" in shown


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
