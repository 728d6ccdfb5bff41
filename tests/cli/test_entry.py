"""The commands as a user types them: what they print, where, and the exit code."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer.cli.entry import starts_workers


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when torch is being imported")
@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8])
def test_interrupted_at_once(tmp_path: Path, seconds: float) -> None:
    """Ctrl-C while torch is imported, so many seconds after Python was started for it: exit 130, no traceback."""
    (tmp_path / "gqa.py").write_text("while True:\n    pass\n")
    command = [sys.executable, "-m", "trainer", "check", "gqa"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while (
        "torch" not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < deadline
    ):
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
        (["check", "kv-cache", "file.py"], True),
        (["check", "--seed", "3", "gqa"], False),  # a guess that costs time, and nothing else
        (["check", "no-such-challenge"], False),
        (["check", "mine", "--pack", "folder"], True),
        (["check", "gqa", "--help"], False),
        (["doctor"], True),
        (["list"], False),
        (["hint", "gqa"], False),
        (["start", "gqa"], False),
        ([], False),
    ],
)
def test_which_commands_are_launched(
    arguments: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that start workers themselves are launched; help, light commands and unknown ids are answered at once."""
    monkeypatch.delenv("ATTN_DRILL_PACK", raising=False)
    assert starts_workers(arguments) is expected
