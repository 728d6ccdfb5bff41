"""Tests of the text of questions and of the summary of a quiz."""

import time
from random import Random

import pytest

from tests.support.quiz import DAY, POOL
from trainer.practice.journal import Review
from trainer.practice.schedule import ScheduledItem
from trainer.quiz.drawn_questions import (
    DrawnQuestion,
)
from trainer.report.question_text import code_lines, question, summary


@pytest.mark.parametrize("width", [50, 80])
def test_questions_fit_the_terminal(width: int) -> None:
    """No line of prose, options, code or numbered lines is too wide."""
    rng = Random(2)
    for name in [*POOL.questions, *rng.sample(list(POOL.lines), 40)]:
        shown = question(POOL.ask(name, rng), width)
        assert max(map(len, shown.split("\n"))) <= width, name


def test_long_numbered_line_is_wrapped() -> None:
    """The rest of the line has no number and a deeper indent."""
    assert list(
        code_lines(["if x:", "    y = first(a, b) + second(c, d)", ""], 32, ["9", "10", "11"])
    ) == [
        " 9  if x:",
        "10      y = first(a, b) +",
        "            second(c, d)",
        "11",
    ]


def test_summary_counts_right_answers_by_topic() -> None:
    """It also has the next days on which items are due."""
    questions = [
        DrawnQuestion(f"question:{topic}", topic, "number", "", "", "")
        for topic in ("heads", "long", "long")
    ]
    scheduled = [
        ScheduledItem(str(day), (20_000 + day) * DAY + DAY / 2, 1.0, 1, Review("", "", 0.0, 3, ""))
        for day in (3, 1, 3, 2, 9)
    ]
    shown = summary(
        [(questions[0], True), (questions[1], False), (questions[2], True)], scheduled
    ).splitlines()
    days = [
        time.strftime("%Y-%m-%d", time.localtime((20_000 + day) * DAY + DAY / 2))
        for day in (1, 2, 3)
    ]
    assert shown == [
        "2 of 3 right.",
        "  heads  1 of 1",
        "  long   1 of 2",
        f"Due next: 1 on {days[0]}, 1 on {days[1]}, 2 on {days[2]}.",
    ]
    assert summary([(questions[0], False)], []) == "0 of 1 right."
