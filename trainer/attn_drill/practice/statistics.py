"""Compute the statistics of a learner: days, topics, times, mistakes and next challenges.

The functions are pure: the caller passes the facts, the current time and the time zone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from itertools import groupby

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.practice.facts import Attempted, Fact
from attn_drill.practice.progress import counted_attempts, rated_reviews, start_times
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
    """The attempts of one week.

    Attributes:
        monday: The first day of the week.
        days: The number of attempts on each day from Monday on. None for days in the future.
    """

    monday: date
    days: tuple[int | None, ...]


@dataclass(frozen=True)
class TopicStrength:
    """The learner's knowledge of a topic.

    Attributes:
        name: The name of the topic.
        challenges: The number of challenges.
        passed: The number of challenges that were passed.
        reviewed: The number of challenges that were reviewed.
        recall: The mean probability, over the reviewed challenges, that the learner recalls the
            challenge now. None if no challenge was reviewed.
    """

    name: str
    challenges: int
    passed: int
    reviewed: int
    recall: float | None


@dataclass(frozen=True)
class Trend:
    """The times of passes in order, as multiples of the par time.

    Attributes:
        challenge: The id of the challenge, or None for all challenges together.
        shares: The time of each pass divided by the par time of its challenge.
    """

    challenge: str | None
    shares: tuple[float, ...]


@dataclass(frozen=True)
class OwnMistake:
    """A known mistake that the learner made.

    Attributes:
        challenge: The id of the challenge.
        id: The id of the mistake.
        says: The description of the mistake. It says so if the pack no longer has the mistake.
        count: The number of times. Several saves in a row with the same mistake count once.
        last_at: The time of the last attempt with the mistake, in seconds since the epoch.
    """

    challenge: str
    id: str
    says: str
    count: int
    last_at: float


@dataclass(frozen=True)
class Stats:
    """All statistics of a learner.

    Attributes:
        weeks: The last twelve weeks, including this week.
        attempts: The number of all attempts.
        active_days: The number of all days with an attempt.
        streak: The number of days in a row with an attempt, up to today. If there is no attempt
            today, up to yesterday.
        passed: The ids of the challenges that were passed, in the order of the packs.
        challenges: The number of challenges in the packs.
        best_seconds: The least working time of a pass, in seconds, by challenge id. A pass after
            the reference was shown does not count.
        topics: The strength of each topic.
        trends: First the trend over all challenges, then each challenge with several passes.
        mistakes: The learner's mistakes, the most frequent first.
        next: The ids of the challenges that are not passed and build on passed challenges only.
        later: For each other challenge that is not passed, the challenges which it builds on and
            which are not passed.
        due: The items to review now, the longest due first.
        next_due: The first item that is due later.
    """

    weeks: tuple[Week, ...] = ()
    attempts: int = 0
    active_days: int = 0
    streak: int = 0
    passed: tuple[str, ...] = ()
    challenges: int = 0
    best_seconds: Mapping[str, float] = field(default_factory=dict)
    topics: tuple[TopicStrength, ...] = ()
    trends: tuple[Trend, ...] = ()
    mistakes: tuple[OwnMistake, ...] = ()
    next: tuple[str, ...] = ()
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

    Args:
        facts: All facts of the journal. An attempt in a hunt counts as activity only. Each start
            begins the challenge anew.
        challenges: The challenges of the packs. An attempt at any other challenge counts as
            activity only, and its reviews are ignored.
        mistakes: The known mistakes by challenge, for their descriptions.
        now: The current time in seconds since the epoch.
        zone: The time zone in which days are counted. None is the zone of this machine, with its
            daylight saving time.
    """
    in_order = counted_attempts(facts)
    known = {challenge.id: challenge for challenge in challenges}
    solved = [
        attempt for attempt in in_order if attempt.purpose != "hunt" and attempt.challenge in known
    ]
    passed = {attempt.challenge for attempt in solved if attempt.verdict == "passed"}
    runs = _runs(solved, start_times(facts))
    reviewed = items(rated_reviews(facts), now)
    # A question of the quiz belongs to no challenge.
    listed = [
        item
        for item in reviewed.values()
        if (challenge_of(item.name) or follow_up_challenge(item.name)) in {None, *known}
    ]
    bases_to_pass = {
        name: tuple(base for base in challenge.builds_on if base in known and base not in passed)
        for name, challenge in known.items()
        if name not in passed
    }
    days = Counter(_day(attempt.at, zone) for attempt in in_order)
    today = _day(now, zone)
    return Stats(
        weeks=_weeks(days, today),
        attempts=len(in_order),
        active_days=len(days),
        streak=_streak(days, today),
        passed=tuple(name for name in known if name in passed),
        challenges=len(challenges),
        best_seconds=_best_seconds(runs),
        topics=_topics(challenges, passed, reviewed),
        trends=_trends(runs, known),
        mistakes=_mistakes(runs, mistakes),
        next=tuple(name for name, bases in bases_to_pass.items() if not bases),
        later={name: bases for name, bases in bases_to_pass.items() if bases},
        due=tuple(item for item in listed if item.is_due(now)),
        next_due=next((item for item in listed if not item.is_due(now)), None),
    )


