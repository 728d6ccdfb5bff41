"""Compute the statistics of a learner: days, topics, times, mistakes and next challenges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.practice.facts import Attempted, Fact, StageBegan, Started
from attn_drill.practice.progress import counted_attempts, rated_reviews
from attn_drill.practice.schedule import (
    ScheduledItem,
    challenge_of,
    follow_up_challenge,
    item_of,
    items,
)

WEEKS = 12
_GONE = "A mistake that the challenge no longer lists."


@dataclass(frozen=True)
class Week:
    """The attempts of one week."""

    monday: date
    days: tuple[int | None, ...]  # from Monday on; None for days in the future


@dataclass(frozen=True)
class TopicStrength:
    """The learner's knowledge of a topic."""

    name: str
    challenges: int
    passed: int
    reviewed: int
    # The mean probability that the learner recalls a reviewed challenge now.
    recall: float | None


@dataclass(frozen=True)
class Trend:
    """The times of passes in order, as multiples of the par time. None: of all challenges."""

    challenge: str | None
    shares: tuple[float, ...]


@dataclass(frozen=True)
class OwnMistake:
    """A known mistake that the learner made."""

    challenge: str
    id: str
    says: str
    # Several saves in a row with the same mistake count once.
    count: int
    last_at: float


@dataclass(frozen=True)
class Stats:
    """All statistics of a learner."""

    weeks: tuple[Week, ...] = ()
    attempts: int = 0
    active_days: int = 0
    # The days in a row with an attempt, up to today, or up to yesterday.
    streak: int = 0
    passed: tuple[str, ...] = ()
    challenges: int = 0
    # The least time of a pass without a look at the reference, by challenge.
    best_seconds: Mapping[str, float] = field(default_factory=dict)
    topics: tuple[TopicStrength, ...] = ()
    # First over all challenges, then of each challenge with several passes.
    trends: tuple[Trend, ...] = ()
    mistakes: tuple[OwnMistake, ...] = ()
    # The open challenges that build on passed challenges only.
    next: tuple[str, ...] = ()
    # The other open challenges, with those to pass before.
    later: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    due: tuple[ScheduledItem, ...] = ()
    next_due: ScheduledItem | None = None


