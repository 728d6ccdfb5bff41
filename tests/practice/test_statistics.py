"""What `stats` counts and how it shows it."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone, tzinfo

import pytest

from tests.support.stats import NOW, PACK, UTC, A, counted, review, tried
from trainer.model.attempt import Attempt
from trainer.practice.schedule import items
from trainer.practice.statistics import (
    WEEKS,
    OwnMistake,
    TopicStrength,
    Trend,
    Waiting,
    statistics,
)

EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))


def test_weeks() -> None:
    """Twelve of them from Monday on, the last with today; days to come are none, days before them are only in the totals."""
    stats = counted(
        tried("a", 0),
        tried("a", 0.1),
        tried("b", 3),
        tried("a", 7 * 11 + 3),
        tried("a", 7 * 11 + 4),
        tried("a", 300, purpose="hunt"),
    )
    assert [week.monday for week in stats.weeks] == [
        date(2026, 3, 2) - timedelta(weeks=number) for number in reversed(range(WEEKS))
    ]
    assert stats.weeks[-1].days == (1, 0, 0, 2, None, None, None)
    assert stats.weeks[0].days == (1, 0, 0, 0, 0, 0, 0)
    assert all(sum(day or 0 for day in week.days) == 0 for week in stats.weeks[1:-1])
    assert (stats.attempts, stats.active_days) == (6, 5)


@pytest.mark.parametrize(("zone", "day"), [(UTC, 3), (EAST, 4), (WEST, 3)])
def test_days_are_those_of_the_zone(zone: tzinfo, day: int) -> None:
    """Twenty o'clock in Greenwich is tomorrow in Tokyo."""
    at = datetime(2026, 3, 5, 20, tzinfo=UTC).timestamp()
    stats = statistics([Attempt("a", at, 1, "failed", 0, 1, "")], [], PACK, {}, at, zone=zone)
    assert stats.weeks[-1].days.index(1) == day
    assert stats.streak == 1


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's own zone has summer time, from 8 March 2026 on."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_the_zone_of_the_machine_has_summer_time() -> None:
    """Half past four in Greenwich is before midnight there in winter, and after it in summer."""
    winter, summer = (datetime(2026, month, 12, 4, 30, tzinfo=UTC).timestamp() for month in (2, 3))
    stats = statistics(
        [Attempt("a", at, 1, "failed", 0, 1, "") for at in (winter, summer)],
        [],
        PACK,
        {},
        summer,
        zone=None,
    )
    days = {
        week.monday + timedelta(days=number)
        for week in stats.weeks
        for number, day in enumerate(week.days)
        if day
    }
    assert days == {date(2026, 2, 11), date(2026, 3, 12)}


STREAKS = [
    ([], 0),
    ([0], 1),
    ([0, 0, 0.1], 1),
    ([1], 1),
    ([2], 0),
    ([0, 1, 2, 4], 3),
    ([1, 2, 3], 3),
    ([2, 3, 4], 0),
    (list(range(200)), 200),
    ([-1, 0], 1),
]


@pytest.mark.parametrize(("days", "streak"), STREAKS)
def test_streaks(days: list[float], streak: int) -> None:
    """Days in a row up to today or yesterday, also longer than the calendar."""
    assert counted(*(tried("a", one) for one in days)).streak == streak


def test_nothing() -> None:
    """No attempts: empty weeks, what is open, and nothing else."""
    stats = counted()
    assert (
        stats.attempts,
        stats.streak,
        stats.passed,
        stats.trends,
        stats.mistakes,
        stats.due,
        stats.next_due,
    ) == (0, 0, 0, (), (), (), None)
    assert stats.ready == ("a",)
    assert [one.recall for one in stats.topics] == [None, None]


def test_topics() -> None:
    """How many are passed, and the mean of how likely the reviewed ones are recalled now; a hunt's pass and a question are none of it."""
    reviews = (
        review("challenge:b", 10),
        review("challenge:c", 40),
        review("question:x", 1),
        review("challenge:gone", 1),
    )
    stats = counted(
        tried("b", 10, "passed"),
        tried("a", 9, "passed", purpose="hunt"),
        tried("c", 8, "passed", purpose="interview"),
        reviews=reviews,
    )
    alone = [items([one], NOW)[one.item].strength for one in reviews[:2]]
    assert alone[0] != alone[1]
    assert stats.topics == (
        TopicStrength("basics", 2, 0, 0, None),
        TopicStrength("caches", 2, 2, 2, sum(alone) / 2),
    )
    assert (stats.passed, stats.challenges) == (2, 4)