def _first_passes(runs: Sequence[Sequence[Attempted]]) -> list[Attempted]:
    """Return the first pass after each start, in order of time.

    A later pass after the same start is only another save, so it does not count.
    """
    firsts = [
        next((attempt for attempt in run if attempt.verdict == "passed"), None) for run in runs
    ]
    return sorted(
        (attempt for attempt in firsts if attempt is not None), key=lambda attempt: attempt.at
    )


def _best_seconds(runs: Sequence[Sequence[Attempted]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for attempt in _first_passes(runs):
        if attempt.seconds is not None and not attempt.solution:
            seconds = best.get(attempt.challenge, attempt.seconds)
            best[attempt.challenge] = min(seconds, attempt.seconds)
    return best


def _day(seconds: float, zone: tzinfo | None) -> date:
    return datetime.fromtimestamp(seconds, tz=zone).date()


def _weeks(days: Mapping[date, int], today: date) -> tuple[Week, ...]:
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    mondays = [first + timedelta(weeks=week_index) for week_index in range(WEEKS)]
    dates = [(monday, [monday + timedelta(days=day) for day in range(7)]) for monday in mondays]
    return tuple(
        Week(monday, tuple(days.get(day, 0) if day <= today else None for day in week))
        for monday, week in dates
    )


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
        strengths = [
            reviewed[item_of(challenge_id)].strength
            for challenge_id in ids
            if item_of(challenge_id) in reviewed
        ]
        recall = sum(strengths) / len(strengths) if strengths else None
        topics.append(
            TopicStrength(
                name,
                len(ids),
                sum(challenge_id in passed for challenge_id in ids),
                len(strengths),
                recall,
            )
        )
    return tuple(topics)


def _runs(
    attempts: Sequence[Attempted], starts: Mapping[str, Sequence[float]]
) -> list[list[Attempted]]:
    """Group the attempts by challenge and start. Each group is in order of time."""
    runs: dict[tuple[str, int], list[Attempted]] = {}
    for attempt in attempts:
        start_count = bisect_right(starts.get(attempt.challenge, ()), attempt.at)
        runs.setdefault((attempt.challenge, start_count), []).append(attempt)
    return list(runs.values())


def _trends(
    runs: Sequence[Sequence[Attempted]], known: Mapping[str, Challenge]
) -> tuple[Trend, ...]:
    """Return the trends of the first pass after each start, if its time is known."""
    shares = [
        (attempt.challenge, attempt.seconds / (known[attempt.challenge].minutes * 60))
        for attempt in _first_passes(runs)
        if attempt.seconds is not None and known[attempt.challenge].minutes
    ]
    trends = [Trend(None, tuple(share for _, share in shares))] if shares else []
    for challenge in known:
        challenge_shares = tuple(share for name, share in shares if name == challenge)
        if len(challenge_shares) > 1:
            trends.append(Trend(challenge, challenge_shares))
    return tuple(trends)


def _mistakes(
    runs: Sequence[Sequence[Attempted]], known: Mapping[str, Sequence[Mistake]]
) -> tuple[OwnMistake, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    for run in runs:
        for mistake in dict.fromkeys(name for attempt in run for name in attempt.mistakes):
            made = (run[0].challenge, mistake)
            counts[made] += sum(
                has_mistake
                for has_mistake, _ in groupby(run, key=lambda attempt: mistake in attempt.mistakes)
            )
            last[made] = max(
                last.get(made, 0.0),
                *(attempt.at for attempt in run if mistake in attempt.mistakes),
            )
    says = {
        (challenge, mistake.id): mistake.says
        for challenge, mistakes in known.items()
        for mistake in mistakes
    }
    own = [
        OwnMistake(*made, says.get(made, _GONE), count, last[made])
        for made, count in counts.items()
    ]
    return tuple(
        sorted(
            own,
            key=lambda mistake: (-mistake.count, -mistake.last_at, mistake.challenge, mistake.id),
        )
    )
