"""Choose the questions to ask and their order: due questions first, then new questions.

The functions are pure: the caller passes the current time and the random number generator.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random

from attn_drill.hunt.planted_mistakes import fair_mistakes
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import Question
from attn_drill.practice.schedule import ScheduledItem
from attn_drill.quiz.drawn_questions import (
    DrawnQuestion,
    draw,
    line_item,
    line_question,
    question_item,
)

_LINES = 0.25  # the share of new questions that ask for a line


@dataclass(frozen=True)
class QuestionPool:
    """The questions that may be asked.

    Attributes:
        questions: The questions of the bank by item.
        lines: The challenge and mistake of each line question by item.
    """

    questions: Mapping[str, Question]
    lines: Mapping[str, tuple[Challenge, Mistake]]

    def ask(self, item: str, rng: Random) -> DrawnQuestion:
        """Return the question of an item, with its values drawn anew."""
        if item in self.questions:
            return draw(self.questions[item], rng)
        return line_question(*self.lines[item])

    def about(self, name: str) -> QuestionPool:
        """Return the questions about a topic of the bank, or about a challenge.

        The questions about a challenge are its follow-up questions and its lines.
        """
        return QuestionPool(
            {
                item: question
                for item, question in self.questions.items()
                if name in (question.topic, *question.challenges)
            },
            {
                item: (challenge, mistake)
                for item, (challenge, mistake) in self.lines.items()
                if name in (challenge.topic, challenge.id)
            },
        )


def pool_of(
    questions: Iterable[Question],
    challenges: Iterable[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
) -> QuestionPool:
    """Return a pool of questions, and of the lines of known mistakes.

    Args:
        questions: The questions of the bank.
        challenges: The challenges.
        mistakes: The known mistakes by challenge id.
    """
    return QuestionPool(
        {question_item(question): question for question in questions},
        {
            line_item(challenge, mistake): (challenge, mistake)
            for challenge in challenges
            for mistake in fair_mistakes(mistakes.get(challenge.id, ()))
        },
    )


def known_name(names: Sequence[str], wanted: str) -> str:
    """Return the name of the topic or challenge that the learner means.

    Args:
        names: The names of all topics and challenges.
        wanted: The name that the learner gave.

    Raises:
        DrillError: If no topic or challenge has this name. The message has the nearest names.
    """
    name = pack_reader.challenge_id(wanted.strip().lower())
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    near += [
        other for other in names if name and (name in other or other in name) and other not in near
    ]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    raise DrillError(
        f"No topic is called {wanted!r}. {hint} `attn-drill quiz --list` shows all topics."
    )


def order_items(
    pool: QuestionPool, known: Mapping[str, ScheduledItem], now: float, count: int, rng: Random
) -> list[str]:
    """Return the items to ask, at most `count`.

    Due items come first, the longest due first, then new items. If there are no due and no new
    items, the other items follow in the order in which they become due. About a quarter of the new
    items ask for a line. All topics take turns, and so do all challenges among the lines.

    Args:
        pool: The questions to choose from.
        known: The reviewed items by name.
        now: The current time in seconds since the epoch.
        count: The largest number of items.
        rng: The random number generator.
    """
    reviewed = sorted(
        (item for name, item in known.items() if name in pool.questions or name in pool.lines),
        key=lambda item: item.due_at,
    )
    due = [item.name for item in reviewed if item.is_due(now)][:count]
    room = count - len(due)
    new_questions = [
        (question.topic, item) for item, question in pool.questions.items() if item not in known
    ]
    new_lines = [
        (challenge.id, item) for item, (challenge, _) in pool.lines.items() if item not in known
    ]
    questions, lines = _mixed(new_questions, rng), _mixed(new_lines, rng)
    line_count = max(int(room * _LINES + rng.random()), room - len(questions))
    chosen = lines[:line_count]
    chosen += questions[: room - len(chosen)]
    new = rng.sample(chosen, len(chosen))
    return [*due, *new] or [item.name for item in reviewed][:count]


def _mixed(named: Iterable[tuple[str, str]], rng: Random) -> list[str]:
    """Shuffle items so that each name comes once before any name comes again.

    Args:
        named: Pairs of a name and an item.
        rng: The random number generator.
    """
    by_name: dict[str, list[str]] = {}
    for name, item in named:
        by_name.setdefault(name, []).append(item)
    groups = [rng.sample(items, len(items)) for items in by_name.values()]
    rounds = [[item for item in items if item] for items in zip_longest(*groups)]
    return [item for items in rounds for item in rng.sample(items, len(items))]
