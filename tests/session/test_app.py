"""The terminal application around a screen: it restores the terminal, and a kill loses nothing."""

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
from textual.app import ComposeResult
from textual.screen import Screen

from attn_drill.model.errors import GraderError
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted
from attn_drill.practice.journal import Journal
from attn_drill.session._drill_app import DrillApp, run_screen
from tests.support.session import GQA, read_until, terminal


class BrokenScreen(Screen[None]):
    """A screen with a fault."""

    def compose(self) -> ComposeResult:
        """Raise an error."""
        raise ZeroDivisionError("a fault of ours")


def test_screen_that_fails_gives_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one sentence of ours, after the traceback."""
    run = DrillApp.run
    monkeypatch.setattr(DrillApp, "run", lambda app: run(app, headless=True))
    with pytest.raises(
        GraderError, match=r"The screen failed\. Use another command\. Please report"
    ):
        run_screen(BrokenScreen(), "Use another command.")
    assert "a fault of ours" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("ending", ["a crash", "q", "SIGTERM", "\x03"])
def test_terminal_is_restored_at_every_end(file: Path, ending: str) -> None:
    """The alternate screen, the mouse and the raw mode end, and the file is unchanged."""
    text = "explode" if ending == "a crash" else file.read_text()
    with terminal(["-m", "tests.support.session", str(file)], file.parent) as (
        pid,
        end,
    ):
        mode_before = termios.tcgetattr(end)[3]
        drawn = read_until(end, lambda seen: "Every save of" in seen)
        assert "\x1b[?1049h" in drawn
        if ending == "SIGTERM":
            os.kill(pid, signal.SIGTERM)
        elif ending == "a crash":
            file.write_text(text)
        else:
            os.write(end, ending.encode())
        drawn = read_until(end, lambda seen: False)  # until the program ends
        assert all(off in drawn for off in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l"))
        assert ("a fault of ours" in drawn) == (ending == "a crash")
        os.waitpid(pid, 0)
        assert termios.tcgetattr(end)[3] & termios.ICANON == mode_before & termios.ICANON
    assert file.read_text() == text


@pytest.mark.thorough
def test_kill_loses_no_shown_attempt(file: Path, home: Path) -> None:
    """After SIGKILL at five random moments every seed on the screen is in the journal."""
    generator = random.Random(0)
    for shown_before in (0, 1, 1, 2, 2):
        file.write_text(pack_reader.stub(GQA))
        before = {attempt.at for attempt in Journal(home).facts(Attempted)}
        with terminal(["-m", "tests.support.session", str(file)], file.parent) as (
            pid,
            end,
        ):
            drawn = read_until(end, lambda seen: "Every save of" in seen)
            for number in range(shown_before):
                file.write_text(f"{'wrong' if number % 2 else 'right'} {number}")
                drawn += read_until(end, lambda seen: bool(_seeds(seen)))
            file.write_text("wrong last")
            drawn += _drawn_within(end, generator.uniform(0.0, 0.5))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            drawn += _drawn_within(end, 0.0)
        shown = _seeds(drawn)
        attempts = Journal(home).facts(Attempted)
        recorded = {attempt.seed for attempt in attempts if attempt.at not in before}
        assert shown <= recorded
        assert len(shown) >= min(shown_before, 1)


def _seeds(drawn: str) -> set[int]:
    return {int(seed) for seed in re.findall(r"seed (\d+)\b", drawn)}


def _drawn_within(end: int, seconds: float) -> str:
    """Return the text that the program draws within so many seconds."""
    drawn, deadline = b"", time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while select.select([end], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (part := os.read(end, 1 << 16)):
                break
            drawn += part
    return drawn.decode("utf-8", "replace")
