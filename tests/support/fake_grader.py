"""A grading process without torch, whose replies depend on words in the submission."""

import asyncio
from collections.abc import AsyncIterator

from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, Frame, Outcome, Report, Trace
from attn_drill.server.clients import AsyncClient
from attn_drill.server.messages import (
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
