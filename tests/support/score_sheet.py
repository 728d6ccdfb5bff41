"""A score sheet with hostile text in the learner's file."""

from tests.support.interview import attempted
from trainer.interview.score import ProblemRow, QuestionRow, ScorePart, ScoreSheet
from trainer.interview.state import StageState
from trainer.packs.follow_up import FollowUp

HOSTILE = (
    "x = '</code></pre><script>alert(1)</script>'  # & \x1b[2J\x07 <img src=http://a/b>\n"
    + "\tindented = 1\n"
    + "long_name = "
    + " + ".join(["value"] * 30)
    + "\n"
)
WHY = FollowUp("two", 1, "Why is `<b>one</b>` slow?", "Because 1 < 2,\nand `k` & `v` grow.")
SHEET = ScoreSheet(
    began=1_700_000_000.0,
    minutes=45,
    seconds=2830.0,
    question_seconds=200.0,
    question_share_seconds=270.0,
    problems=(
        ProblemRow(
            "one",
            "The <first>",
            "warm-up",
            0.3,
            800.0,
            0.0,
            StageState(
                True,
                True,
                600.0,
                2,
                1,
                0,
                attempted("one", 1.0, 600.0, passed=True),
                False,
                "right = 1",
                "",
            ),
            "ref_one",
        ),
        ProblemRow(
            "two",
            "The second",
            "main problem",
            0.5,
            1200.0,
            400.0,
            StageState(
                True,
                True,
                1800.0,
                7,
                0,
                2,
                attempted("two", 1.0, 1800.0, failed=("values", "masks")),
                True,
                HOSTILE,
                "",
            ),
            "ref_two",
        ),
        ProblemRow(
            "three",
            "The third",
            "follow-up",
            0.2,
            430.0,
            0.0,
            StageState(True, True, 230.0, note="Nothing was handed in: <it> was gone."),
            "ref_three",
        ),
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