def test_what_comes_next() -> None:
    """Open is what builds on passed ones only; the others say what is missing, but not what this pack has not; a hunt opens nothing."""
    assert counted(tried("a", 1, "passed", purpose="hunt")).ready == ("a",)
    stats = counted(tried("a", 2, "passed"), tried("a", 1))
    assert stats.ready == ("b",)
    assert stats.waiting == (Waiting("c", ("b",)), Waiting("d", ("c",)))
    stats = counted(*(tried(name, 1, "passed") for name in "abc"))
    assert (stats.ready, stats.waiting) == (("d",), ())
    stats = counted(*(tried(name, 1, "passed") for name in "abcd"))
    assert (stats.ready, stats.waiting) == ((), ())


def test_times_against_par() -> None:
    """The first pass after each start, in order of time, of all and of those with several; a hunt and an unknown time are left out."""
    stats = counted(
        tried("a", 29.9, "failed", seconds=60),
        tried("a", 29.8, "passed", seconds=1080),
        tried("a", 29.7, "failed", seconds=1100),
        tried("a", 29.6, "passed", seconds=1200),
        tried("b", 29.95, "failed", seconds=6),
        tried("c", 25, "passed", seconds=600),
        tried("b", 21, "passed", seconds=150),
        tried("a", 20, "passed", seconds=5, purpose="hunt"),
        tried("a", 9, "passed", seconds=300),
        tried("b", 8, "passed"),
        starts={"a": [30, 10], "c": [26]},
    )
    assert stats.trends == (Trend(None, (1.8, 0.5, 0.25, 0.5)), Trend("a", (1.8, 0.5)))
    assert counted(tried("b", 8, "passed")).trends == ()


def test_a_challenge_without_par_time() -> None:
    """It has no trend, and nothing is divided by nothing."""
    pack = (replace(A, minutes=0),)
    assert (
        statistics([tried("a", 1, "passed", seconds=60)], [], pack, {}, NOW, zone=UTC).trends == ()
    )


def test_own_mistakes() -> None:
    """Saving a mistake ten times is once; after another save without it, or after another start, it is made again; in a hunt it is not the learner's."""
    saves = [tried("a", 5 - number / 1000, "failed", "no-scale") for number in range(10)]
    (one,) = counted(*saves).mistakes
    assert one == OwnMistake("a", "no-scale", "It is not scaled.", 1, saves[-1].when)
    between = tried("a", 4.9955)
    assert counted(*saves, between).mistakes[0].count == 2
    other = tried("b", 4.9955)
    assert counted(*saves, other).mistakes[0].count == 1, "another challenge does not come between"
    assert counted(*saves, starts={"a": [6, 4.9955]}).mistakes[0].count == 2
    assert counted(*saves, tried("a", 4.9955, "failed", purpose="hunt")).mistakes[0].count == 1
    assert counted(tried("a", 5, "failed", "no-scale", purpose="hunt")).mistakes == ()


def test_the_order_of_mistakes() -> None:
    """The most frequent first, then the latest; one that the pack no longer knows goes by its id."""
    attempts = [
        tried("a", 9, "failed", "late", "no-scale"),
        tried("a", 8, "failed"),
        tried("a", 7, "failed", "no-scale", "no-scale"),
        tried("b", 1, "failed", "gone"),
    ]
    found = counted(*attempts).mistakes
    assert [(one.challenge, one.id, one.says, one.count) for one in found] == [
        ("a", "no-scale", "It is not scaled.", 2),
        ("b", "gone", "gone", 1),
        ("a", "late", "It comes late.", 1),
    ]
    assert found[0].last_at == attempts[2].when


def test_what_is_due() -> None:
    """The longest due first, questions among them; then the first that is not; what the pack no longer has is left out."""
    reviews = (
        review("challenge:b", 30),
        review("question:q", 40),
        review("challenge:a", 0.5, 4),
        review("challenge:c", 0.5, 3),
        review("challenge:gone", 90),
    )
    stats = counted(reviews=reviews)
    assert [one.name for one in stats.due] == ["question:q", "challenge:b"]
    assert stats.next_due is not None
    assert stats.next_due.name == "challenge:c"


def test_any_order_gives_the_same() -> None:
    """Journals are put together in any order."""
    attempts = [
        tried(name, days / 3, verdict, *mistakes, seconds=days * 7.0)
        for days, (name, verdict, mistakes) in enumerate(
            [
                ("a", "failed", ("no-scale",)),
                ("a", "passed", ()),
                ("b", "failed", ("late", "no-scale")),
                ("zz", "passed", ()),
            ]
            * 9
        )
    ]
    reviews = [review("challenge:a", days, 1 + days % 4) for days in range(9)]
    found = []
    for seed in range(5):
        random.Random(seed).shuffle(attempts)
        random.Random(seed).shuffle(reviews)
        found.append(counted(*attempts, reviews=tuple(reviews), starts={"a": [3, 7]}))
    assert all(one == found[0] for one in found)
    assert found[0].mistakes
    assert found[0].trends
