"""What the journal says of a learner: days, topics, times, mistakes, what comes next. A pure function; time and zone are passed in."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import groupby

from trainer.model.attempt import Attempt
from trainer.model.challenge import Challenge, Mistake
from trainer.practice.journal import Review
from trainer.practice.schedule import ScheduledItem, challenge_of, item_of, items

WEEKS = 12


@dataclass(frozen=True)
class Week:
    """The attempts of each day, from Monday on; None for days to come."""

    monday: date
    days: tuple[int | None, ...]


@dataclass(frozen=True)
class TopicStrength:
    """How well a topic is known. `recall`: the mean over its reviewed challenges of how likely each is recalled now, None where none was reviewed."""

    name: str
    challenges: int
    passed: int
    reviewed: int
    recall: float | None


@dataclass(frozen=True)
class Trend:
    """The time of each pass, in order, as a multiple of the par time. `challenge` None: of all challenges."""

    challenge: str | None
    shares: tuple[float, ...]


@dataclass(frozen=True)
class OwnMistake:
    """A mistake that the learner made. `count`: saving it over and over is once. `last_at`: seconds since the epoch."""

    challenge: str
    id: str
    says: str
    count: int
    last_at: float


@dataclass(frozen=True)
class Waiting:
    """A challenge that builds on some that are not passed yet."""

    challenge: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Stats:
    """All of it.

    weeks          the last twelve, this one included
    attempts       ever; active_days: days with one, ever
    streak         days in a row with an attempt, up to today or, where today has none yet, up to yesterday
    trends         over all challenges first, then each with more than one pass
    mistakes       the most frequent first
    ready          ids of challenges that are not passed and whose foundations are; waiting: the others
    due            items to review now, the longest due first; next_due: the first after them
    """

    weeks: tuple[Week, ...] = ()
    attempts: int = 0
    active_days: int = 0
    streak: int = 0
    passed: int = 0
    challenges: int = 0
    topics: tuple[TopicStrength, ...] = ()
    trends: tuple[Trend, ...] = ()
    mistakes: tuple[OwnMistake, ...] = ()
    ready: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    due: tuple[ScheduledItem, ...] = ()
    next_due: ScheduledItem | None = None


def statistics(
    attempts: Iterable[Attempt],
    reviews: Iterable[Review],
    challenges: Sequence[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
    now: float,
    *,
    starts: Mapping[str, Sequence[float]] | None = None,
    zone: tzinfo | None = None,
) -> Stats:
    """Everything that `stats` shows.

    Args:
        attempts: all of them; a hunt's count as activity only.
        reviews: all of them.
        challenges: of the pack; what the journal knows of others is left out, but counts as activity.
        mistakes: the known ones by challenge, for their words.
        now: seconds since the epoch.
        starts: when each challenge was handed out, in seconds since the epoch; each start begins the challenge anew.
        zone: whose days are counted; None is the machine's own zone, with its summer times.
    """
    in_order = sorted(attempts, key=lambda one: one.when)
    known = {one.id: one for one in challenges}
    written = [one for one in in_order if one.purpose != "hunt" and one.challenge in known]
    passed = {one.challenge for one in written if one.verdict == "passed"}
    runs = _runs(written, starts or {})
    reviewed = items(reviews, now)
    listed = [
        one for one in reviewed.values() if challenge_of(one.name) in {None, *known}
    ]  # a question is of no challenge
    days = Counter(_day(one.when, zone) for one in in_order)
    today = _day(now, zone)
    return Stats(
        weeks=_weeks(days, today),
        attempts=len(in_order),
        active_days=len(days),
        streak=_streak(days, today),
        passed=len(passed),
        challenges=len(challenges),
        topics=_topics(challenges, passed, reviewed),
        trends=_trends(runs, known),
        mistakes=_mistakes(runs, mistakes),
        ready=tuple(
            one.id
            for one in challenges
            if one.id not in passed and not _missing(one, known, passed)
        ),
        waiting=tuple(
            Waiting(one.id, missing)
            for one in challenges
            if one.id not in passed and (missing := _missing(one, known, passed))
        ),
        due=tuple(one for one in listed if one.is_due(now)),
        next_due=next((one for one in listed if not one.is_due(now)), None),
    )


def _day(seconds: float, zone: tzinfo | None) -> date:
    return datetime.fromtimestamp(seconds, tz=zone).date()


def _weeks(days: Mapping[date, int], today: date) -> tuple[Week, ...]:
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    mondays = [first + timedelta(weeks=number) for number in range(WEEKS)]
    dates = [
        (monday, [monday + timedelta(days=number) for number in range(7)]) for monday in mondays
    ]
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
    found: list[TopicStrength] = []
    for name in dict.fromkeys(one.topic for one in challenges):
        its = [one.id for one in challenges if one.topic == name]
        strengths = [reviewed[item_of(one)].strength for one in its if item_of(one) in reviewed]
        recall = sum(strengths) / len(strengths) if strengths else None
        found.append(
            TopicStrength(name, len(its), sum(one in passed for one in its), len(strengths), recall)
        )
    return tuple(found)


def _runs(
    attempts: Sequence[Attempt], starts: Mapping[str, Sequence[float]]
) -> list[list[Attempt]]:
    """The attempts at one challenge between two starts, for every challenge and start, each in order of time."""
    found: dict[tuple[str, int], list[Attempt]] = {}
    for one in attempts:
        found.setdefault(
            (one.challenge, bisect_right(starts.get(one.challenge, ()), one.when)), []
        ).append(one)
    return list(found.values())


def _trends(runs: Sequence[Sequence[Attempt]], known: Mapping[str, Challenge]) -> tuple[Trend, ...]:
    """Of the first pass after each start, where its time is known: who goes on saving has not passed again."""
    firsts = [next((one for one in run if one.verdict == "passed"), None) for run in runs]
    passes = sorted((one for one in firsts if one is not None), key=lambda one: one.when)
    shares = [
        (one.challenge, one.seconds / (known[one.challenge].minutes * 60))
        for one in passes
        if one.seconds is not None and known[one.challenge].minutes
    ]
    found = [Trend(None, tuple(share for _, share in shares))] if shares else []
    for challenge in known:
        its = tuple(share for name, share in shares if name == challenge)
        if len(its) > 1:
            found.append(Trend(challenge, its))
    return tuple(found)


def _mistakes(
    runs: Sequence[Sequence[Attempt]], known: Mapping[str, Sequence[Mistake]]
) -> tuple[OwnMistake, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    for run in runs:
        for mistake in dict.fromkeys(name for one in run for name in one.mistakes):
            made = (run[0].challenge, mistake)
            counts[made] += sum(
                shown for shown, _ in groupby(run, key=lambda one: mistake in one.mistakes)
            )
            last[made] = max(
                last.get(made, 0.0), *(one.when for one in run if mistake in one.mistakes)
            )
    says = {(challenge, one.id): one.says for challenge, some in known.items() for one in some}
    found = [
        OwnMistake(*made, says.get(made, made[1]), count, last[made])
        for made, count in counts.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.count, -one.last_at, one.challenge, one.id)))


def _missing(
    challenge: Challenge, known: Mapping[str, Challenge], passed: set[str]
) -> tuple[str, ...]:
    return tuple(one for one in challenge.builds_on if one in known and one not in passed)
