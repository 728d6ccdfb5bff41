"""Tests of the agenda of challenges."""

from datetime import datetime

from attn_drill.practice.schedule import ScheduledItem, in_days
from tests.support.cli import CHALLENGES, ENTRIES, reviewed


def test_agenda_has_due_challenges_first() -> None:
    """List the longest due challenge first, then challenges under way, new and passed.

    Every challenge occurs once.
    """
    sections = [(entry.section, entry.challenge.id) for entry in ENTRIES]
    assert sections[:3] == [("due", "gqa"), ("due", "mha"), ("under way", "rope")]
    assert sections[-1] == ("passed", "sdpa")
    assert sorted(name for _, name in sections) == sorted(challenge.id for challenge in CHALLENGES)
    new = [entry.challenge.rank for entry in ENTRIES if entry.section == "new"]
    assert new == sorted(new)


def test_days_are_counted_by_date() -> None:
    """At 8:00, 21:00 is today and 1:00 of the next day is tomorrow, as in `is_due`."""
    now = datetime(2026, 3, 5, 8).timestamp()
    hours = {13: "today", -40: "today", 17: "tomorrow", 39: "tomorrow", 41: "in 2 days"}
    assert {hour: in_days(now + hour * 3600, now) for hour in hours} == hours
    review = reviewed("gqa", 1)
    due = [ScheduledItem("x", now + hour * 3600, 1.0, 1, review).is_due(now) for hour in hours]
    assert due == [words == "today" for words in hours.values()]
