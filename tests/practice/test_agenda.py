"""The menu, and review: what is due comes first, typing filters, Enter starts."""

from tests.support.menu import CHALLENGES, DAY, ENTRIES
from trainer.practice.agenda import in_days


def test_the_agenda() -> None:
    """Due ones first and the longest due on top, then what is under way, new, passed; a challenge stands once."""
    sections = [(one.section, one.challenge.id) for one in ENTRIES]
    assert sections[:3] == [("due", "gqa"), ("due", "mha"), ("under way", "rope")]
    assert sections[-1] == ("passed", "sdpa")
    assert sorted(name for _, name in sections) == sorted(one.id for one in CHALLENGES)
    assert [in_days(days * DAY) for days in (-3, 0.2, 1, 5)] == [
        "today",
        "today",
        "tomorrow",
        "in 5 days",
    ]
