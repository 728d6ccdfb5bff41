"""Tests of the plan of a review."""

import pytest

from attn_drill.practice.schedule import (
    ReviewPart,
    challenge_forms,
    due_follow_ups,
    due_forms,
    items,
    review_plan,
)
from tests.support.stats import DAY, NOW, PACK, challenge, review

LONG, SHORT, SHORTER = (
    challenge_forms(challenge("long", minutes=40)),
    challenge_forms(challenge("short", minutes=20)),
    challenge_forms(challenge("shorter", minutes=15)),
)
QUESTION = (ReviewPart("follow-up:a:1", "follow-up", 1),)


def planned(due: list[tuple[ReviewPart, ...]], minutes: int) -> list[tuple[str, str]]:
    """Return the name and the form of each part, in order."""
    plan = review_plan(due, minutes)
    assert plan.minutes <= minutes
    parts = (*plan.light, *plan.rewrites)
    assert {part.item for part in parts}.isdisjoint(plan.left_out)
    assert len(parts) + len(plan.left_out) == len(due)
    return [(part.item.split(":")[1], part.form) for part in parts]


@pytest.mark.parametrize(
    ("due", "minutes", "parts"),
    [
        pytest.param([SHORT], 20, [("short", "rewrite")], id="exactly the par time"),
        pytest.param([SHORT], 19, [("short", "gaps")], id="a minute too little"),
        pytest.param(
            [LONG, SHORT, SHORTER],
            30,
            [("long", "gaps"), ("shorter", "gaps"), ("short", "rewrite")],
            id="the longest due that fits is written in full, and comes last",
        ),
        pytest.param(
            [LONG, SHORT, QUESTION],
            12,
            [("long", "gaps"), ("short", "gaps"), ("a", "follow-up")],
            id="all are light if no rewrite fits",
        ),
        pytest.param(
            [QUESTION, LONG, SHORT],
            7,
            [("a", "follow-up"), ("long", "gaps"), ("short", "line")],
            id="the last minutes take the shorter form",
        ),
        pytest.param([LONG, SHORT, SHORTER], 5, [("long", "gaps")], id="the longest due first"),
        pytest.param(
            [SHORT, SHORTER, LONG],
            39,
            [("long", "gaps"), ("short", "rewrite"), ("shorter", "rewrite")],
            id="time that remains goes to more rewrites",
        ),
        pytest.param(
            [SHORT, SHORTER, LONG],
            38,
            [("shorter", "gaps"), ("long", "gaps"), ("short", "rewrite")],
            id="a light form is not given up for a second rewrite",
        ),
        pytest.param([], 30, [], id="nothing is due"),
    ],
)
def test_plan_fits_the_minutes(
    due: list[tuple[ReviewPart, ...]], minutes: int, parts: list[tuple[str, str]]
) -> None:
    """Every due item is in the plan once, or left out."""
    assert planned(due, minutes) == parts


def test_due_items_are_those_that_the_packs_have() -> None:
    """The longest due comes first. Questions and lines belong to the quiz."""
    reviews = [
        review("challenge:a", 40),
        review("challenge:gone", 90),
        review("challenge:b", 0.1, 4),
        review("follow-up:a:1", 60),
        review("follow-up:a:9", 60),
        review("follow-up:b:1", 0.1, 4),
        review("question:q", 90),
        review("line:a:late", 90),
    ]
    scheduled = items(reviews, NOW)
    forms = due_forms(scheduled, PACK, {"follow-up:a:1", "follow-up:b:1"}, NOW)
    assert [parts[0].item for parts in forms] == ["follow-up:a:1", "challenge:a"]
    assert [part.form for part in forms[1]] == ["rewrite", "gaps", "line"]
    assert due_follow_ups(scheduled.values(), NOW) == {"a": 2}
    assert due_follow_ups(scheduled.values(), NOW + 400 * DAY) == {"a": 2, "b": 1}
