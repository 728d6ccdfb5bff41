"""A grading process that is none: it answers at once what the text says, so that tests of the screen need no torch."""

import asyncio
from collections.abc import AsyncIterator

from trainer.core.report import Diagnosis, Frame, Outcome, Report, Trace
from trainer.core.words import Mistake
from trainer.grading.wire import (
    Answer,
    Grade,
    Look,
    Order,
    Prepare,
    Ready,
    Refused,
    Traced,
    Verdict,
)
from trainer.session.client import WarmGrader

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


class FakeGrader(WarmGrader):
    """Answers in the order of the orders. A text that says `slow` is never answered; one that says `crash` ends the process, and `explode` the screen."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.closed = False
        self._answers: asyncio.Queue[Answer | None] = asyncio.Queue()
        self._answers.put_nowait(Ready())

    def order(self, order: Order) -> bool:
        """Answer it."""
        self.orders.append(order)
        if isinstance(order, Grade) and "explode" in order.source:
            raise ZeroDivisionError("a fault of ours")
        match order:
            case Prepare():
                pass
            case Grade(source=source) if "crash" in source:
                self._answers.put_nowait(None)
            case Grade(source=source) if "slow" in source:
                pass
            case Grade(number=number, source=source) if "refused" in source:
                self._answers.put_nowait(Refused(number, "No verdict can be given."))
            case Grade(number=number, challenge=challenge, file=file, source=source):
                self._answers.put_nowait(
                    Verdict(number, report_on(challenge, file, source, number), final=True)
                )
            case Look(number=number):
                self._answers.put_nowait(Traced(number, Trace(None, 1, 7, ())))  # type: ignore[arg-type]  # not drawn
        return True

    def say(self, answer: Answer) -> None:
        """Answer what nobody asked."""
        self._answers.put_nowait(answer)

    async def answers(self) -> AsyncIterator[Answer]:
        """What was answered."""
        while (answer := await self._answers.get()) is not None:
            yield answer

    def last_words(self) -> str:
        """Nothing was said."""
        return "it fell over"

    def close(self) -> None:
        """Nothing to end."""
        self.closed = True
