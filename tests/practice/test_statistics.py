"""Tests of the statistics of a learner."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone, tzinfo

import pytest
from msgspec import structs

from attn_drill.practice.facts import Attempted
from attn_drill.practice.schedule import items
from attn_drill.practice.statistics import (
    WEEKS,
    OwnMistake,
    TopicStrength,
    Trend,
    statistics,
)
from tests.support.journal import NOW, PACK, UTC, A, attempt_at, review, statistics_of

EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))


def test_calendar_has_twelve_weeks_from_monday_on() -> None:
    """Days in the future are None. Earlier attempts count only in the totals."""
    stats = statistics_of(
        attempt_at("a", 0),
        attempt_at("a", 0.1),
        attempt_at("b", 3),
        attempt_at("a", 7 * 11 + 3),
        attempt_at("a", 7 * 11 + 4),
        attempt_at("a", 300, purpose="hunt"),
    )
    assert [week.monday for week in stats.weeks] == [
        date(2026, 3, 2) - timedelta(weeks=age) for age in reversed(range(WEEKS))
    ]
    assert stats.weeks[-1].days == (1, 0, 0, 2, None, None, None)
    assert stats.weeks[0].days == (1, 0, 0, 0, 0, 0, 0)
    assert all(sum(day or 0 for day in week.days) == 0 for week in stats.weeks[1:-1])
    assert (stats.attempts, stats.active_days) == (6, 5)


@pytest.mark.parametrize(("zone", "day"), [(UTC, 3), (EAST, 4), (WEST, 3)])
def test_days_are_counted_in_the_time_zone(zone: tzinfo, day: int) -> None:
    """20:00 in Greenwich is the next day in Tokyo."""
    at = datetime(2026, 3, 5, 20, tzinfo=UTC).timestamp()
    stats = statistics(
        [Attempted("a", at, seed=1, verdict="failed", source="")], PACK, {}, at, zone=zone
    )
    assert stats.weeks[-1].days.index(1) == day
    assert stats.streak == 1


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the machine a time zone with daylight saving time from 8 March 2026 on."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_default_time_zone_has_daylight_saving_time() -> None:
    """04:30 in Greenwich is before midnight in New York in winter, and after midnight in summer."""
    winter, summer = (datetime(2026, month, 12, 4, 30, tzinfo=UTC).timestamp() for month in (2, 3))
    stats = statistics(
        [Attempted("a", at, seed=1, verdict="failed", source="") for at in (winter, summer)],
        PACK,
        {},
        summer,
        zone=None,
    )
    days = {
        week.monday + timedelta(days=weekday)
        for week in stats.weeks
        for weekday, count in enumerate(week.days)
        if count
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
def test_streak_ends_today_or_yesterday(days: list[float], streak: int) -> None:
    """A streak may be longer than the calendar."""
    assert statistics_of(*(attempt_at("a", day) for day in days)).streak == streak


def test_statistics_of_an_empty_journal() -> None:
    """There are only empty weeks and the next challenges."""
    stats = statistics_of()
    assert (
        stats.attempts,
        stats.streak,
        stats.passed,
        stats.trends,
        stats.mistakes,
        stats.due,
        stats.next_due,
    ) == (0, 0, (), (), (), (), None)
    assert stats.next == ("a",)
    assert [topic.recall for topic in stats.topics] == [None, None]


def test_strength_of_a_topic_is_the_mean_of_its_reviews() -> None:
    """Passes in hunts and reviews of questions do not count."""
    reviews = (
        review("challenge:b", 10),
        review("challenge:c", 40),
        review("question:x", 1),
        review("challenge:gone", 1),
    )
    stats = statistics_of(
        attempt_at("b", 10, "passed"),
        attempt_at("a", 9, "passed", purpose="hunt"),
        attempt_at("c", 8, "passed", purpose="interview"),
        reviews=reviews,
    )
    alone = [items([entry], NOW)[entry.item].strength for entry in reviews[:2]]
    assert alone[0] != alone[1]
    assert stats.topics == (
        TopicStrength("basics", 2, 0, 0, None),
        TopicStrength("caches", 2, 2, 2, sum(alone) / 2),
    )
    assert (stats.passed, stats.challenges) == (("b", "c"), 4)


def test_challenge_is_ready_if_its_prerequisites_are_passed() -> None:
    """Other challenges list the missing prerequisites.

    Challenges of other packs and hunts do not count.
    """
    assert statistics_of(attempt_at("a", 1, "passed", purpose="hunt")).next == ("a",)
    stats = statistics_of(attempt_at("a", 2, "passed"), attempt_at("a", 1))
    assert stats.next == ("b",)
    assert stats.later == {"c": ("b",), "d": ("c",)}
    stats = statistics_of(*(attempt_at(name, 1, "passed") for name in "abc"))
    assert (stats.next, stats.later) == (("d",), {})
    stats = statistics_of(*(attempt_at(name, 1, "passed") for name in "abcd"))
    assert (stats.next, stats.later) == ((), {})


def test_trend_has_the_first_pass_after_each_start() -> None:
    """The passes are in order of time. Hunts and unknown times are left out."""
    stats = statistics_of(
        attempt_at("a", 29.9, "failed", seconds=60),
        attempt_at("a", 29.8, "passed", seconds=1080),
        attempt_at("a", 29.7, "failed", seconds=1100),
        attempt_at("a", 29.6, "passed", seconds=1200),
        attempt_at("b", 29.95, "failed", seconds=6),
        attempt_at("c", 25, "passed", seconds=600),
        attempt_at("b", 21, "passed", seconds=150),
        attempt_at("a", 20, "passed", seconds=5, purpose="hunt"),
        attempt_at("a", 9, "passed", seconds=300),
        attempt_at("b", 8, "passed"),
        starts={"a": [30, 10], "c": [26]},
    )
    assert stats.trends == (Trend(None, (1.8, 0.5, 0.25, 0.5)), Trend("a", (1.8, 0.5)))
    assert statistics_of(attempt_at("b", 8, "passed")).trends == ()


def test_challenge_without_par_time_has_no_trend() -> None:
    """No error is raised by a division by 0."""
    pack = (replace(A, minutes=0),)
    passed = attempt_at("a", 1, "passed", seconds=60)
    assert statistics([passed], pack, {}, NOW, zone=UTC).trends == ()


def test_repeated_saves_of_a_mistake_count_once() -> None:
    """A mistake counts again after a save without it or after another start. Hunts do not count."""
    saves = [attempt_at("a", 5 - save / 1000, "failed", "no-scale") for save in range(10)]
    (mistake,) = statistics_of(*saves).mistakes
    assert mistake == OwnMistake("a", "no-scale", "It is not scaled.", 1, saves[-1].at)
    between = attempt_at("a", 4.9955)
    assert statistics_of(*saves, between).mistakes[0].count == 2
    other = attempt_at("b", 4.9955)
    assert statistics_of(*saves, other).mistakes[0].count == 1, (
        "another challenge does not separate the saves"
    )
    assert statistics_of(*saves, starts={"a": [6, 4.9955]}).mistakes[0].count == 2
    assert (
        statistics_of(*saves, attempt_at("a", 4.9955, "failed", purpose="hunt")).mistakes[0].count
        == 1
    )
    assert statistics_of(attempt_at("a", 5, "failed", "no-scale", purpose="hunt")).mistakes == ()


def test_mistakes_are_sorted_by_frequency_then_date() -> None:
    """A mistake that the pack no longer has is counted, too."""
    attempts = [
        attempt_at("a", 9, "failed", "late", "no-scale"),
        attempt_at("a", 8, "failed"),
        attempt_at("a", 7, "failed", "no-scale", "no-scale"),
        attempt_at("b", 1, "failed", "gone"),
    ]
    mistakes = statistics_of(*attempts).mistakes
    assert [
        (mistake.challenge, mistake.id, mistake.says, mistake.count) for mistake in mistakes
    ] == [
        ("a", "no-scale", "It is not scaled.", 2),
        ("b", "gone", "A mistake that the challenge no longer lists.", 1),
        ("a", "late", "It comes late.", 1),
    ]
    assert mistakes[0].last_at == attempts[2].at


def test_due_items_begin_with_the_longest_due() -> None:
    """Questions are included. Items of challenges that no pack has are left out."""
    reviews = (
        review("challenge:b", 30),
        review("question:q", 40),
        review("follow-up:a:2", 50),
        review("follow-up:gone:1", 60),
        review("challenge:a", 0.5, 4),
        review("challenge:c", 0.5, 3),
        review("challenge:gone", 90),
    )
    stats = statistics_of(reviews=reviews)
    assert [item.name for item in stats.due] == [
        "follow-up:a:2",
        "question:q",
        "challenge:b",
    ]
    assert stats.next_due is not None
    assert stats.next_due.name == "challenge:c"


def test_order_of_entries_does_not_matter() -> None:
    """Merged journals have their entries in any order."""
    attempts = [
        attempt_at(name, days / 3, verdict, *mistakes, seconds=days * 7.0)
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
    results = []
    for seed in range(5):
        random.Random(seed).shuffle(attempts)
        random.Random(seed).shuffle(reviews)
        results.append(statistics_of(*attempts, reviews=tuple(reviews), starts={"a": [3, 7]}))
    assert all(result == results[0] for result in results)
    assert results[0].mistakes
    assert results[0].trends


def test_passed_challenges_keep_the_order_of_the_pack() -> None:
    """A hunt is no pass, and neither is a challenge of another pack."""
    stats = statistics_of(
        attempt_at("b", 0, "passed"),
        attempt_at("a", 1, "passed"),
        attempt_at("c", 2, "passed", purpose="hunt"),
        attempt_at("other", 2, "passed"),
    )
    assert stats.passed == ("a", "b")
    assert stats.streak == 3


def test_best_time_is_the_least_time_of_a_first_pass() -> None:
    """A later save after the same start is longer work on a finished file, so it does not count.

    After the reference was shown, the learner may have copied it.
    """
    stats = statistics_of(
        attempt_at("a", 9, "passed", seconds=900),
        attempt_at("a", 5, "passed", seconds=600),
        attempt_at("a", 4.9, "passed", seconds=100),
        attempt_at("a", 1, "failed", seconds=60),
        structs.replace(attempt_at("a", 0.1, "passed", seconds=60), solution=True),
        attempt_at("b", 1, "passed"),
        starts={"a": [10, 6, 2, 0.2]},
    )
    assert stats.best_seconds == {"a": 600}
