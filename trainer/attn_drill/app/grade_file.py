"""Grade a file with a grading server, and record the attempt. torch is not imported here."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Lesson, Report, Trace
from attn_drill.model.words import plural
from attn_drill.practice import facts
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, progress_of, since_start
from attn_drill.practice.schedule import RATINGS, grade, item_of
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
_GOOD_HUNT_ATTEMPTS = 2  # the most attempts of a hunt that is graded good


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
    attempts = journal.facts(facts.Attempted, subject=challenge.id)
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
        importlib.import_module("attn_drill.report.terminal")
        importlib.import_module("fsrs")
        report = _answer(server, request, Verdict).report
        lesson = Teach(request.challenge, request.submission, request.seed or 0)
        yield report, lambda: _answer(server, lesson, Taught).lesson


def grade_file(packs: KnownPacks, request: Grade) -> Report:
    """Return the report of one file."""
    with graded_file(packs, request) as (report, _):
        return report


def ask_server(packs: KnownPacks, request: Request, kind: type[T]) -> T:
    """Return the reply of a grading server of its own, or raise the error that it reports."""
    with _server(packs) as server:
        return _answer(server, request, kind)


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
    return ask_server(packs, TraceLines(challenge.id, answer, seed, case), Traced).trace


def hunted_mistakes(journal: Journal, challenge: Challenge, path: Path) -> tuple[str, ...]:
    """Return the ids of the mistakes that a hunt put into this file; () for any other file."""
    hunt = journal.last(facts.Hunted, subject=challenge.id)
    return hunt.mistakes if hunt and Path(hunt.path) == path.resolve() else ()


@dataclass(frozen=True)
class RecordedAttempt:
    """The ids of the journal entries for one report, and the grade in words."""

    attempt: str | None  # None for an unfinished file, which the journal does not keep
    review: str | None = None  # of the first pass since the stub or the hunt was handed out
    graded: str = ""


def write_attempt(
    journal: Journal,
    challenge: Challenge,
    report: Report,
    source: str,
    now: float,
    seconds: float | None,
    purpose: facts.Purpose,
) -> RecordedAttempt:
    """Record a verdict, unless the file is unfinished. Grade the first pass since the last start.

    A hunt is a light review: its first pass is graded too, but only if the challenge itself was
    passed before. `record_diagnosis` may add the mistakes and the line later. If `seconds` is None,
    the journal's own count is the time at work until now.
    """
    if report.unfinished:
        return RecordedAttempt(None)
    history = journal.facts(subject=challenge.id)
    since = since_start(history, in_interview=purpose == "interview")
    if seconds is None and since.started_at is not None:
        seconds = since.seconds_at(now)
    graded: tuple[facts.Rating, str] | None = None
    if report.verdict == "passed" and purpose == "hunt":
        graded = _grade_of_hunt(history)
    elif report.verdict == "passed" and not since.passed:
        graded = 3, "no stub was handed out"
        if seconds is not None:
            graded = grade(since, seconds, challenge.minutes * 60.0)
    attempt = journal.add(
        facts.Attempted(
            challenge.id,
            now,
            seed=report.seed or 0,
            verdict=report.verdict,
            source=source,
            checks=report.statuses(),
            seconds=seconds,
            hints=since.hint,
            solution=since.solution,
            purpose=purpose,
        )
    )
    if graded is None:
        return RecordedAttempt(attempt)
    rating, reason = graded
    review = journal.add(facts.Reviewed(item_of(challenge.id), now, rating=rating, reason=reason))
    return RecordedAttempt(attempt, review, f"graded {RATINGS[rating - 1]}: {reason}")


def _grade_of_hunt(history: Sequence[facts.Fact]) -> tuple[facts.Rating, str] | None:
    """Return the grade of the first pass of a hunt of a challenge and the reason, or None."""
    starts = [fact.at for fact in history if isinstance(fact, facts.Hunted | facts.StageBegan)]
    begun = max(starts, default=0.0)
    verdicts = [
        attempt.verdict
        for attempt in counted_attempts(history)
        if attempt.purpose == "hunt" and attempt.at >= begun
    ]
    was_solved = any(progress.state == "passed" for progress in progress_of(history).values())
    # The review of a challenge that was never passed begins with a pass from the stub.
    if "passed" in verdicts or not was_solved:
        return None
    attempts = len(verdicts) + 1
    reason = f"bug hunt, {plural(attempts, 'attempt')}"
    return (3 if attempts <= _GOOD_HUNT_ATTEMPTS else 2), reason


def record_diagnosis(journal: Journal, attempt: str | None, report: Report, now: float) -> None:
    """Record the mistakes and the line that the report of an attempt names, if there are any."""
    diagnosis = report.diagnosis
    if diagnosis is not None and attempt is not None:
        journal.add(
            facts.Diagnosed(
                report.challenge,
                now,
                attempt=attempt,
                mistakes=tuple(mistake.id for mistake in diagnosis.mistakes),
                line=diagnosis.first_line.line if diagnosis.first_line else None,
            )
        )


def record_attempt(
    journal: Journal,
    challenge: Challenge,
    report: Report,
    source: str,
    purpose: facts.Purpose,
    now: float | None = None,
    seconds: float | None = None,
) -> str:
    """Record a complete report, unless the file is unfinished.

    Return the grade of the pass with its reasons, or "".
    """
    now = time.time() if now is None else now
    recorded = write_attempt(journal, challenge, report, source, now, seconds, purpose)
    record_diagnosis(journal, recorded.attempt, report, now)
    return recorded.graded
