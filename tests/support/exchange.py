"""Facts of all kinds, and a journal with them."""

from pathlib import Path

from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Fact,
    Hinted,
    Hunted,
    InterviewBegan,
    InterviewFinished,
    MistakeShown,
    Overruled,
    QuestionAnswered,
    QuestionsLeft,
    Replaced,
    Resumed,
    Revealed,
    Reviewed,
    StageAttempted,
    StageBegan,
    StageEnded,
    StageHinted,
    StageLeft,
    StageRepaired,
    StageReplaced,
    Started,
)
from attn_drill.practice.journal import Journal

TEXT = "x = 'é 注意力 🙂'\r\n\0\u2028\x85\x1b[31m\"\\u00e9\"\x7f\ufeff"

FACTS: tuple[Fact, ...] = (
    Started("gqa", 10.0, path=f"/a {TEXT}/gqa.py", level="guided"),
    Resumed("gqa", 11.0),
    Attempted("gqa", 12.0, "first", seed=(1 << 63) - 1, verdict="failed", source="x"),
    Replaced("gqa", 12.5, attempt="first"),
    Attempted(
        "gqa",
        13.25,
        "second",
        seed=0,
        verdict="not-allowed",
        source=TEXT,
        checks={"loads": "passed", "values": "failed", "masks": "skipped"},
        seconds=0.1,
        hints=2,
        solution=True,
        purpose="review",
    ),
    Diagnosed("gqa", 14.0, attempt="second", mistakes=("no-scale", "x"), line=3),
    Diagnosed("gqa", 14.5, attempt="first", mistakes=(), line=None),
    Hinted("gqa", 15.0, level=3),
    Revealed("gqa", 1e-300),
    Reviewed("question:a", 1e11, "review", rating=1, reason=TEXT),
    Overruled("question:a", 17.0, review="review", rating=4),
    Hunted("gqa", 18.0, mistakes=("a", "b"), path="/b.py"),
    InterviewBegan("", 19.0, "interview", plan={"minutes": 45.5, TEXT: [None, {"a": True}]}),
    StageBegan("gqa", 20.0, interview="interview"),
    StageAttempted(
        "gqa",
        21.0,
        interview="interview",
        seconds=0.5,
        verdict="failed",
        passed=3,
        total=5,
        failed=("values", "masks"),
        bugs_left=2,
        count=0,
    ),
    StageReplaced("gqa", 21.1, interview="interview"),
    StageRepaired("gqa", 21.2, interview="interview", bugs_left=1),
    StageHinted("gqa", 22.0, interview="interview", seconds=1.0, level=2),
    MistakeShown("gqa", 23.0, interview="interview", seconds=2.0, count=3),
    StageLeft("gqa", 24.0, interview="interview", seconds=3.0),
    StageEnded(
        "gqa", 25.0, interview="interview", code=TEXT, note=TEXT, reference_seen=True, seconds=3.5
    ),
    QuestionAnswered("follow-up:gqa:1", 26.0, interview="interview", seconds=4.0, rating=2),
    QuestionsLeft("", 27.0, interview="interview", seconds=5.0),
    InterviewFinished("", 28.0, interview="interview"),
)


def filled_journal(folder: Path) -> Journal:
    """Return a journal with facts of all kinds."""
    journal = Journal(folder)
    for fact in FACTS:
        journal.add(fact)
    assert journal.trouble is None
    return journal
