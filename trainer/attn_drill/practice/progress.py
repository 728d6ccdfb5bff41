"""Answer questions about a learner's progress from the facts of the journal.

The functions are pure. The facts are in order of time, as `Journal.facts` returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

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
    """The progress in one challenge.

    Attributes:
        state: The state of the challenge.
        attempts: The number of attempts that count.
        hints: The number of hints that were shown.
    """

    state: State = "new"
    attempts: int = 0
    hints: int = 0


@dataclass(frozen=True)
class SinceStart:
    """The events of a challenge since its stub was last handed out.

    Attributes:
        started_at: The time of the last start in seconds since the epoch, or None without a start.
        last_at: The time of the last entry in seconds since the epoch, or None without entries.
        seconds: The time at work until the last entry. A long gap without an entry counts as a
            pause.
        attempts: The number of attempts that count.
        failed: The number of attempts that did not pass.
        passed: True if an attempt passed.
        hint: The highest level of the hints that were shown, or 0.
        solution: True if the reference was shown.
    """

    started_at: float | None = None
    last_at: float | None = None
    seconds: float = 0.0
    attempts: int = 0
    failed: int = 0
    passed: bool = False
    hint: int = 0
    solution: bool = False

    def seconds_at(self, now: float) -> float:
        """Return the seconds at work if the next entry is made now.

        A clock that went backwards adds no time.
        """
        return (
            self.seconds
            if self.last_at is None
            else self.seconds + min(max(0.0, now - self.last_at), _PAUSE_SECONDS)
        )


def path_of(facts: Iterable[Fact]) -> Path | None:
    """Return the path at which the stub was last handed out, or None."""
    paths = [fact.path for fact in facts if isinstance(fact, Started)]
    return Path(paths[-1]) if paths else None


def last_started(facts: Iterable[Fact]) -> str | None:
    """Return the id of the challenge that was started or resumed last, or None."""
    starts = [fact.subject for fact in facts if isinstance(fact, Started | Resumed)]
    return starts[-1] if starts else None


def start_times(facts: Iterable[Fact]) -> dict[str, tuple[float, ...]]:
    """Return the times at which each challenge was handed out, also in interviews, in order."""
    times: dict[str, tuple[float, ...]] = {}
    for fact in facts:
        if isinstance(fact, Started | StageBegan):
            times[fact.subject] = (*times.get(fact.subject, ()), fact.at)
    return times


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
    """Return the reviews of items that begin so, with the ratings that count.

    The last overrule of a review counts, or else the first rating.

    Args:
        facts: The facts.
        *prefixes: The beginnings of the items; by default all items.
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
    found: dict[str, ChallengeProgress] = {}
    replaced = _replaced(facts)
    for fact in facts:
        before = found.get(fact.subject, ChallengeProgress())
        if isinstance(fact, Started):
            state: State = "passed" if before.state == "passed" else "started"
            found[fact.subject] = replace(before, state=state)
        elif isinstance(fact, Hinted):
            found[fact.subject] = replace(before, hints=before.hints + 1)
        elif isinstance(fact, Attempted) and fact.purpose != "hunt" and fact.id not in replaced:
            state = "passed" if "passed" in (fact.verdict, before.state) else "started"
            found[fact.subject] = replace(before, state=state, attempts=before.attempts + 1)
    return found


def _replaced(facts: Iterable[Fact]) -> set[str]:
    """Return the ids of the attempts that do not count."""
    return {fact.attempt for fact in facts if isinstance(fact, Replaced)}


def since_start(facts: Sequence[Fact], *, in_interview: bool = False) -> SinceStart:
    """Return the events since the last start; all events if the challenge was never started.

    Skip the attempts of a hunt. Practice and interviews are told apart, but a pass in an interview
    is a pass.

    Args:
        facts: The facts about one challenge.
        in_interview: Return the events of the last interview that had the challenge.
    """
    starts = [
        fact.at for fact in facts if isinstance(fact, StageBegan if in_interview else Started)
    ]
    start = max(starts, default=None)
    since = [
        fact
        for fact in facts
        if fact.at >= (start or 0.0)
        and not (isinstance(fact, Attempted) and fact.purpose == "hunt")
    ]
    own = [
        fact
        for fact in since
        if not isinstance(fact, Attempted) or (fact.purpose == "interview") == in_interview
    ]
    helped = [
        fact for fact in own if isinstance(fact, (Hinted, StageHinted) if in_interview else Hinted)
    ]
    worked = SinceStart(last_at=start)
    for fact in own:
        # An attempt that does not count took time too.
        if isinstance(fact, Attempted | Hinted | Revealed):
            seconds = fact.seconds if isinstance(fact, Attempted) else None
            worked = SinceStart(
                last_at=fact.at, seconds=worked.seconds_at(fact.at) if seconds is None else seconds
            )
    verdicts = [attempt.verdict for attempt in counted_attempts(own)]
    return SinceStart(
        started_at=start,
        last_at=worked.last_at,
        seconds=worked.seconds,
        attempts=len(verdicts),
        failed=sum(verdict != "passed" for verdict in verdicts),
        passed=any(attempt.verdict == "passed" for attempt in counted_attempts(since)),
        hint=max((fact.level for fact in helped), default=0),
        solution=any(isinstance(fact, Revealed) for fact in since),
    )
