"""The request for a practice session, and its result.

This module imports no Textual, so that any module can import it quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.packs.pack_reader import built_in_pack
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Purpose
from attn_drill.report.words import Stage

__all__ = ["Ending", "Purpose", "SessionRequest", "SessionResult", "Sitting"]

Ending = Literal["quit", "next", "interrupted"]


@dataclass(frozen=True)
class Sitting:
    """The place of a session in a mock interview."""

    stage_number: int  # from 1
    stage_count: int
    # Of the whole interview when the session begins; negative if the time is up.
    seconds_left: float
    opening: str  # the text of the opening page
    # Records an event of this problem, from its type and its values.
    record: Callable[..., None]


@dataclass(frozen=True)
class SessionRequest:
    """A challenge to practise in a session, and the rules of the session."""

    challenge: Challenge
    path: Path  # absolute
    prompt: str  # Markdown
    seconds_before: float
    # The limit next to the clock: the par time, or the time that an interview leaves.
    par_seconds: float
    # How much of the diagnosis a report shows at once. The key w shows more.
    stage: Stage = "cause"
    purpose: Purpose = "practice"
    # The folders of all known packs. A submission sees none of them.
    packs: tuple[Path, ...] = field(default_factory=lambda: (built_in_pack(),))
    challenges: tuple[Challenge, ...] = ()  # in the order of the packs
    language: str = "en"
    # In an interview the clock starts when the learner closes the opening page.
    sitting: Sitting | None = None
    # The text that was handed out, if it is no stub. It is not graded.
    untouched: str = ""
    # The ids of the mistakes of a bug hunt. A pass shows them.
    hunted: tuple[str, ...] = ()
    # False if nothing is graded before the learner hands in.
    is_graded: bool = True
    # The level that the learner asked for, if the file that is there has another.
    level: Level | None = None


@dataclass(frozen=True)
class SessionResult:
    """The result of a session."""

    ending: Ending  # "interrupted" after Ctrl-C
    passed: bool
    seconds: float
    attempts: int
    graded: str | None = None  # the text with the last verdict
