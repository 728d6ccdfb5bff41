"""The trials of the self-test: without a sandbox they succeed, so a refusal proves something."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attn_drill.sandbox import break_out
from tests.support.isolation import linux
from tests.support.rows import each_row

# A process without a sandbox can always do these things.
ALWAYS_POSSIBLE = {
    "open a network socket",
    "read the engine",
    "read another submission",
    "write outside its own folder",
    "start a process",
    "see the grader",
    "signal the grader",
    "bypass the memory limit",
}

RUN_TRIAL = """
import json, sys
from attn_drill.sandbox import break_out
trial, folder = json.loads(sys.argv[1])
print(json.dumps(break_out.run_trial(trial, folder)))
"""


@pytest.mark.thorough
@linux
def test_without_a_sandbox_the_trials_succeed(tmp_path: Path) -> None:
    """The worker's side reports each action that it could do, and the process that it started."""
    own_folder, other = tmp_path / "own", tmp_path / "other.py"
    own_folder.mkdir()
    other.touch()
    with subprocess.Popen(["sleep", "60"]) as grader:
        trial = {
            "kind": "all",
            "solutions": str(other),
            "engine": break_out.__file__,
            "home_files": [str(other)],
            "other": str(other),
            "leased": str(other),
            "outside": str(tmp_path / "outside"),
            "grader": grader.pid,
            "bytes_of_memory": 1 << 20,
        }
        command = [sys.executable, "-c", RUN_TRIAL, json.dumps([trial, str(own_folder)])]
        output = tmp_path / "output"
        # A pipe would stay open as long as the process that the trial starts.
        with output.open("wb") as file:
            subprocess.run(command, stdout=file, check=True)
        grader.kill()
    result = json.loads(output.read_text())
    (started,) = result["pids"]
    os.kill(started, signal.SIGKILL)
    assert [action for action in ALWAYS_POSSIBLE if result["tried"][action]] == []
    assert (tmp_path / "outside").exists()
    assert result["writes"]
    assert result["threads"]


@pytest.mark.thorough
def test_the_disk_trial_writes_the_given_bytes(tmp_path: Path) -> None:
    """The files have at least this size together."""
    count = (2 << 20) + 1
    result = break_out.run_trial({"kind": "disk", "bytes": count}, str(tmp_path))
    assert result == {"refused": False}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) >= count


def test_the_disk_trial_reports_a_refusal(tmp_path: Path) -> None:
    """An error of the system counts as a refusal."""
    trial = {"kind": "disk", "bytes": 1}
    assert break_out.run_trial(trial, str(tmp_path / "missing")) == {"refused": True}


@linux
@each_row(
    "number, expected",
    {
        "a number that no kernel has": (break_out._NO_CALL, errno.ENOSYS),
        "close": (3 if os.uname().machine == "x86_64" else 57, errno.EBADF),
    },
)
def test_the_error_of_a_system_call_is_returned(number: int, expected: int) -> None:
    """A known call with meaningless arguments fails with another error than an unknown call."""
    assert break_out._errno_of(number) == expected
