"""A place in an interview whose recorder only keeps what it was told."""

from typing import Any

from trainer.model.report import Report
from trainer.session.model import Sitting


class KeepingRecorder:
    """Keeps the events of a problem of an interview."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def attempted(self, report: Report, source: str, seconds: float) -> None:
        """Keep a verdict."""
        self.events.append(("attempted", report.verdict, source, seconds))

    def replaced(self) -> None:
        """Keep that the last attempt does not count."""
        self.events.append(("replaced",))

    def repaired(self, bugs_left: int) -> None:
        """Keep how many bugs are left."""
        self.events.append(("repaired", bugs_left))

    def hinted(self, level: int, seconds: float) -> None:
        """Keep a hint."""
        self.events.append(("hinted", level, seconds))

    def revealed(self, seconds: float) -> None:
        """Keep that the likely mistake was shown."""
        self.events.append(("revealed", seconds))

    def left(self, seconds: float) -> None:
        """Keep that the learner left."""
        self.events.append(("left", seconds))


OPENING = "Stage 1 of 2, warm-up.\n\nThe clock starts when you press Enter."


def sitting() -> Sitting:
    """Return the first of two problems, with half an hour left."""
    return Sitting(1, 2, 1800.0, OPENING, KeepingRecorder())
