"""Choose the questions to ask and their order: due questions first, then new questions."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    """The questions that may be asked."""

    questions: Mapping[str, Question]  # of the bank, by item
    lines: Mapping[str, tuple[Challenge, Mistake]]  # to find, by item

    def ask(self, item: str, rng: Random) -> DrawnQuestion:
        """Return the question of an item, with its values drawn anew."""
        if item in self.questions:
            return draw(self.questions[item], rng)
        return line_question(*self.lines[item])

    def reviewed(self, history: Mapping[str, ScheduledItem]) -> list[ScheduledItem]:
        """Return the reviewed items of this pool, the first due first."""
        names = {*self.questions, *self.lines}
        reviewed = [item for name, item in history.items() if name in names]
        return sorted(reviewed, key=lambda item: item.due_at)

    def about(self, name: str) -> QuestionPool:
        """Return the questions about a topic of the bank, or about a challenge."""
        questions = {
            item: question
            for item, question in self.questions.items()
            if name in (question.topic, *question.challenges)
        }
        lines = {
            item: line for item, line in self.lines.items() if name in (line[0].topic, line[0].id)
        }
        return QuestionPool(questions, lines)


def pool_of(
    questions: Iterable[Question],
    challenges: Iterable[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
) -> QuestionPool:
    """Return a pool of questions, and of the lines of known mistakes by challenge id."""
    lines = {
        line_item(challenge, mistake): (challenge, mistake)
        for challenge in challenges
        for mistake in fair_mistakes(mistakes.get(challenge.id, ()))
    }
    return QuestionPool({question_item(question): question for question in questions}, lines)


def known_name(names: Sequence[str], wanted: str) -> str:
    """Return the name of the topic or challenge that the learner means, or raise DrillError."""
    name = pack_reader.challenge_id(wanted.strip().lower())
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    for other in names:
        if name and (name in other or other in name) and other not in near:
            near.append(other)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    raise DrillError(
        f"No topic is called {wanted!r}. {hint} `attn-drill quiz --list` shows all topics."
    )


def order_items(
    pool: QuestionPool, history: Mapping[str, ScheduledItem], now: float, count: int, rng: Random
) -> list[str]:
    """Return at most `count` items to ask: due items, the longest due first, then new items."""
    reviewed = pool.reviewed(history)
    due = [item.name for item in reviewed if item.is_due(now)][:count]
    room = count - len(due)
    topics = {item: question.topic for item, question in pool.questions.items()}
    challenges = {item: challenge.id for item, (challenge, _) in pool.lines.items()}
    questions, lines = _new_items(topics, history, rng), _new_items(challenges, history, rng)
    # About a quarter of the new items ask for a line.
    line_count = max(int(room * _LINES + rng.random()), room - len(questions))
    chosen = lines[:line_count]
    chosen += questions[: room - len(chosen)]
    new = rng.sample(chosen, len(chosen))
    # If there are none, the other items follow in the order in which they become due.
    return [*due, *new] or [item.name for item in reviewed][:count]


def _new_items(names: Mapping[str, str], history: Collection[str], rng: Random) -> list[str]:
    """Return the new items so that each name comes once before any name comes again."""
    new = [item for item in names if item not in history]
    seen: Counter[str] = Counter()
    rounds: dict[str, int] = {}
    for item in rng.sample(new, len(new)):
        rounds[item] = seen[names[item]]
        seen[names[item]] += 1
    return sorted(rounds, key=lambda item: rounds[item])
