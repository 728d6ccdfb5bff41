"""Sessions without a terminal, and programs in a pseudo-terminal."""

import asyncio
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.support.fake_grader import FakeGrader
from tests.support.paths import ROOT
from trainer.packs import pack_reader
from trainer.practice.facts import Started
from trainer.practice.journal import Journal
from trainer.server.client import AsyncClient
from trainer.session.model import SessionRequest, SessionResult
from trainer.session.practice_screen import SessionApp
from trainer.session.session_state import SessionState

PACK = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(PACK, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "scores = scores * 1")


def app_on(path: Path, home: Path, grader: AsyncClient | None = None, **options: Any) -> SessionApp:
    """Return the screen of a session on this file.

    Args:
        path: the learner's file.
        home: the folder of the journal.
        grader: a client of a grading process; by default a fake one.
        options: the clock, and fields of `SessionRequest`.
    """
    journal = Journal(home)
    if "purpose" not in options:
        journal.add(Started("gqa", time.time() - 60, path=str(path)))
    clock = options.pop("clock", time.monotonic)
    request = SessionRequest(
        GQA,
        path,
        pack_reader.prompt(GQA),
        options.pop("seconds_before", 0.0),
        options.pop("par_seconds", 1200.0),
        **options,
    )
    return SessionApp(SessionState(request, journal, time.time, clock), grader or FakeGrader())


def drive(
    app: SessionApp,
    script: Callable[[Pilot[SessionResult]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
) -> None:
    """Run the app without a terminal and let the script drive it."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.warm)
            await script(pilot)

    asyncio.run(run())


async def until(
    pilot: Pilot[SessionResult], condition: Callable[[], bool], seconds: float = 60.0
) -> None:
    """Wait until `condition()` holds. The default time is long, for a busy machine."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while not condition():
        assert time.monotonic() < deadline, screen(pilot)
        await pilot.pause(pause)
        pause = min(pause * 1.5, 0.1)  # most conditions draw the screen, which takes time


def screen(pilot: Pilot[SessionResult]) -> str:
    """Return the drawn screen as text."""
    width, height = pilot.app.size
    return (
        "\n".join(
            "".join(segment.text for segment in line)
            for line in pilot.app.screen._compositor.render_strips()
        )
        if width and height
        else ""
    )


def words(pilot: Pilot[SessionResult]) -> str:
    """Return the drawn screen as text without line breaks."""
    return " ".join(screen(pilot).split())


class Clock:
    """A clock whose time changes only when a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@contextlib.contextmanager
def terminal(arguments: list[str], cwd: Path, **environment: str) -> Iterator[tuple[int, int]]:
    """Run Python in a pseudo-terminal of 80 x 24. Yield its pid and the terminal's descriptor."""
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        path = os.pathsep.join([str(pack_reader.TRAINER.parent), str(ROOT)])
        os.execve(
            sys.executable,
            [sys.executable, *arguments],
            {**os.environ, "PYTHONPATH": path, "TERM": "xterm-256color", **environment},
        )
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield pid, end
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.close(end)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def read_until(end: int, done: Callable[[str], bool], seconds: float = 60.0) -> str:
    """Return the drawn text when `done` is true for it, or when the program closes the terminal."""
    seen = b""
    deadline = time.monotonic() + seconds
    while not done(seen.decode("utf-8", "replace")):
        if not select.select([end], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"not drawn: {seen[-2000:]!r}")
        try:
            part = os.read(end, 1 << 16)
        except OSError:
            part = b""
        if not part:
            break
        seen += part
    return seen.decode("utf-8", "replace")
