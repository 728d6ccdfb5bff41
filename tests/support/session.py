"""Helpers for tests of the session. As a program: a session on the file of the argument."""

from __future__ import annotations

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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

from attn_drill.exercises.interview import InterviewPlan, Stage
from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, Frame, Outcome, Report, Trace
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import InterviewBegan, Started
from attn_drill.practice.journal import Journal, home
from attn_drill.server.clients import AsyncClient
from attn_drill.server.messages import (
    Grade,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Teach,
    Traced,
    TraceLines,
    Verdict,
)
from attn_drill.session._drill_app import DrillApp
from attn_drill.session._practice_model import PracticeModel
from attn_drill.session._practice_screen import GradingLink, PracticeScreen
from attn_drill.session._session_record import SessionRequest, Sitting
from attn_drill.session.interviews import Interview
from tests.support.paths import ROOT, SOURCE

MISTAKE = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why sqrt?")


def report_on(challenge: str, file: str, source: str, seed: int) -> Report:
    """Return a report whose verdict depends on the text.

    A text with `half` is unfinished, a text with `right` passes. Any other text fails with a known
    mistake in line 3.
    """
    if "half" in source:
        failure = Outcome(
            "loads", "failed", "SyntaxError: '(' was never closed", frames=(Frame(12, "", "x = ("),)
        )
        return Report(
            challenge,
            file,
            seed,
            "error",
            (failure, Outcome("values", "skipped")),
            unfinished="does not parse: line 12, '(' was never closed",
        )
    if "right" in source:
        return Report(
            challenge,
            file,
            seed,
            "passed",
            (Outcome("loads", "passed"), Outcome("values", "passed")),
        )
    diagnosis = Diagnosis(mistakes=(MISTAKE,), first_line=Frame(3, "forward", "scores = q @ k"))
    return Report(
        challenge,
        file,
        seed,
        "failed",
        (Outcome("loads", "passed"), Outcome("values", "failed", "3 of 4 values differ")),
        diagnosis=diagnosis,
    )


