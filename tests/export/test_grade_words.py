"""Tests of the words about points, weights, lateness and overrides."""

import re
import time

import pytest

from attn_drill.classroom.records import AssignedChallenge, Lateness, Override
from attn_drill.export._grade_words import (
    apportioned,
    challenge_shares,
    check_weights,
    details,
    penalty_taken,
    points_lines,
    points_rows,
    rules,
)
from tests.support.classroom import CHECKS, EVERYONE, assignment, grade_of, result

FIRST = AssignedChallenge("first")


def test_points_of_all_rows_add_up_exactly() -> None:
    """The tenths of the rows sum to the score that the student sees, and the maxima to 100."""
    for found in EVERYONE:
        if found.score is not None:
            rows = points_rows(found, FIRST)
            assert round(sum(row.points for row in rows), 6) == found.score
            assert round(sum(row.most for row in rows), 6) == 100
            assert all(0 <= row.points <= row.most for row in rows)


def test_table_of_points_says_how_the_score_came_about() -> None:
    """Each line has a check, its points of the most points, and its status in words."""
    ann = result("Ann", verdict="failed", failed=("masks",), skipped=("gradients",))
    lines = points_lines(points_rows(ann, FIRST))
    cells = {line.split()[0]: line.split()[1:] for line in lines}
    assert cells["values"] == ["29.8", "of", "29.8", "passed"]
    assert cells["masks"] == ["0.0", "of", "22.4", "failed,", "0%", "right"]
    assert cells["gradients"] == ["0.0", "of", "14.9", "incomplete,", "0%", "right"]
    assert cells["all"] == ["checks", "62.7", "of", "100.0"]
    assert len({found.end() for line in lines if (found := re.search(r"of +[\d.]+", line))}) == 1
    assert points_lines(()) == ()


def test_pass_without_points_has_a_reason() -> None:
    """Fast code with wrong values, and library code."""
    wrong = points_rows(result("Ann", verdict="failed", failed=("values",)), FIRST)
    words = {row.check: row.words for row in wrong}
    assert words["vectorised"] == "passed, but only 0% of values are right"
    assert words["masks"] == words["loads"] == "passed"
    void = points_rows(result("Ann", verdict="not-allowed", failed=("from scratch",)), FIRST)
    assert {row.words for row in void if row.most} == {"passed, but not from scratch"}


def test_points_beyond_the_checks_have_a_row() -> None:
    """An assignment may give an answer with one mistake more than its checks bring."""
    ann = result("Ann", verdict="failed", failed=("values",), score=60.0)
    rows = points_rows(ann, FIRST)
    assert (rows[-1].check, rows[-1].words) == ("one mistake from right", "in addition")
    assert round(sum(row.points for row in rows), 6) == 60
    assert rows[-1].points == pytest.approx(60 - sum(row.points for row in rows[:-1]))


@pytest.mark.parametrize(
    "weights", [[1.0] * 3, [1.0, 2.0, 0.0], [0.1] * 11, [1e-9, 1.0], [1.0], [28.57, 71.43]]
)
@pytest.mark.parametrize("units", [1000, 10_000, 7, 0])
def test_all_units_are_divided(weights: list[float], units: int) -> None:
    """Each share differs by less than one unit from its exact part. Without a weight, it is 0."""
    shares = apportioned(weights, units)
    assert sum(shares) == units
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - units * weight / sum(weights)) < 1
        assert weight or not share
    assert apportioned([0.0, 0.0], units) == [0, 0]


def test_weights_are_those_of_the_assignment() -> None:
    """A check without a weight has no row. The points sum to 100."""
    assigned = AssignedChallenge("first", {"values": 6.0, "masks": 3.0, "bad sizes": 0.0})
    weights = check_weights(assigned, CHECKS)
    assert weights["values"] == pytest.approx(2 * weights["masks"])
    assert "bad sizes" not in weights
    assert sum(weights.values()) == pytest.approx(100)
    shares = challenge_shares(assignment(("first", "second")))
    assert shares == pytest.approx({"first": 1 / 3, "second": 2 / 3})


def test_rules_are_those_of_the_assignment() -> None:
    """Rules that the assignment does not set are left out."""
    settings = assignment(
        due=1_796_079_540.0, utc_offset=3600.0, grace=900.0, penalty=10.0, one_mistake=60.0
    )
    shown = "\n".join(rules(settings))
    for words in (
        "Due: 2026-11-30 23:59 (UTC+01:00).",
        "A file that comes at most 15 minutes later is in time.",
        "Each day late that has begun costs 10 of 100 points.",
        "right except for one known mistake gets at least 60 points",
    ):
        assert words in shown
    assert len(rules(assignment())) == 2


def test_penalty_is_never_more_than_the_score() -> None:
    """So score, penalty and points add up. No penalty is taken from points of a person."""
    late = Lateness(True, days=1, penalty=10.0)
    small = result("Ann", score=8.3)
    assert penalty_taken(grade_of(small, lateness=late, points=0.0)) == 8.3
    assert penalty_taken(grade_of(result("Ann"), lateness=late, points=90.0)) == 10
    decided = Override("Ann", "first", 40.0)
    assert penalty_taken(grade_of(small, lateness=late, points=40.0, override=decided)) == 0
    assert penalty_taken(grade_of(result("Ann", verdict=None), lateness=late)) == 0
    assert penalty_taken(grade_of(result("Ann"))) == 0


def rows(lateness: Lateness) -> tuple[tuple[str, str], ...]:
    """Return the labels and words about a submission that counts as it is."""
    return details(grade_of(result("Ann"), lateness=lateness))


def test_lateness_has_the_due_time_the_extension_and_the_penalty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Times are in the time zone of the machine, with its offset."""
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    late = Lateness(True, 1_000_000.0, 900_000.0, is_extended=True, days=2, penalty=20.0)
    assert rows(late) == (
        ("due", "1970-01-11 11:00 (UTC+01:00), with an extension"),
        ("handed in", "1970-01-12 14:46 (UTC+01:00)"),
        ("late", "2 days, −20 points"),
    )
    assert rows(Lateness(is_late=True, days=None)) == (("late", "time unknown, no penalty"),)
    in_grace = Lateness(submitted=900_060.0, due=900_000.0)
    assert rows(in_grace)[1][1] == "1970-01-11 11:01 (UTC+01:00), within the grace period"
    own_zone = Lateness(due=900_000.0, utc_offset=-12_600.0)
    assert rows(own_zone) == (("due", "1970-01-11 06:30 (UTC-03:30)"),)


def test_override_has_its_comment() -> None:
    """The comment follows the points."""
    decided = Override("Ann", "first", 40.0, "ok")
    grade = grade_of(result("Ann"), points=40.0, override=decided)
    assert details(grade) == (("override", "40 points. ok"), ("counts", "40 points"))
