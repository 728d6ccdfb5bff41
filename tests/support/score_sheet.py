"""A score sheet with hostile text in the learner's file."""

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
from attn_drill.packs.question_bank import FollowUp
from tests.support.interview import attempted

HOSTILE = (
    "x = '</code></pre><script>alert(1)</script>'  # & \x1b[2J\x07 <img src=http://a/b>\n"
    + "\tindented = 1\n"
    + "long_name = "
    + " + ".join(["value"] * 30)
    + "\n"
)
WHY = FollowUp("two", 1, "Why is `<b>one</b>` slow?", "Because 1 < 2,\nand `k` & `v` grow.")
PLAN = InterviewPlan(
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
            code=HOSTILE,
        ),
        StageState(True, True, 230.0, note="Nothing was handed in: <it> was gone."),
    ),
    question_seconds=200.0,
)
SHEET = ScoreSheet(
    began=1_700_000_000.0,
    plan=PLAN,
    state=STATE,
    problems=(
        ProblemRow(PLAN.stages[0], "The <first>", 0.3, 0.0, STATE.stages[0], "ref_one"),
        ProblemRow(PLAN.stages[1], "The second", 0.5, 400.0, STATE.stages[1], "ref_two"),
        ProblemRow(PLAN.stages[2], "The third", 0.2, 0.0, STATE.stages[2], "ref_three"),
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
