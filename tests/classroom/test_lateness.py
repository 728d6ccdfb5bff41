"""Tests of late submissions: due time, grace, extensions, marks and penalties."""

import pytest

from attn_drill.classroom.gradebook import lateness_of
from attn_drill.classroom.records import AssignedChallenge, Assignment, Lateness, StudentSubmission

DUE = 1_800_000_000.0
HOUR, DAY = 3600.0, 86_400.0


def assignment(**more: object) -> Assignment:
    """Return an assignment with a due time and a penalty of 10 points a day."""
    settings: dict[str, object] = {"due": DUE, "penalty": 10.0} | more
    return Assignment("Week 3", (AssignedChallenge("gqa"),), **settings)  # type: ignore[arg-type]


def lateness(after: float | None, is_marked_late: bool = False, **more: object) -> Lateness:
    """Return the lateness of Ana's submission, which came this many seconds after the due time."""
    submitted = None if after is None else DUE + after
    submission = StudentSubmission(
        "Ana Lee", "gqa", "ana.py", "", submitted=submitted, is_marked_late=is_marked_late
    )
    return lateness_of(submission, assignment(**more))


def test_times_are_shown_in_the_zone_of_the_assignment() -> None:
    """A student reads the time that the teacher wrote."""
    assert lateness(0.0, utc_offset=3600.0).utc_offset == 3600.0


@pytest.mark.parametrize(
    ("after", "days", "penalty"),
    [
        pytest.param(-1, 0, 0, id="early"),
        pytest.param(0, 0, 0, id="at the due time"),
        pytest.param(1, 1, 10, id="a second late"),
        pytest.param(DAY, 1, 10, id="exactly a day late"),
        pytest.param(DAY + 1, 2, 20, id="the second day has begun"),
        pytest.param(30 * DAY, 30, 100, id="the penalty takes all points at most"),
    ],
)
def test_each_started_day_costs_the_penalty(after: float, days: int, penalty: float) -> None:
    """The days count from the due time."""
    found = lateness(after)
    assert (found.is_late, found.days, found.penalty) == (days > 0, days, penalty)
    assert (found.due, found.submitted) == (DUE, DUE + after)


def test_a_submission_within_the_grace_period_is_not_late() -> None:
    """After the grace period the days count from the due time, not from the end of the grace."""
    assert not lateness(900, grace=900.0).is_late
    assert lateness(DAY + 901, grace=900.0).days == 2


def test_an_extension_moves_the_due_time_of_its_student() -> None:
    """The days late count from the new due time."""
    later = lateness(2 * DAY, extensions={"Ana Lee": DUE + 3 * DAY})
    assert (later.is_late, later.is_extended, later.due) == (False, True, DUE + 3 * DAY)
    days = lateness(2 * DAY, extensions={"Ana Lee": DUE + DAY})
    assert (days.is_late, days.is_extended, days.days) == (True, True, 1)
    assert lateness(1, extensions={"Bo Li": DUE + 3 * DAY}).is_late


def test_a_mark_without_a_time_makes_late_without_a_penalty() -> None:
    """The number of days is unknown, so a person must decide."""
    found = lateness(None, is_marked_late=True)
    assert (found.is_late, found.days, found.penalty) == (True, None, 0)
    assert lateness(5, is_marked_late=True, due=None).is_late


def test_a_known_time_counts_more_than_a_mark() -> None:
    """The due time of the assignment may be later than the due time in the system."""
    assert not lateness(-1, is_marked_late=True).is_late


def test_a_submission_without_a_time_and_a_mark_is_not_late() -> None:
    """An unknown time harms nobody."""
    assert lateness(None) == Lateness(due=DUE)
