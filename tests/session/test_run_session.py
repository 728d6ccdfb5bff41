"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

import contextlib
import os
import random
import re
import select
import signal
import termios
import time
from pathlib import Path

import pytest

from tests.support.session import GQA, read_until, terminal
from trainer.packs import pack_reader
from trainer.practice.journal import Journal


@pytest.mark.parametrize("how", ["q", "\x03", "SIGTERM", "a crash"])
def test_the_terminal_is_sane_afterwards(file: Path, how: str) -> None:
    """However it ends, the alternate screen is left, the cursor shown, the mouse and the raw mode off; the file is untouched."""
    text = "explode" if how == "a crash" else file.read_text()
    with terminal(["-m", "tests.support.session_in_a_terminal", str(file)], file.parent) as (
        pid,
        end,
    ):
        before = termios.tcgetattr(end)[3]
        drawn = read_until(end, lambda seen: "Every save of" in seen)
        assert "\x1b[?1049h" in drawn
        if how == "SIGTERM":
            os.kill(pid, signal.SIGTERM)
        elif how == "a crash":
            file.write_text(text)
        else:
            os.write(end, how.encode())
        drawn = read_until(end, lambda seen: False)  # to its end: it says what broke
        assert all(off in drawn for off in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l"))
        assert ("a fault of ours" in drawn) == (how == "a crash")
        os.waitpid(pid, 0)
        assert termios.tcgetattr(end)[3] & termios.ICANON == before & termios.ICANON
    assert file.read_text() == text


def test_a_kill_loses_no_attempt_that_was_shown(file: Path, home: Path) -> None:
    """kill -9 at twenty random moments while saves come fast: every seed that was drawn is in the journal, and the journal is whole."""
    generator = random.Random(20)
    shown_in_all = 0
    for _ in range(20):
        file.write_text(pack_reader.stub(GQA))
        before = {row.when for row in Journal(home).attempts(replaced=True)}
        with terminal(["-m", "tests.support.session_in_a_terminal", str(file)], file.parent) as (
            pid,
            end,
        ):
            drawn = read_until(end, lambda seen: "Every save of" in seen)
            moment = time.monotonic() + generator.uniform(0.02, 0.5)
            number = 0
            while time.monotonic() < moment:
                number += 1
                file.write_text(f"{'right' if number % 2 else 'wrong'} {number}")
                end_of_pause = min(moment, time.monotonic() + 0.03)
                while (left := end_of_pause - time.monotonic()) > 0:
                    if select.select([end], [], [], left)[0]:
                        drawn += os.read(end, 1 << 16).decode("utf-8", "replace")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            with contextlib.suppress(OSError):
                while select.select([end], [], [], 0)[0] and (part := os.read(end, 1 << 16)):
                    drawn += part.decode("utf-8", "replace")
        shown = {int(seed) for seed in re.findall(r"seed (\d+)\b", drawn)}
        kept = {row.seed for row in Journal(home).attempts(replaced=True) if row.when not in before}
        assert shown <= kept, (shown, kept)
        shown_in_all += len(shown)
    assert shown_in_all >= 10, "too little was shown for this to say anything"
