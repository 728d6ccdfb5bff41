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
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from attn_drill.server.clients import AsyncClient
from attn_drill.session._drill_app import DrillApp
from attn_drill.session._practice_model import PracticeModel
from attn_drill.session._practice_screen import GradingLink, PracticeScreen
from attn_drill.session._session_record import SessionRequest
from tests.support.fake_grader import FakeGrader
from tests.support.paths import ROOT, SOURCE

T = TypeVar("T")
PACK = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(PACK, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "scores = scores * 1")


def request_on(path: Path, **options: Any) -> SessionRequest:
    """Return the request of a session on a file of the learner.

    Args:
        path: the learner's file.
        options: fields of `SessionRequest`.
    """
    before, par = options.pop("seconds_before", 0.0), options.pop("par_seconds", 1200.0)
    return SessionRequest(GQA, path, pack_reader.prompt(GQA), before, par, **options)


def screen_on(
    path: Path, home: Path, connect: Callable[[], AsyncClient] = FakeGrader, **options: Any
) -> PracticeScreen:
    """Return the screen of a session on this file.

    Args:
        path: the learner's file.
        home: the folder of the journal.
        connect: starts a grading process; by default a fake process.
        options: the clock, and fields of `SessionRequest`.
    """
    journal = Journal(home)
    clock = options.pop("clock", time.monotonic)
    if "purpose" not in options:
        journal.add(Started("gqa", time.time() - 60, path=str(path)))
    link = GradingLink("gqa", connect)
    model = PracticeModel(request_on(path, **options), journal, link.send, clock=clock)
    return PracticeScreen(model, link)


def drive(
    screen: Screen[T],
    script: Callable[[Pilot[Any]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
) -> T | None:
    """Show a screen without a terminal, let the script drive it, and return its result."""
    app = DrillApp(screen)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())
    result: T | None = app.return_value
    return result


async def until(pilot: Pilot[Any], condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until `condition()` holds. The default time is long, for a busy machine."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while not condition():
        assert time.monotonic() < deadline, screen(pilot)
        await pilot.pause(pause)
        pause = min(pause * 1.5, 0.1)  # most conditions draw the screen, which takes time


def screen(pilot: Pilot[Any]) -> str:
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


def words(pilot: Pilot[Any]) -> str:
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
        path = os.pathsep.join([str(SOURCE), str(ROOT)])
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
