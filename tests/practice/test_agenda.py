"""Tests of the agenda of challenges."""

from tests.support.menu import CHALLENGES, DAY, ENTRIES
from trainer.practice.agenda import in_days


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
    assert [in_days(days * DAY) for days in (-3, 0.2, 1, 5)] == [
        "today",
        "today",
        "tomorrow",
        "in 5 days",
    ]
