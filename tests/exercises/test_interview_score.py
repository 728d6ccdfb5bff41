"""Tests of the score of a mock interview."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from attn_drill.exercises.interview import (
    InterviewPlan,
    ProblemRow,
    Stage,
    StageState,
    score_parts,
    score_sheet,
    state_of,
)
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import QuestionAnswered, StageAttempted
from tests.support.report import BY_ID, EVENTS, PLAN, attempted


def row(weight: float, result: StageAttempted | None, **changes: Any) -> ProblemRow:
    """Return a problem of the score sheet."""
    state = StageState(result=result, code="x", **changes)
    return ProblemRow(Stage("c", "main problem", 600.0), "C", weight, 0.0, state, "")


RIGHT = attempted("c", 1.0, 60.0, passed=True)

HALF = msgspec.structs.replace(attempted("c", 1.0, 60.0), passed=6)


@pytest.mark.parametrize(
    ("problems", "share", "expected"),
    [
        ([row(1.0, RIGHT)], 0.9, (75, 15, 10)),
        ([row(1.0, RIGHT)], 1.5, (75, 7.5, 10)),
        ([row(1.0, RIGHT)], 3.0, (75, 0, 10)),
        ([row(1.0, RIGHT, hints=1, revealed_mistakes=1)], 1.0, (75, 15, 5)),
        ([row(1.0, RIGHT, hints=3, revealed_mistakes=4)], 1.0, (75, 15, 0)),
        ([row(1.0, RIGHT, reference_seen=True)], 1.0, (75, 15, 0)),
        ([row(1.0, HALF)], 0.1, (18.75, 0, 0)),
        ([row(1.0, None)], 0.1, (0, 0, 0)),
        ([row(0.25, RIGHT), row(0.75, HALF)], 1.0, (18.75 + 0.75 * 18.75, 3.75, 2.5)),
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
    parts = score_parts(problems, share)
    assert [part.points for part in parts] == pytest.approx(expected)
    assert sum(part.most for part in parts) == 100


@pytest.mark.parametrize(
    ("left", "points"), [(0, 75.0), (1, 56.25), (3, 18.75), (4, 0.0), (None, 28.125)]
)
def test_debugging_round_is_scored_by_its_repaired_bugs(left: int | None, points: float) -> None:
    """If the number of bugs is not known, the checks count, as in other problems."""
    problem = row(1.0, attempted("c", 1.0, 60.0, passed=left == 0, bugs_left=left))
    part = score_parts([replace(problem, bugs=("a", "b", "c", "d"))], 1.0)[0]
    assert part.points == points
    assert "bugs that are repaired" in part.rule
    assert "bugs" not in score_parts([problem], 1.0)[0].rule


def test_sheet_names_the_bugs_of_a_debugging_round() -> None:
    """A bug that no pack has any more is shown by its id; the advice is another hunt."""
    stages = (Stage("mini-gpt", "debugging", 600.0, ("no-scale", "gone")),)
    plan = InterviewPlan(20, 1, stages)
    sheet = score_sheet(plan, state_of(plan, []), BY_ID, {}, (), 0.0, {"no-scale": "No scale."})
    assert sheet.problems[0].bugs == ("No scale.", "gone")
    assert sheet.practise[0].startswith("attn-drill hunt mini-gpt --bugs 2: not solved yet")


def test_score_sheet_has_all_problems_and_questions() -> None:
    """It also has commands to practise with."""
    asked = [FollowUp("mha", number, "Why?", "So.") for number in (1, 2, 3)]
    sheet = score_sheet(
        PLAN, state_of(PLAN, EVENTS), BY_ID, {"sdpa": "ref", "mha": "ref"}, asked, 5.0
    )
    assert [
        (problem.stage.challenge, problem.passed, problem.weight) for problem in sheet.problems
    ] == [
        ("sdpa", True, 1 / 3),
        ("mha", False, 2 / 3),
    ]
    assert [question.rating for question in sheet.questions] == [3, 1, None]
    assert (sheet.solved, sheet.total) == (1, 25 + 5 + round(10 / 3 * 0.5))
    assert [command.split(":")[0] for command in sheet.practise] == [
        "attn-drill start mha",
        "attn-drill start sdpa",
        "attn-drill review --minutes 15",
    ]
    assert sheet.practise[-1].endswith("you rated 1 question about mha again or hard.")
    without = [event for event in EVENTS if not isinstance(event, QuestionAnswered)]
    unanswered = score_sheet(PLAN, state_of(PLAN, without), BY_ID, {}, asked, 5.0)
    assert unanswered.parts[::2] == sheet.parts[::2], "the learner's own ratings give no points"
    assert score_sheet(PLAN, state_of(PLAN, EVENTS), {}, {}, asked, 5.0).total == sheet.total, (
        "the score does not change if the pack no longer has the challenges"
    )
