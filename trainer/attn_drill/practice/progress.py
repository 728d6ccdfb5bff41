"""Answer questions about a learner's progress from the facts of the journal.

The functions are pure. The facts are in order of time, as `Journal.facts` returns them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from attn_drill.packs.catalogue import Route
from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Fact,
    Hinted,
    Overruled,
    Replaced,
    Resumed,
    Revealed,
    Reviewed,
    StageBegan,
    StageHinted,
    Started,
)

State = Literal["new", "started", "passed"]
_PAUSE_SECONDS = 15 * 60  # of a longer gap between two entries, this much counts as work


@dataclass(frozen=True)
class ChallengeProgress:
    """The progress in one challenge, with the numbers of attempts that count and of hints."""

    state: State = "new"
    attempts: int = 0
    hints: int = 0


@dataclass(frozen=True)
class SinceStart:
    """The events of a challenge since its stub was last handed out."""

    started_at: float | None = None
    last_at: float | None = None
    # The time at work until the last entry. A long gap without an entry counts as a pause.
    seconds: float = 0.0
    attempts: int = 0
    failed: int = 0
    passed: bool = False
    hint: int = 0  # the highest level that was shown
    solution: bool = False

    def seconds_at(self, now: float) -> float:
        """Return the seconds at work if the next entry is made now."""
        if self.last_at is None:
            return self.seconds
        # A clock that went backwards adds no time.
        return self.seconds + min(max(0.0, now - self.last_at), _PAUSE_SECONDS)


def path_of(facts: Iterable[Fact]) -> Path | None:
    """Return the path at which the stub was last handed out, or None."""
    paths = [fact.path for fact in facts if isinstance(fact, Started)]
    return Path(paths[-1]) if paths else None


def last_started(facts: Iterable[Fact]) -> str | None:
    """Return the id of the challenge that was started or resumed last, or None."""
    starts = [fact.subject for fact in facts if isinstance(fact, Started | Resumed)]
    return starts[-1] if starts else None


def counted_attempts(facts: Sequence[Fact]) -> list[Attempted]:
    """Return the attempts that count, with the mistakes that were named."""
    replaced = _replaced(facts)
    mistakes = {fact.attempt: fact.mistakes for fact in facts if isinstance(fact, Diagnosed)}
    return [
        msgspec.structs.replace(fact, mistakes=mistakes[fact.id]) if fact.id in mistakes else fact
        for fact in facts
        if isinstance(fact, Attempted) and fact.id not in replaced
    ]


def rated_reviews(facts: Sequence[Fact], *prefixes: str) -> list[Reviewed]:
    """Return the reviews of items that begin so, or of all items, with the ratings that count.

    The last overrule of a review counts, or else the first rating.
    """
    overruled = {fact.review: fact.rating for fact in facts if isinstance(fact, Overruled)}
    return [
        msgspec.structs.replace(fact, rating=overruled[fact.id]) if fact.id in overruled else fact
        for fact in facts
        if isinstance(fact, Reviewed) and fact.subject.startswith(prefixes or "")
    ]


def progress_of(facts: Sequence[Fact]) -> dict[str, ChallengeProgress]:
    """Return the progress in every challenge that was started, tried or hinted at.

    Skip the attempts of a hunt: the learner repairs a reference there, and writes none.
    """
    progress: dict[str, ChallengeProgress] = {}
    replaced = _replaced(facts)
    for fact in facts:
        before = progress.get(fact.subject, ChallengeProgress())
        if isinstance(fact, Started):
            state: State = "passed" if before.state == "passed" else "started"
            progress[fact.subject] = replace(before, state=state)
        elif isinstance(fact, Hinted):
            progress[fact.subject] = replace(before, hints=before.hints + 1)
        elif isinstance(fact, Attempted) and fact.purpose != "hunt" and fact.id not in replaced:
            state = "passed" if "passed" in (fact.verdict, before.state) else "started"
            progress[fact.subject] = replace(before, state=state, attempts=before.attempts + 1)
    return progress


def passed_challenges(facts: Sequence[Fact]) -> set[str]:
    """Return the ids of the challenges that were passed."""
    return {name for name, progress in progress_of(facts).items() if progress.state == "passed"}


def _replaced(facts: Iterable[Fact]) -> set[str]:
    """Return the ids of the attempts that do not count."""
    return {fact.attempt for fact in facts if isinstance(fact, Replaced)}


def since_start(facts: Sequence[Fact], *, in_interview: bool = False) -> SinceStart:
    """Return the events of one challenge since its last start; all if it was never started.

    Practice and the last interview are told apart, but a pass in an interview is a pass. Skip the
    attempts of a hunt.
    """
    start_kind = StageBegan if in_interview else Started
    start = max((fact.at for fact in facts if isinstance(fact, start_kind)), default=None)
    facts = [fact for fact in facts if fact.at >= (start or 0.0)]
    purposes = ("interview",) if in_interview else ("practice", "review")
    attempts = counted_attempts(facts)
    verdicts = [attempt.verdict for attempt in attempts if attempt.purpose in purposes]
    passed = [attempt.purpose for attempt in attempts if attempt.verdict == "passed"]
    since = SinceStart(
        started_at=start,
        last_at=start,
        attempts=len(verdicts),
        failed=len(verdicts) - verdicts.count("passed"),
        passed=any(purpose != "hunt" for purpose in passed),
    )
    for fact in facts:
        if isinstance(fact, Hinted) or (in_interview and isinstance(fact, StageHinted)):
            since = replace(since, hint=max(since.hint, fact.level))
        if isinstance(fact, Revealed):
            since = replace(since, solution=True)
        if isinstance(fact, Hinted | Revealed):
            since = replace(since, seconds=since.seconds_at(fact.at), last_at=fact.at)
        # An attempt that does not count took time too.
        if isinstance(fact, Attempted) and fact.purpose in purposes:
            seconds = since.seconds_at(fact.at) if fact.seconds is None else fact.seconds
            since = replace(since, seconds=seconds, last_at=fact.at)
    return since


@dataclass(frozen=True)
class RouteState:
    """The place of a learner on a route."""

    title: str
    passed: int
    count: int
    next: str | None  # the id of the first challenge that is not passed

    def __str__(self) -> str:
        ahead = "all passed" if self.next is None else f"next: {self.next}"
        return f"{self.passed} of {self.count}, {ahead}"


def route_states(routes: Iterable[Route], passed: Collection[str]) -> list[RouteState]:
    """Return the place on each route of a learner who has passed these challenges."""
    states: list[RouteState] = []
    for route in routes:
        left = [name for name in route.challenges if name not in passed]
        count = len(route.challenges)
        states.append(RouteState(route.title, count - len(left), count, next(iter(left), None)))
    return states