def statistics(
    facts: Sequence[Fact],
    challenges: Sequence[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
    now: float,
    *,
    zone: tzinfo | None = None,
) -> Stats:
    """Return all statistics that `stats` and the menu show.

    An attempt in a hunt, or at a challenge that no pack has, counts as activity only. Each start
    begins a challenge anew. Days are counted in `zone`; None is the zone of this machine.
    """
    attempts = counted_attempts(facts)
    by_id = {challenge.id: challenge for challenge in challenges}
    tries = [
        attempt for attempt in attempts if attempt.purpose != "hunt" and attempt.challenge in by_id
    ]
    passed = {attempt.challenge for attempt in tries if attempt.verdict == "passed"}
    runs = _runs(facts, tries)
    # A later pass after the same start is only another save.
    passes = [[attempt for attempt in run if attempt.verdict == "passed"] for run in runs]
    first_passes = sorted((run[0] for run in passes if run), key=lambda attempt: attempt.at)
    best: dict[str, float] = {}
    for attempt in first_passes:
        if attempt.seconds is not None and not attempt.solution:
            least = best.get(attempt.challenge, attempt.seconds)
            best[attempt.challenge] = min(least, attempt.seconds)
    reviewed = items(rated_reviews(facts), now)
    due: list[ScheduledItem] = []
    due_later: list[ScheduledItem] = []
    for item in reviewed.values():
        about = challenge_of(item.name) or follow_up_challenge(item.name)
        if about is None or about in by_id:  # a question of the quiz is about no challenge
            (due if item.is_due(now) else due_later).append(item)
    missing: dict[str, tuple[str, ...]] = {}
    for challenge in challenges:
        if challenge.id not in passed:
            bases = [base for base in challenge.builds_on if base in by_id and base not in passed]
            missing[challenge.id] = tuple(bases)
    days = Counter(_day(attempt.at, zone) for attempt in attempts)
    today = _day(now, zone)
    return Stats(
        weeks=_weeks(days, today),
        attempts=len(attempts),
        active_days=len(days),
        streak=_streak(days, today),
        passed=tuple(name for name in by_id if name in passed),
        challenges=len(challenges),
        best_seconds=best,
        topics=_topics(challenges, passed, reviewed),
        trends=_trends(first_passes, by_id),
        mistakes=_mistakes(runs, mistakes),
        next=tuple(name for name, bases in missing.items() if not bases),
        later={name: bases for name, bases in missing.items() if bases},
        due=tuple(due),
        next_due=due_later[0] if due_later else None,
    )


def _day(seconds: float, zone: tzinfo | None) -> date:
    return datetime.fromtimestamp(seconds, tz=zone).date()


def _weeks(days: Mapping[date, int], today: date) -> tuple[Week, ...]:
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    weeks: list[Week] = []
    for week_index in range(WEEKS):
        monday = first + timedelta(weeks=week_index)
        week = [monday + timedelta(days=weekday) for weekday in range(7)]
        counts = [days.get(day, 0) if day <= today else None for day in week]
        weeks.append(Week(monday, tuple(counts)))
    return tuple(weeks)


def _streak(days: Mapping[date, int], today: date) -> int:
    day = today if days.get(today) else today - timedelta(days=1)
    count = 0
    while days.get(day):
        count += 1
        day -= timedelta(days=1)
    return count


def _topics(
    challenges: Sequence[Challenge], passed: set[str], reviewed: Mapping[str, ScheduledItem]
) -> tuple[TopicStrength, ...]:
    topics: list[TopicStrength] = []
    for name in dict.fromkeys(challenge.topic for challenge in challenges):
        ids = [challenge.id for challenge in challenges if challenge.topic == name]
        strengths = [reviewed[item].strength for item in map(item_of, ids) if item in reviewed]
        recall = sum(strengths) / len(strengths) if strengths else None
        count = len(passed.intersection(ids))
        topics.append(TopicStrength(name, len(ids), count, len(strengths), recall))
    return tuple(topics)


def _runs(facts: Sequence[Fact], tries: Sequence[Attempted]) -> list[list[Attempted]]:
    """Group the attempts by challenge and start, also in interviews."""
    by_id = {attempt.id: attempt for attempt in tries}
    starts: Counter[str] = Counter()
    runs: dict[tuple[str, int], list[Attempted]] = {}
    for fact in facts:
        if isinstance(fact, Started | StageBegan):
            starts[fact.subject] += 1
        elif fact.id in by_id:
            run = runs.setdefault((fact.subject, starts[fact.subject]), [])
            run.append(by_id[fact.id])
    return list(runs.values())


def _trends(first_passes: Sequence[Attempted], by_id: Mapping[str, Challenge]) -> tuple[Trend, ...]:
    shares: dict[str | None, list[float]] = {name: [] for name in (None, *by_id)}
    for attempt in first_passes:
        par_seconds = by_id[attempt.challenge].minutes * 60
        if attempt.seconds is not None and par_seconds:
            for name in (None, attempt.challenge):
                shares[name].append(attempt.seconds / par_seconds)
    # One pass of one challenge shows no trend.
    return tuple(
        Trend(name, tuple(times))
        for name, times in shares.items()
        if len(times) > (0 if name is None else 1)
    )


def _mistakes(
    runs: Sequence[Sequence[Attempted]], listed: Mapping[str, Sequence[Mistake]]
) -> tuple[OwnMistake, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    for run in runs:
        before: set[str] = set()
        for attempt in run:
            named = set(attempt.mistakes)
            # The attempts are in order of time.
            last |= {(attempt.challenge, name): attempt.at for name in named}
            counts.update((attempt.challenge, name) for name in named - before)
            before = named
    says: dict[tuple[str, str], str] = {}
    for challenge, mistakes in listed.items():
        says |= {(challenge, mistake.id): mistake.says for mistake in mistakes}
    rows = [OwnMistake(*key, says.get(key, _GONE), counts[key], last[key]) for key in counts]
    rows.sort(key=lambda row: (-row.count, -row.last_at, row.challenge, row.id))
    return tuple(rows)
