"""Helpers for tests of the report."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType

from attn_drill.exercises.interview import (
    InterviewPlan,
    InterviewState,
    ProblemRow,
    QuestionRow,
    ScorePart,
    ScoreSheet,
    Stage,
    StageState,
)
from attn_drill.model.case import Case
from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, ErrorMap, Frame, Mismatch, Outcome, Report
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import (
    InterviewEvent,
    InterviewFinished,
    MistakeShown,
    QuestionAnswered,
    StageAttempted,
    StageBegan,
    StageEnded,
    StageHinted,
    StageLeft,
    StageReplaced,
)
from attn_drill.report.terminal import render, show

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
TILED = pack_reader.solution(GQA).replace(
    "k.repeat_interleave(group_size, dim=1)", "k.repeat(1, group_size, 1, 1)"
)


def as_text(report: Report, width: int = 80, *, colour: bool = False, **options: Any) -> str:
    """Return the report as text of a terminal of this width. `options` are for `render`."""
    console = Console(
        width=width,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        color_system="truecolor" if colour else None,
    )
    with console.capture() as capture:
        console.print(render(report, width, **options))
    return capture.get()


def printed(report: Report, **options: Any) -> str:
    """Return the output of `show`, in 80 columns or in the columns of the environment."""
    stream = io.StringIO()
    show(report, stream, **options)
    return stream.getvalue()


def lines_of(parts: Iterable[RenderableType], width: int = 80) -> list[str]:
    """Return the lines of parts of a report, without blanks at their ends."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(Group(*parts))
    return [line.rstrip() for line in capture.get().splitlines()]


def words_of(parts: Iterable[RenderableType]) -> str:
    """Return the text of parts of a report, without line breaks."""
    return " ".join(" ".join(lines_of(parts)).split())


def report_with(outcome: Outcome, **fields: Any) -> Report:
    """Return a failed report with one outcome."""
    case = Case("a [case]", {}, {"out": "B L"}, {"B": 2, "L": 3})
    return Report("gqa", "f.py", 1, "failed", (outcome,), (case,), **fields)


NO_SCALE = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why sqrt?")
TRANSPOSED = Mistake("transposed", "a", "b", "Two axes are swapped.", "Which axis is H?")
SOURCE = "def forward(q, k):\n    k = k.mT\n    scores = q @ k\n    return scores\n"
# A line, its results, and two likely mistakes, for a report with SOURCE.
DIAGNOSIS = Diagnosis(
    mistakes=(NO_SCALE, TRANSPOSED),
    first_line=Frame(3, "forward", "scores = q @ k"),
    case=1,
    last_reached="q",
    first_missed="scores",
    cleared=("mask",),
)


def error_map(rows: str, columns: str, *off: tuple[float | None, ...]) -> ErrorMap:
    """Return an error map with a cell for each index."""
    return ErrorMap(rows, columns, len(off), len(off[0]), 1, 1, off)


def explained(mismatch: Mismatch | None = None, **fields: Any) -> Report:
    """Return a failed report with SOURCE and DIAGNOSIS."""
    outcome = Outcome("values", "failed", "3 of 6 values differ", "a [case]", 1, mismatch)
    return report_with(outcome, **{"source": SOURCE, "diagnosis": DIAGNOSIS, **fields})


HOSTILE = (
    "[axis 0, two]",
    "[bold]",
    "[/]",
    "[/red]",
    "[link=x]y[/link]",
    ":smile:",
    "[[x]]",
    "\\[z]",
)


BUILT_IN = pack_reader.built_in_pack()

CHALLENGES = pack_reader.read_pack(BUILT_IN)

BY_ID = {challenge.id: challenge for challenge in CHALLENGES}

# Made up, so that the tests do not depend on the answers of the pack.
QUESTIONS = tuple(
    FollowUp(challenge.id, number, f"Question {number} on {challenge.id}?", "So.")
    for challenge in CHALLENGES
    for number in (1, 2, 3, 4)
)

PLAN = InterviewPlan(
    20,
    1,
    (Stage("sdpa", "warm-up", 300.0), Stage("mha", "main problem", 600.0)),
    ("follow-up:mha:1", "follow-up:mha:2"),
)


