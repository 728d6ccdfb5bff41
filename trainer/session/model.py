"""The door to a practice session: what it is given, and what came of it. No Textual here, so that it costs nothing to name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trainer.model.challenge import Challenge
from trainer.model.report import Report
from trainer.packs.pack_reader import built_in_pack
from trainer.practice.record_attempt import Purpose

__all__ = ["Purpose", "SessionRequest", "SessionResult", "Sitting"]


@dataclass(frozen=True)
class Sitting:
    """The place of a stay in an interview.

    number         of this problem, from 1; `count`: of all problems
    seconds_left   of the whole interview when the stay begins; below 0 when its time is up
    opening        what the opening page says, in lines
    """

    number: int
    count: int
    seconds_left: float
    opening: str


@dataclass(frozen=True)
class SessionRequest:
    """What is practised, and how.

    path             the learner's file, absolute
    seconds_before   already spent on it
    par_seconds      what the clock runs against: the par time, or what an interview leaves
    why              whether the likely mistake is named at once; else only when asked
    packs            all known packs: the challenge is looked up in them, and what is graded sees none of them
    sitting          in an interview: its opening page waits for Enter, and the clock starts then
    """

    challenge: Challenge
    path: Path
    prompt: str
    seconds_before: float
    par_seconds: float
    why: bool = True
    purpose: Purpose = "practice"
    packs: tuple[Path, ...] = field(default_factory=lambda: (built_in_pack(),))
    sitting: Sitting | None = None


@dataclass(frozen=True)
class SessionResult:
    """What came of a stay.

    how       `next` goes on to what comes next, `interrupted` is Ctrl-C
    seconds   includes those before
    last      the last verdict, and `source` the text that it is on
    """

    how: Literal["quit", "next", "interrupted"]
    passed: bool
    seconds: float
    attempts: int
    hints: int
    whys: int
    last: Report | None = None
    source: str | None = None
