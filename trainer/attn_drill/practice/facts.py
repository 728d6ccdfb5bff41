"""Define the facts of the journal. A fact never changes, but a later fact may overrule it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from attn_drill.model.checks import Status, Verdict

Rating = Annotated[int, Meta(ge=1, le=4)]  # again, hard, good, easy
Purpose = Literal["practice", "review", "interview", "hunt"]
# The year 5138. A review is due at most 100 years later, and datetime ends with the year 9999.
Time = Annotated[float, Meta(ge=0, le=1e11)]


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """A thing that happened."""

    subject: str  # the id of a challenge, an item or an interview
    at: Time  # seconds since the epoch
    # Random, so that journals can be merged in any order, any number of times.
    id: str = msgspec.field(default_factory=lambda: os.urandom(12).hex())


class Started(Fact, tag="started", frozen=True, kw_only=True):
    """The stub of a challenge was handed out, at this path."""

    path: str
    level: str = "standard"


class Resumed(Fact, tag="resumed", frozen=True):
    """A start continued with the file that was there. Clock and hints stay."""


class Attempted(Fact, tag="attempted", frozen=True, kw_only=True):
    """A file was graded."""

    seed: int
    verdict: Verdict
    source: str = ""
    checks: Mapping[str, Status] = {}
    # The time at work since the stub was handed out; None without a stub.
    seconds: Time | None = None
    hints: int = 0
    solution: bool = False
    purpose: Purpose = "practice"
    # `counted_attempts` takes them from `Diagnosed`.
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
    """

    # `rated_reviews` puts the rating of an overrule in its place.
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
    """An interview began. Its events have the id of this fact. The subject is empty."""

    plan: dict[str, Any]


class InterviewEvent(Fact, frozen=True, kw_only=True):
    """Something that happened in an interview."""

    interview: str  # the id of its `InterviewBegan`


class StageEvent(InterviewEvent, frozen=True, kw_only=True):
    """Something that happened in a problem of an interview. The subject is the challenge."""

    # The time at work on the problem so far, so that a kill loses little of it; 0 if unknown.
    seconds: Time = 0.0


class StageBegan(StageEvent, tag="stage-began", frozen=True):
    """The file of a problem was handed out, in the folder of the interview."""


class StageAttempted(StageEvent, tag="stage-attempted", frozen=True, kw_only=True):
    """A text was graded."""

    verdict: Verdict
    passed: int
    total: int
    failed: tuple[str, ...] = ()
    bugs_left: int | None = None
    # 0 for an unfinished file. Old journals have one event for all attempts of a session.
    count: int = 1


class StageReplaced(StageEvent, tag="stage-replaced", frozen=True):
    """The text of the last attempt was replaced within seconds, so the attempt does not count."""


class StageRepaired(StageEvent, tag="stage-repaired", frozen=True, kw_only=True):
    """The diagnosis of the last attempt tells how many planted mistakes are left."""

    bugs_left: int


class StageHinted(StageEvent, tag="stage-hinted", frozen=True, kw_only=True):
    """A hint was shown."""

    level: int


class MistakeShown(StageEvent, tag="mistake-shown", frozen=True, kw_only=True):
    """The likely mistake was shown. In old journals one event may stand for several times."""

    count: int = 1


class StageLeft(StageEvent, tag="stage-left", frozen=True):
    """The learner left the screen of the problem."""


class StageEnded(StageEvent, tag="stage-ended", frozen=True, kw_only=True):
    """The learner handed in the file, and the problem is over."""

    code: str | None
    # A sentence if nothing was handed in, or if the file could not be graded.
    note: str
    reference_seen: bool


class QuestionEvent(InterviewEvent, frozen=True, kw_only=True):
    """Something that happened while questions were asked."""

    seconds: Time


class QuestionAnswered(QuestionEvent, tag="question-answered", frozen=True, kw_only=True):
    """The learner rated the own answer to a question. The subject is the item of the question."""

    rating: Rating


class QuestionsLeft(QuestionEvent, tag="questions-left", frozen=True):
    """The learner left the questions. The subject is empty."""


class InterviewFinished(InterviewEvent, tag="interview-finished", frozen=True):
    """All problems and questions of the interview are over. The subject is empty."""


AnyInterviewEvent = (
    StageBegan
    | StageAttempted
    | StageReplaced
    | StageRepaired
    | StageHinted
    | MistakeShown
    | StageLeft
    | StageEnded
    | QuestionAnswered
    | QuestionsLeft
    | InterviewFinished
)
INTERVIEW_EVENTS: tuple[type[InterviewEvent], ...] = get_args(AnyInterviewEvent)

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
    | AnyInterviewEvent
)
