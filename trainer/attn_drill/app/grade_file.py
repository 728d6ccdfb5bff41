"""Grade a file with a grading server, and record the attempt. torch is not imported here."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Lesson, Report, Trace
from attn_drill.practice.facts import Attempted, Hunted, Purpose
from attn_drill.practice.journal import Journal
from attn_drill.practice.record_attempt import record_diagnosis, write_attempt
from attn_drill.server.clients import ServerLostError, ServerProcess
from attn_drill.server.messages import (
    Grade,
    Prepare,
    Refused,
    Request,
    Taught,
    Teach,
    Traced,
    TraceLines,
    Verdict,
    refusal,
)

T = TypeVar("T")
MOST_SEED = (1 << 63) - 1


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_seed(seed: int) -> None:
    """Raise DrillError if no random generator takes this seed."""
    if not 0 <= seed <= MOST_SEED:
        raise DrillError(f"--seed is {seed}; it must be 0 to {MOST_SEED}.")


def check_system() -> None:
    """Raise GraderError if this system cannot fork a process."""
    if not hasattr(os, "fork"):
        raise GraderError(
            "Grading needs a system that can fork a process: "
            "Linux, macOS, or Windows' Linux subsystem (WSL)."
        )


def fresh_seed() -> int:
    """Return a random seed from 0 to 2**31 - 1."""
    return int.from_bytes(os.urandom(4), "little") >> 1


def last_seed(journal: Journal, challenge: Challenge) -> int:
    """Return the seed of the last attempt, or a fresh seed if there was no attempt."""
    attempts = journal.facts(Attempted, subject=challenge.id)
    seeds = [attempt.seed for attempt in attempts if attempt.purpose != "hunt"]
    return seeds[-1] if seeds else fresh_seed()


_started: list[ServerProcess] = []


def start_early() -> None:
    """Start a grading server that the first graded file of this process uses.

    The server imports torch while the command line is imported and read.
    """
    if hasattr(os, "fork"):
        _started.append(ServerProcess(None))


@contextmanager
def _server(packs: KnownPacks) -> Iterator[ServerProcess]:
    """Yield a grading server that hides all known packs from the submissions."""
    check_system()
    server = _started.pop() if _started else ServerProcess(None)
    server.greet(packs.roots())
    try:
        yield server
    finally:
        server.leave()


def _answer(server: ServerProcess, request: Request, kind: type[T]) -> T:
    """Return the server's reply, or raise the error that it reports."""
    try:
        reply = server.ask(request)
    except ServerLostError as error:
        raise GraderError(f"The grading process ended: {error}") from None
    if isinstance(reply, kind):
        return reply
    raise reply.error() if isinstance(reply, Refused) else GraderError(refusal(reply))


@contextmanager
def graded_file(packs: KnownPacks, request: Grade) -> Iterator[tuple[Report, Callable[[], Lesson]]]:
    """Grade one file with its own grading server, which stays open inside the block.

    Yield the report, and a function that returns the lesson about a file that passed. It takes a
    second or two.
    """
    with _server(packs) as server:
        # Meanwhile the server imports torch.
        for name in ("attn_drill.report.terminal", "attn_drill.app.start_challenge", "fsrs"):
            importlib.import_module(name)
        report = _answer(server, request, Verdict).report
        lesson = Teach(request.challenge, request.submission, request.seed or 0)
        yield report, lambda: _answer(server, lesson, Taught).lesson


def grade_file(packs: KnownPacks, request: Grade) -> Report:
    """Return the report of one file."""
    with graded_file(packs, request) as (report, _):
        return report


@contextmanager
def open_grader(
    packs: KnownPacks, challenge: Challenge
) -> Iterator[Callable[[Submission], Report]]:
    """Yield a function that grades answers to a challenge, each on fresh cases.

    Its grading server gets ready at once, while the learner reads.
    """
    with _server(packs) as server:
        server.send(Prepare(challenge.id))
        yield lambda answer: _answer(server, Grade(challenge.id, answer), Verdict).report


def trace_file(
    packs: KnownPacks, challenge: Challenge, answer: Submission, seed: int, case: int | None
) -> Trace:
    """Return the result of each line of a file on one case, by default the first that fails."""
    with _server(packs) as server:
        return _answer(server, TraceLines(challenge.id, answer, seed, case), Traced).trace


def record_attempt(
    journal: Journal, challenge: Challenge, report: Report, source: str, purpose: Purpose
) -> str:
    """Write a report to the journal, unless the file is unfinished.

    Return the grade of the pass with its reasons, or "".
    """
    now = time.time()
    recorded = write_attempt(journal, challenge, report, source, now, None, purpose)
    record_diagnosis(journal, recorded.attempt, report, now)
    return recorded.graded


def hunted_mistakes(journal: Journal, challenge: Challenge, path: Path) -> tuple[str, ...]:
    """Return the ids of the mistakes that a hunt put into this file; () for any other file."""
    hunt = journal.last(Hunted, subject=challenge.id)
    return hunt.mistakes if hunt and Path(hunt.path) == path.resolve() else ()