def attempted(
    challenge: str, at: float, seconds: float, *, passed: bool = False, **changes: Any
) -> StageAttempted:
    """Return the event of an attempt, by default of a failed one."""
    result = StageAttempted(
        challenge,
        at,
        interview="i",
        seconds=seconds,
        verdict="passed" if passed else "failed",
        passed=12 if passed else 9,
        total=12,
        failed=() if passed else ("values",),
    )
    return msgspec.structs.replace(result, **changes)


FIRST, SECOND = {"subject": "sdpa", "interview": "i"}, {"subject": "mha", "interview": "i"}
END: dict[str, Any] = {"code": None, "note": "", "reference_seen": False}

EVENTS: tuple[InterviewEvent, ...] = (
    StageBegan(**FIRST, at=1.0, seconds=0.0),
    attempted("sdpa", 2.0, 50.0),
    StageHinted(**FIRST, at=3.0, seconds=60.0, level=1),
    MistakeShown(**FIRST, at=4.0, seconds=61.0),
    attempted("sdpa", 5.0, 100.0, passed=True),
    StageLeft(**FIRST, at=6.0, seconds=110.0),
    StageEnded(**FIRST, at=7.0, seconds=110.0, **{**END, "code": "x"}),
    StageBegan(**SECOND, at=8.0, seconds=0.0),
    attempted("mha", 9.0, 900.0, count=3),
    attempted("mha", 9.5, 905.0),
    StageReplaced(**SECOND, at=9.6, seconds=906.0),
    StageEnded(**SECOND, at=11.0, seconds=910.0, **{**END, "note": "gone", "reference_seen": True}),
    QuestionAnswered("follow-up:mha:1", 12.0, interview="i", seconds=20.0, rating=3),
    QuestionAnswered("follow-up:mha:2", 13.0, interview="i", seconds=50.0, rating=1),
    InterviewFinished("", 14.0, interview="i"),
)


HOSTILE_CODE = (
    "x = '</code></pre><script>alert(1)</script>'  # & \x1b[2J\x07 <img src=http://a/b>\n"
    + "\tindented = 1\n"
    + "long_name = "
    + " + ".join(["value"] * 30)
    + "\n"
)
WHY = FollowUp("two", 1, "Why is `<b>one</b>` slow?", "Because 1 < 2,\nand `k` & `v` grow.")
SHEET_PLAN = InterviewPlan(
    45,
    1,
    (
        Stage("one", "warm-up", 800.0),
        Stage("two", "main problem", 1200.0),
        Stage("three", "follow-up", 430.0),
    ),
)
STATE = InterviewState(
    (
        StageState(
            True,
            True,
            600.0,
            attempts=2,
            hints=1,
            result=attempted("one", 1.0, 600.0, passed=True),
            code="right = 1",
        ),
        StageState(
            True,
            True,
            1800.0,
            attempts=7,
            revealed_mistakes=2,
            result=attempted("two", 1.0, 1800.0, failed=("values", "masks")),
            reference_seen=True,
            code=HOSTILE_CODE,
        ),
        StageState(True, True, 230.0, note="Nothing was handed in: <it> was gone."),
    ),
    question_seconds=200.0,
)
SHEET = ScoreSheet(
    began=1_700_000_000.0,
    plan=SHEET_PLAN,
    state=STATE,
    problems=(
        ProblemRow(SHEET_PLAN.stages[0], "The <first>", 0.3, 0.0, STATE.stages[0], "ref_one"),
        ProblemRow(SHEET_PLAN.stages[1], "The second", 0.5, 400.0, STATE.stages[1], "ref_two"),
        ProblemRow(SHEET_PLAN.stages[2], "The third", 0.2, 0.0, STATE.stages[2], "ref_three"),
    ),
    questions=(
        QuestionRow(WHY, 2),
        QuestionRow(FollowUp("two", 2, "How many?", "Twelve."), 1),
        QuestionRow(FollowUp("two", 3, "And then?", "Nothing."), None),
    ),
    parts=(
        ScorePart("correctness", 40.5, 75, "the rule of <correctness>"),
        ScorePart("time", 3.0, 15, "the rule of time"),
    ),
    practise=("attn-drill start two: not solved yet.",),
)
