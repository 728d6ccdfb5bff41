"""Count the questions and lines that a learner knows. The functions are pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from attn_drill.practice.schedule import ScheduledItem
from attn_drill.quiz.question_order import QuestionPool

_GOOD = 3  # rating in fsrs; a worse rating means that the last answer was wrong


@dataclass(frozen=True)
class BankProgress:
    """The learner's progress through a pool of questions.

    Attributes:
        known_questions: The number of questions that were answered right and are not due.
        questions: The number of questions.
        known_lines: The number of lines that were found and are not due.
        lines: The number of lines to find.
        due: The number of questions and lines that are due.
    """

    known_questions: int
    questions: int
    known_lines: int
    lines: int
    due: int


def bank_progress(
    pool: QuestionPool, reviewed: Mapping[str, ScheduledItem], now: float
) -> BankProgress:
    """Return the learner's progress.

    Args:
        pool: The questions to count.
        reviewed: The reviewed items by name.
        now: The current time in seconds since the epoch.
    """
    return BankProgress(
        _known(pool.questions, reviewed, now),
        len(pool.questions),
        _known(pool.lines, reviewed, now),
        len(pool.lines),
        sum(
            item.is_due(now)
            for name, item in reviewed.items()
            if name in pool.questions or name in pool.lines
        ),
    )


def _known(names: Collection[str], reviewed: Mapping[str, ScheduledItem], now: float) -> int:
    return sum(
        reviewed[name].last.rating >= _GOOD and not reviewed[name].is_due(now)
        for name in names
        if name in reviewed
    )
