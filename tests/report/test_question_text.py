"""Tests of the text of questions and of the summary of a quiz."""

import time
from collections.abc import Sequence
from random import Random

import pytest

from attn_drill.exercises.questions import Choice, FindLine, QuestionPool
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.schedule import ScheduledItem, items
from attn_drill.report.question_text import code_lines, progress_line, question, shifted, summary
from tests.support.exercises import DAY, POOL


@pytest.mark.sampled(2)
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


@pytest.mark.parametrize("width", [50, 80])
def test_indented_code_fits_the_width(width: int) -> None:
    """Empty lines have no blanks."""
    call = "self.q_proj(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)"
    lines = shifted(f"def f(x):\n\n    return {call}", width).split("\n")
    assert (lines[0], lines[1]) == ("    def f(x):", "")
    assert max(map(len, lines)) <= width
    assert "".join("".join(lines[2:]).split()) == "return" + "".join(call.split())


def progress_of(pool: QuestionPool, *reviews: tuple[str, float, int]) -> str:
    """Return the progress after reviews: an item, the days before now, and a rating."""
    now = 200.5 * DAY
    facts = [
        Reviewed(item, now - days * DAY, item, rating=rating) for item, days, rating in reviews
    ]
    return progress_line(pool, items(facts, now), now)


def test_known_is_answered_right_and_not_due() -> None:
    """A wrong answer is not known, even before it is due. Items of other packs do not count."""
    (first, second, third), line = list(POOL.questions)[:3], next(iter(POOL.lines))
    reviews = [
        (first, 0.1, 3),
        (second, 100.0, 3),
        (third, 0.1, 1),
        (line, 0.1, 3),
        ("question:of-another-pack", 0.1, 3),
        ("challenge:gqa", 100.0, 3),
    ]
    assert progress_of(POOL, *reviews) == (
        f"1 of {len(POOL.questions)} questions and 1 of {len(POOL.lines)} lines known; 1 due."
    )
    only_lines = QuestionPool({}, {line: POOL.lines[line]})
    assert progress_of(only_lines) == "0 of 1 lines known; nothing due."


def test_colours_are_added_to_code_and_not_to_line_numbers() -> None:
    """A question of another kind has indented code without numbers."""
    asked = Choice(
        item="", topic="t", text="Which?", explanation="", code="a = 1", options=(), right=0
    )
    line = FindLine(item="", topic="t", text="Which?", explanation="", code="a\nb", lines=(2,))

    def capitals(lines: Sequence[str]) -> list[str]:
        return [line.upper() for line in lines]

    assert question(line, 80, capitals).splitlines() == ["Which?", "", "1  A", "2  B"]
    assert question(asked, 80, capitals).splitlines()[:3] == ["Which?", "", "    A = 1"]


def test_summary_counts_right_answers_by_topic() -> None:
    """It also has the next days on which items are due."""
    questions = [
        FindLine(item="", topic=topic, text="", explanation="", lines=(1,))
        for topic in ("heads", "long", "long")
    ]
    scheduled = [
        ScheduledItem(
            str(day), (20_000 + day) * DAY + DAY / 2, 1.0, 1, Reviewed("", 0.0, "", rating=3)
        )
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
