"""Tests of the words about points, weights, lateness and overrides."""

import re
import time

import pytest

from tests.support.class_results import CHECKS, result
from trainer.classroom.records import AssignedChallenge, Lateness, Override
from trainer.export.grade_words import (
    lateness_rows,
    override_words,
    points_lines,
    points_rows,
    time_in_words,
    weight_rows,
    weights_in_words,
)

FIRST = AssignedChallenge("first")


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine is in a time zone one hour east of UTC."""
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()


def test_table_of_points_sums_to_the_score() -> None:
    """Each line has a check, its points of the most points, and its status in words."""
    ann = result("Ann", verdict="failed", failed=("masks",), skipped=("gradients",))
    lines = points_lines(ann, FIRST)
    assert lines[2].split() == ["values", "29.9", "of", "29.9", "passed"]
    assert lines[3].split() == ["masks", "0.0", "of", "22.4", "failed,", "0%", "right"]
    assert lines[4].split()[3:] == ["14.9", "incomplete,", "0%", "right"]
    assert lines[-1].split() == ["all", "checks", "62.7", "of", "100.0"]
    rows = points_rows(ann, FIRST)
    assert sum(row.points for row in rows) == pytest.approx(ann.score, abs=0.05)
    assert sum(row.most for row in rows) == pytest.approx(100)
    ends = {found.end() for line in lines if (found := re.search(r"of +[\d.]+", line))}
    assert len(ends) == 1


def test_pass_without_points_has_a_reason() -> None:
    """Fast code with wrong values, and library code."""
    words = {
        row.check: row.words
        for row in points_rows(result("Ann", verdict="failed", failed=("values", "dtype")), FIRST)
    }
    assert words["vectorised"] == words["bad sizes"] == "passed, but only 0% of values are right"
    assert words["masks"] == "passed"
    void = points_rows(result("Ann", verdict="not-allowed", failed=("from scratch",)), FIRST)
    assert {row.words for row in void} == {"passed, but not from scratch"}
    assert not any(row.points for row in void)


def test_submission_without_points_has_no_table() -> None:
    """The grader failed, or no check brings points."""
    assert points_lines(result("Ann", verdict=None), FIRST) == ()
    without = AssignedChallenge("first", dict.fromkeys(CHECKS, 0.0))
    assert points_lines(result("Ann"), without) == ()


def test_weights_are_those_of_the_assignment() -> None:
    """The other checks keep their weights. The points sum to 100."""
    changed = AssignedChallenge("first", {"values": 5.0, "bad sizes": 0.0})
    rows = {row.checks: row.weight for row in weight_rows(changed, CHECKS)}
    assert rows == {
        "shapes": 0.2,
        "dtype": 0.2,
        "values": 5.0,
        "masks": 3.0,
        "gradients": 2.0,
        "train/eval": 1.0,
        "properties": 1.0,
        "vectorised": 1.0,
    }
    assert sum(row.points for row in weight_rows(changed, CHECKS)) == pytest.approx(100)
    few = weight_rows(FIRST, ("dtype", "values"))
    assert [(row.checks, round(row.points, 1)) for row in few] == [("dtype", 4.8), ("values", 95.2)]
    assert "(dtype 0.2, values 4)" in weights_in_words(few)
    assert weights_in_words(()) == ""


@pytest.mark.usefixtures("in_berlin")
def test_lateness_has_the_due_time_the_extension_and_the_penalty() -> None:
    """Times are in the time zone of the machine, with its offset."""
    late = Lateness(True, 1_000_000.0, 900_000.0, is_extended=True, days=2, penalty=20.0)
    assert lateness_rows(late) == (
        ("due", "1970-01-11 11:00 (UTC+01:00), with an extension"),
        ("handed in", "1970-01-12 14:46 (UTC+01:00)"),
        ("late", "2 days, −20 points"),
    )
    assert lateness_rows(Lateness(is_late=True, days=None)) == (
        ("late", "time unknown, no penalty"),
    )
    in_grace = Lateness(submitted=900_060.0, due=900_000.0)
    assert lateness_rows(in_grace)[1] == (
        "handed in",
        "1970-01-11 11:01 (UTC+01:00), within the grace period",
    )
    assert lateness_rows(Lateness()) == ()
    own_zone = Lateness(due=900_000.0, utc_offset=-12_600.0)
    assert lateness_rows(own_zone) == (("due", "1970-01-11 06:30 (UTC-03:30)"),)
    assert time_in_words(1e300) == "1e+300 seconds after 1970"


def test_override_has_its_comment() -> None:
    """The comment follows the points."""
    assert override_words(Override("Ann", "", 85.0, "Well told.")) == ("85 points. Well told.")
    assert override_words(Override("Ann", "gqa", 0.0)) == "0 points."
