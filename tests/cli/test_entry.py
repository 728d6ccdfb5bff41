"""The beginning of every command."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer.cli.entry import starts_workers


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows that torch is being imported")
@pytest.mark.parametrize("seconds", [0.0, 0.4, 0.8])
def test_ctrl_c_during_the_import_of_torch_exits_with_130(tmp_path: Path, seconds: float) -> None:
    """The signal comes `seconds` after torch's files were opened. There is no traceback."""
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
        (["check", "--seed", "3", "gqa"], False),  # a wrong guess, which only costs time
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
def test_commands_with_workers_start_in_a_new_process(
    arguments: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help, light commands and unknown ids run at once, in the same process."""
    monkeypatch.delenv("ATTN_DRILL_PACK", raising=False)
    assert starts_workers(arguments) is expected
