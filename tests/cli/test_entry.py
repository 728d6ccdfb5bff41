"""The beginning of every command."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from attn_drill.cli.entry import will_grade
from attn_drill.sandbox.isolation import children


def has_torch(pid: int) -> bool:
    """Return whether a child of a process, its grading server, has opened torch's files."""
    with suppress(OSError):
        return any("torch" in Path(f"/proc/{child}/maps").read_text() for child in children(pid))
    return False


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows that torch is being imported")
@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8])
def test_ctrl_c_during_the_import_of_torch_exits_with_130(tmp_path: Path, seconds: float) -> None:
    """The signal comes `seconds` after torch's files were opened. There is no traceback."""
    (tmp_path / "gqa.py").write_text("while True:\n    pass\n")
    command = [sys.executable, "-m", "attn_drill", "check", "gqa"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not has_torch(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "gqa"], True),
        (["check", "--seed", "3", "gqa"], True),
        (["check", "gqa", "--help"], False),
        (["trace", "gqa"], True),
        (["doctor"], False),
        (["start", "gqa"], False),
        ([], False),
    ],
)
def test_a_grading_server_starts_before_the_command_line_is_read(
    arguments: list[str], expected: bool
) -> None:
    """Help and light commands start no server."""
    assert will_grade(arguments) is expected