class FakeGrader(AsyncClient):
    """A client that replies to requests in their order.

    A text with `slow` gets no reply, a text with `refused` gets no verdict. A text with `crash`
    ends the grading process, and a text with `explode` raises in the screen.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.closed = False
        self._replies: asyncio.Queue[Reply | None] = asyncio.Queue()
        self._replies.put_nowait(Ready())

    def send(self, request: Request) -> bool:
        """Reply to a request."""
        self.requests.append(request)
        match request:
            case Prepare():
                pass
            case Grade(submission=submission) if "explode" in submission.source:
                raise ZeroDivisionError("a fault of ours")
            case Grade(submission=submission) if "crash" in submission.source:
                self.end()
            case Grade(submission=submission) if "slow" in submission.source:
                pass
            case Grade(id=request_id, submission=submission) if "refused" in submission.source:
                self._replies.put_nowait(Refused(request_id, "No verdict can be given."))
            case Grade(id=request_id, challenge=challenge, submission=submission):
                report = report_on(challenge, submission.name, submission.source, request_id)
                self._replies.put_nowait(Verdict(request_id, report))
            case TraceLines(id=request_id):
                trace = Trace(None, 1, 7, ())  # type: ignore[arg-type]  # tests do not draw it
                self._replies.put_nowait(Traced(request_id, trace))
        return True

    def say(self, reply: Reply) -> None:
        """Send a reply without a request."""
        self._replies.put_nowait(reply)

    def end(self) -> None:
        """End the grading process."""
        self._replies.put_nowait(None)

    async def replies(self) -> AsyncIterator[Reply]:
        """Yield the replies until the process ends."""
        while (reply := await self._replies.get()) is not None:
            yield reply

    def last_words(self) -> str:
        """Return the last line on stderr of the process."""
        return "it fell over"

    def close(self) -> None:
        """Note that the client was closed."""
        self.closed = True


class Practice:
    """A session that began five minutes after the start of the challenge.

    Attributes:
        model: the model of the session.
        clock: its clock, which only the test moves.
        sent: the requests to the grader.
    """

    def __init__(self, path: Path, home: Path, **options: Any) -> None:
        self.path, self.clock, self.sent = path, Clock(), list[Request]()
        journal = Journal(home)
        journal.add(Started("gqa", self.clock() - 300, path=str(path)))
        request = request_on(path, **{"seconds_before": 300.0, **options})
        self.model = PracticeModel(request, journal, self.sent.append, self.clock, self.clock)
        self.model.reply(Ready())

    @property
    def grades(self) -> list[Grade]:
        """The requests for a verdict."""
        return [request for request in self.sent if isinstance(request, Grade)]

    @property
    def lessons(self) -> list[Teach]:
        """The requests for a lesson."""
        return [request for request in self.sent if isinstance(request, Teach)]

    def write(self, text: str) -> None:
        """Save a text. The grader has no reply yet."""
        self.path.write_text(text)
        self.model.look()

    def save(self, text: str) -> Report:
        """Save a text, and let the grader reply at once."""
        self.write(text)
        return self.answer()

    def answer(self) -> Report:
        """Let the grader reply to the last request with a verdict."""
        request = self.grades[-1]
        report = report_on("gqa", "gqa.py", request.submission.source, request.id)
        self.model.reply(Verdict(request.id, report))
        return report

    def press(self, *names: str) -> None:
        """Run these actions as the screen does."""
        for name in names:
            self.model.status = self.model.refusal(name)
            if not self.model.status:
                self.model.press(name)

    def shown(self) -> list[str]:
        """Return the keys of the line of keys."""
        return [key for key, _ in self.model.shown_keys()]

    def label(self, key: str) -> str:
        """Return the label of a key that is shown."""
        return dict(self.model.shown_keys())[key]


T = TypeVar("T")
PACK = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(PACK, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "scores = scores * 1")


def request_on(path: Path, **options: Any) -> SessionRequest:
    """Return the request of a session on a file of the learner, with these fields."""
    before, par = options.pop("seconds_before", 0.0), options.pop("par_seconds", 1200.0)
    return SessionRequest(GQA, path, pack_reader.prompt(GQA), before, par, **options)


def screen_on(
    path: Path, home: Path, connect: Callable[[], AsyncClient] = FakeGrader, **options: Any
) -> PracticeScreen:
    """Return the screen of a session on this file, by default with a fake grading process.

    `options` has the clock, and fields of `SessionRequest`.
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


CHALLENGES = {
    challenge.id: challenge for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
}
SIZES = [(120, 40), (80, 24), (50, 20), (40, 10)]


def interview(tmp_path: Path, home: Path, question_count: int = 1) -> Interview:
    """Return an interview of two problems, before its first page."""
    stages = (Stage("sdpa", "warm-up", 600.0), Stage("gqa", "main problem", 1000.0))
    questions = tuple(
        FollowUp("gqa", number, f"Why is number {number} so?", f"Because of {number}.")
        for number in range(1, question_count + 1)
    )
    items = tuple(question.item for question in questions)
    plan = InterviewPlan(30, 1, stages, items, str(tmp_path / "stubs"))
    journal = Journal(home)
    interview_id = journal.add(InterviewBegan("", 1.0, plan=asdict(plan)))
    return Interview(
        interview_id, 1.0, plan, questions, CHALLENGES, journal, wall=lambda: 2.0, clock=Clock()
    )


OPENING = "Stage 1 of 2, warm-up.\n\nThe clock starts when you press Enter."


def sitting(events: list[tuple[str, dict[str, Any]]] | None = None) -> Sitting:
    """Return the first of two problems, with half an hour left. `events` gets each event."""
    kept = [] if events is None else events

    def record(kind: type, **values: Any) -> None:
        kept.append((kind.__name__, values))

    return Sitting(1, 2, 1800.0, OPENING, record)


if __name__ == "__main__":
    DrillApp(screen_on(Path(sys.argv[1]), home(dict(os.environ)))).run()
