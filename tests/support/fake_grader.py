"""A grading process that is none: it answers at once what the text says, so that tests of the screen need no torch."""

import asyncio
from collections.abc import AsyncIterator

from trainer.model.challenge import Mistake
from trainer.model.report import Diagnosis, Frame, Outcome, Report, Trace
from trainer.server.client import AsyncClient
from trainer.server.messages import (
    Grade,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Traced,
    TraceLines,
    Verdict,
)

MISTAKE = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why sqrt?")


def report_on(challenge: str, file: str, source: str, seed: int) -> Report:
    """Passed where the text says `right`, unfinished where it says `half`; else failed, with a known mistake in line 3."""
    if "half" in source:
        lost = Outcome(
            "loads", "failed", "SyntaxError: '(' was never closed", frames=(Frame(12, "", "x = ("),)
        )
        words = "does not parse: line 12, '(' was never closed"
        return Report(
            challenge, file, seed, "error", (lost, Outcome("values", "skipped")), unfinished=words
        )
    if "right" in source:
        return Report(
            challenge,
            file,
            seed,
            "passed",
            (Outcome("loads", "passed"), Outcome("values", "passed")),
        )
    found = Diagnosis(mistakes=(MISTAKE,), first_line=Frame(3, "forward", "scores = q @ k"))
    return Report(
        challenge,
        file,
        seed,
        "failed",
        (Outcome("loads", "passed"), Outcome("values", "failed", "3 of 4 values differ")),
        diagnosis=found,
    )


class FakeGrader(AsyncClient):
    """Answers in the order of the orders. A text that says `slow` is never answered; one that says `crash` ends the process, and `explode` the screen."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.closed = False
        self._answers: asyncio.Queue[Reply | None] = asyncio.Queue()
        self._answers.put_nowait(Ready())

    def send(self, request: Request) -> bool:
        """Answer a request."""
        self.requests.append(request)
        match request:
            case Prepare():
                pass
            case Grade(submission=submission) if "explode" in submission.source:
                raise ZeroDivisionError("a fault of ours")
            case Grade(submission=submission) if "crash" in submission.source:
                self._answers.put_nowait(None)
            case Grade(submission=submission) if "slow" in submission.source:
                pass
            case Grade(id=number, submission=submission) if "refused" in submission.source:
                self._answers.put_nowait(Refused(number, "No verdict can be given."))
            case Grade(id=number, challenge=challenge, submission=submission):
                report = report_on(challenge, submission.name, submission.source, number)
                self._answers.put_nowait(Verdict(number, report))
            case TraceLines(id=number):
                self._answers.put_nowait(Traced(number, Trace(None, 1, 7, ())))  # type: ignore[arg-type]  # not drawn
        return True

    def say(self, answer: Reply) -> None:
        """Answer what nobody asked."""
        self._answers.put_nowait(answer)

    async def replies(self) -> AsyncIterator[Reply]:
        """What was answered."""
        while (answer := await self._answers.get()) is not None:
            yield answer

    def last_words(self) -> str:
        """Nothing was said."""
        return "it fell over"

    def close(self) -> None:
        """Nothing to end."""
        self.closed = True
