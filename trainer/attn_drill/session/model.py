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
from attn_drill.report.stages import Stage

__all__ = ["Ending", "Purpose", "SessionRequest", "SessionResult", "Sitting"]

Ending = Literal["quit", "next", "interrupted"]


@dataclass(frozen=True)
class Sitting:
    """The place of a session in a mock interview.

    Attributes:
        stage_number: the number of this problem, from 1.
        stage_count: the number of all problems.
        seconds_left: the time left of the whole interview when the session begins; negative if the
            time is up.
        opening: the text of the opening page.
        record: records an event of this problem. It gets the type of the event, and its values.
    """

    stage_number: int
    stage_count: int
    seconds_left: float
    opening: str
    record: Callable[..., None]


@dataclass(frozen=True)
class SessionRequest:
    """A challenge to practise in a session, and the rules of the session.

    Attributes:
        challenge: the challenge.
        path: the absolute path of the learner's file.
        prompt: the task, in Markdown.
        seconds_before: the seconds that were spent on the challenge before this session.
        par_seconds: the limit next to the clock: the par time, or the time that an interview
            leaves.
        stage: how much of the diagnosis a report shows at once. The key w shows more.
        purpose: the purpose of the attempts.
        packs: the folders of all known packs. The challenge is looked up in them, and a submission
            sees none of them.
        challenges: all known challenges, in the order of the packs.
        language: the language of prompts and follow-up questions.
        sitting: the place in an interview, or None. In an interview the clock starts when the
            learner presses Enter on the opening page.
        untouched: the text that was handed out, if it is no stub. It is not graded.
        hunted: the ids of the mistakes of a bug hunt. A pass shows them.
        is_graded: every save is graded. Otherwise nothing is graded before the learner hands in.
        level: a level that the learner asked for, but the file that is there has another; or None.
    """

    challenge: Challenge
    path: Path
    prompt: str
    seconds_before: float
    par_seconds: float
    stage: Stage = "cause"
    purpose: Purpose = "practice"
    packs: tuple[Path, ...] = field(default_factory=lambda: (built_in_pack(),))
    challenges: tuple[Challenge, ...] = ()
    language: str = "en"
    sitting: Sitting | None = None
    untouched: str = ""
    hunted: tuple[str, ...] = ()
    is_graded: bool = True
    level: Level | None = None


@dataclass(frozen=True)
class SessionResult:
    """The result of a session.

    Attributes:
        ending: `next` if the learner goes on to the next challenge or stage, `interrupted` after
            Ctrl-C, else `quit`.
        passed: the learner's file passed.
        seconds: the seconds spent on the challenge, with those before the session.
        attempts: how many attempts count.
        graded: the text with the last verdict, or None.
    """

    ending: Ending
    passed: bool
    seconds: float
    attempts: int
    graded: str | None = None
