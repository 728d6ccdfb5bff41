"""Tests of the score of a mock interview."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.interview import BY_ID, EVENTS, PLAN
from trainer.interview.plan import InterviewPlan, Stage
from trainer.interview.score import ProblemRow, QuestionRow, score_parts, score_sheet
from trainer.interview.state import (
    StageResult,
    StageState,
    state_of,
)
from trainer.packs.follow_up import FollowUp


def row(weight: float, result: StageResult | None, **changes: Any) -> ProblemRow:
    """Return a problem of the score sheet."""
    return ProblemRow(
        "c",
        "C",
        "main problem",
        weight,
        600.0,
        0.0,
        StageState(result=result, code="x", **changes),
        "",
    )


RIGHT = StageResult("passed", 12, 12)

HALF = StageResult("failed", 6, 12, ("values",))


@pytest.mark.parametrize(
    ("problems", "share", "expected"),
    [
        ([row(1.0, RIGHT)], 0.9, (60, 15, 10)),
        ([row(1.0, RIGHT)], 1.5, (60, 7.5, 10)),
        ([row(1.0, RIGHT)], 3.0, (60, 0, 10)),
        ([row(1.0, RIGHT, hints=1, revealed_mistakes=1)], 1.0, (60, 15, 5)),
        ([row(1.0, RIGHT, hints=3, revealed_mistakes=4)], 1.0, (60, 15, 0)),
        ([row(1.0, RIGHT, reference_seen=True)], 1.0, (60, 15, 0)),
        ([row(1.0, HALF)], 0.1, (15, 0, 0)),
        ([row(1.0, None)], 0.1, (0, 0, 0)),
        ([row(0.25, RIGHT), row(0.75, HALF)], 1.0, (15 + 0.75 * 15, 3.75, 2.5)),
    ],
    ids=[
        "all",
        "1.5 times the time",
        "3 times the time",
        "help",
        "much help",
        "reference",
        "half the checks",
        "nothing",
        "two problems",
    ],
)
def test_score_has_parts_for_correctness_time_and_help(
    problems: list[ProblemRow], share: float, expected: tuple[float, ...]
) -> None:
    """The points are those of the rules on the sheet, 100 in total."""
    question = FollowUp("gqa", 1, "Why?", "So.")
    parts = score_parts(problems, [QuestionRow(question, 3), QuestionRow(question, None)], share)
    assert [part.points for part in parts] == pytest.approx([*expected, 7.5])
    assert sum(part.most for part in parts) == 100
    assert sum(part.most for part in score_parts(problems, [], share)) == 100


@pytest.mark.parametrize(
    ("left", "points"), [(0, 75.0), (1, 56.25), (3, 18.75), (4, 0.0), (None, 37.5)]
)
def test_debugging_round_is_scored_by_its_repaired_bugs(left: int | None, points: float) -> None:
    """If the number of bugs is not known, the checks count, as in other problems."""
    verdict = "passed" if left == 0 else "failed"
    problem = row(1.0, StageResult(verdict, 6, 6, (), left))
    problem = replace(problem, bugs=("a", "b", "c", "d"))
    assert score_parts([problem], [], 1.0)[0].points == points


def test_sheet_names_the_bugs_of_a_debugging_round() -> None:
    """A bug that no pack has any more is shown by its id; the advice is another hunt."""
    stages = (Stage("mini-gpt", "debugging", 600.0, ("no-scale", "gone")),)
    plan = InterviewPlan(20, 1, stages)
    sheet = score_sheet(plan, state_of(plan, []), BY_ID, {}, (), 0.0, {"no-scale": "No scale."})
    assert sheet.problems[0].bugs == ("No scale.", "gone")
    assert sheet.practise[0].startswith("attn-drill hunt mini-gpt --bugs 2: it does not pass yet")


@pytest.mark.parametrize(
    ("ratings", "points"), [((1,), 0.0), ((2,), 7.5), ((3,), 15.0), ((4,), 15.0), ((4, 2, 1), 7.5)]
)
def test_questions_are_scored_by_the_learners_own_rating(
    ratings: tuple[int, ...], points: float
) -> None:
    """The rule says that it is the learner's own rating."""
    rows = [QuestionRow(FollowUp("gqa", 1, "Why?", "So."), rating) for rating in ratings]
    part = score_parts([row(1.0, RIGHT)], rows, 1.0)[-1]
    assert (part.name, part.points) == ("questions", points)
    assert "own rating" in part.rule


def test_score_sheet_has_all_problems_and_questions() -> None:
    """It also has commands to practise with."""
    asked = [FollowUp("mha", number, "Why?", "So.") for number in (1, 2, 3)]
    sheet = score_sheet(
        PLAN, state_of(PLAN, EVENTS), BY_ID, {"sdpa": "ref", "mha": "ref"}, asked, 5.0
    )
    assert [(problem.challenge, problem.passed, problem.weight) for problem in sheet.problems] == [
        ("sdpa", True, 1 / 3),
        ("mha", False, 2 / 3),
    ]
    assert [question.rating for question in sheet.questions] == [3, 1, None]
    assert (
        sheet.total
        == round(sum(part.points for part in sheet.parts))
        == 20 + 5 + round(10 / 3 * 0.5) + 5
    )
    assert [command.split(":")[0] for command in sheet.practise] == [
        "attn-drill start mha",
        "attn-drill start sdpa",
        "attn-drill review --minutes 15",
    ]
    assert sheet.practise[-1].endswith("1 question about mha comes back.")
    assert score_sheet(PLAN, state_of(PLAN, EVENTS), {}, {}, asked, 5.0).total == sheet.total, (
        "the score does not change if the pack no longer has the challenges"
    )
