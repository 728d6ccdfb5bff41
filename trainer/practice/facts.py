"""Define the facts of the journal: one record for each thing that happened.

A fact never changes. A later fact may overrule it: `Replaced` an attempt, `Overruled` a review.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trainer.model.checks import Status, Verdict

Rating = Annotated[int, Meta(ge=1, le=4)]  # again, hard, good, easy
Purpose = Literal["practice", "review", "interview", "hunt"]
# The year 5138. A review is due at most 100 years later, and datetime ends with the year 9999.
Time = Annotated[float, Meta(ge=0, le=1e11)]


def _new_id() -> str:
    return os.urandom(12).hex()


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """A thing that happened.

    Attributes:
        subject: The id of the challenge, the item or the interview that the fact is about.
        at: The time in seconds since the epoch.
        id: A random id, so that journals can be merged in any order, any number of times.
    """

    subject: str
    at: Time
    id: str = msgspec.field(default_factory=_new_id)


class Started(Fact, tag="started", frozen=True, kw_only=True):
    """The stub of a challenge was handed out, at this path."""

    path: str
    level: str = "standard"


class Resumed(Fact, tag="resumed", frozen=True):
    """A start continued with the file that was there. Clock and hints stay."""


class Attempted(Fact, tag="attempted", frozen=True, kw_only=True):
    """A file was graded.

    Attributes:
        seed: The seed of the cases.
        verdict: The verdict.
        source: The text of the file.
        checks: Each check that was due, with its status.
        seconds: The time at work since the stub was handed out; None without a stub.
        hints: The highest level of the hints that were shown since then.
        solution: True if the reference was shown.
        purpose: The mode in which the attempt was made.
        mistakes: The ids of the named mistakes. `progress.attempts` takes them from `Diagnosed`.
    """

    seed: int
    verdict: Verdict
    source: str = ""
    checks: Mapping[str, Status] = {}
    seconds: Time | None = None
    hints: int = 0
    solution: bool = False
    purpose: Purpose = "practice"
    mistakes: tuple[str, ...] = ()

    @property
    def challenge(self) -> str:
        """The id of the challenge."""
        return self.subject


class Replaced(Fact, tag="replaced", frozen=True, kw_only=True):
    """The text of an attempt was replaced within seconds, so the attempt does not count."""

    attempt: str


class Diagnosed(Fact, tag="diagnosed", frozen=True, kw_only=True):
    """An attempt showed known mistakes, the first of them in this line of its file."""

    attempt: str
    mistakes: tuple[str, ...]
    line: int | None


class Hinted(Fact, tag="hinted", frozen=True, kw_only=True):
    """A hint was shown."""

    level: int


class Revealed(Fact, tag="revealed", frozen=True):
    """The reference was shown."""


class Reviewed(Fact, tag="reviewed", frozen=True, kw_only=True):
    """An item was reviewed.

    The subject is `challenge:ID`, `question:ID`, `line:ID:MISTAKE` or `follow-up:ID:NUMBER`.

    Attributes:
        rating: The rating. `progress.reviews` puts the rating of an overrule in its place.
        reason: The reason for the first rating.
    """

    rating: Rating
    reason: str = ""

    @property
    def item(self) -> str:
        """The name of the item."""
        return self.subject


class Overruled(Fact, tag="overruled", frozen=True, kw_only=True):
    """The learner gave a review another rating."""

    review: str
    rating: Rating


class Hunted(Fact, tag="hunted", frozen=True, kw_only=True):
    """A reference with known mistakes was handed out for repair, at this path."""

    mistakes: tuple[str, ...]
    path: str


class InterviewBegan(Fact, tag="interview", frozen=True, kw_only=True):
    """An interview began. The id of the fact is the subject of the interview's events."""

    plan: dict[str, Any]


class InterviewEvent(Fact, tag="event", frozen=True, kw_only=True):
    """An event of an interview."""

    event: str
    data: dict[str, Any]


AnyFact = (
    Started
    | Resumed
    | Attempted
    | Replaced
    | Diagnosed
    | Hinted
    | Revealed
    | Reviewed
    | Overruled
    | Hunted
    | InterviewBegan
    | InterviewEvent
)
