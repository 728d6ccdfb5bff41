"""Which questions are asked, and in which order: due ones, then new ones. Pure; time and chance are passed in."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from trainer.hunt.planted_mistakes import fair
from trainer.model.challenge import Challenge, Mistake
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.question_bank import Question
from trainer.practice.schedule import ScheduledItem
from trainer.quiz.drawn_questions import (
    DrawnQuestion,
    draw,
    line_item,
    line_question,
    question_item,
)

_LINES = 0.25  # the share of new questions that ask for a line


@dataclass(frozen=True)
class TopicQuestions:
    """A name for `--topic`: a file of the bank, or a challenge. `questions` and `lines`: how many there are."""

    name: str
    title: str
    questions: int
    lines: int


@dataclass(frozen=True)
class QuestionPool:
    """What may be asked, by item."""

    questions: Mapping[str, Question]
    lines: Mapping[str, tuple[Challenge, Mistake]]

    def ask(self, item: str, rng: Random) -> DrawnQuestion:
        """Put the question of an item."""
        if item in self.questions:
            return draw(self.questions[item], rng)
        return line_question(*self.lines[item])


def pool_of(
    questions: Iterable[Question],
    challenges: Iterable[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
) -> QuestionPool:
    """All these questions, and the lines of the known mistakes, by challenge, of these challenges."""
    return QuestionPool(
        {question_item(one): one for one in questions},
        {
            line_item(challenge, mistake): (challenge, mistake)
            for challenge in challenges
            for mistake in fair(mistakes.get(challenge.id, ()))
        },
    )


def topics(
    titles: Mapping[str, str], challenges: Iterable[Challenge], pool: QuestionPool
) -> tuple[list[TopicQuestions], list[TopicQuestions]]:
    """The topics of the bank, and the challenges, as topics."""
    lines = Counter(challenge.id for challenge, _ in pool.lines.values())
    lines_by_topic = Counter(challenge.topic for challenge, _ in pool.lines.values())
    questions = Counter(one.topic for one in pool.questions.values())
    following = Counter(name for one in pool.questions.values() for name in one.challenges)
    return (
        [
            TopicQuestions(name, title, questions[name], lines_by_topic[name])
            for name, title in titles.items()
        ],
        [TopicQuestions(one.id, one.title, following[one.id], lines[one.id]) for one in challenges],
    )


def about(names: Sequence[str], pool: QuestionPool, wanted: str) -> QuestionPool:
    """What is asked about a topic of the bank, or what follows up a challenge and its lines.

    Args:
        names: those of all topics and challenges.

    Raises:
        DrillError: naming the nearest of them.
    """
    name = pack_reader.challenge_id(wanted.strip().lower())
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        near += [one for one in names if name and (name in one or one in name) and one not in near]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
        raise DrillError(
            f"No topic is called {wanted!r}. {hint} `attn-drill quiz --list` shows them all."
        )
    return QuestionPool(
        {
            item: one
            for item, one in pool.questions.items()
            if name == one.topic or name in one.challenges
        },
        {item: one for item, one in pool.lines.items() if name in (one[0].topic, one[0].id)},
    )


def order(
    pool: QuestionPool, known: Mapping[str, ScheduledItem], now: float, count: int, rng: Random
) -> list[str]:
    """At most `count` items: those that are due, the longest due first, then new ones; others only where there are neither.

    Of the new ones about a quarter ask for a line; every topic is as likely as another, and every challenge among the lines.

    Args:
        known: the items that were reviewed, by name.
        now: seconds since the epoch.
    """
    reviewed = sorted(
        (one for name, one in known.items() if name in pool.questions or name in pool.lines),
        key=lambda one: one.due_at,
    )
    due = [one.name for one in reviewed if one.is_due(now)][:count]
    questions = _mixed(
        [(one.topic, item) for item, one in pool.questions.items() if item not in known], rng
    )
    lines = _mixed(
        [(challenge.id, item) for item, (challenge, _) in pool.lines.items() if item not in known],
        rng,
    )
    new = _joined(questions, lines, count - len(due), rng)
    return [*due, *new] or [one.name for one in reviewed][:count]


def _mixed(named: Sequence[tuple[str, str]], rng: Random) -> list[str]:
    """Items shuffled so that at every place each name is as likely as another, as long as it has any left."""
    by_name: dict[str, list[str]] = {}
    for name, item in named:
        by_name.setdefault(name, []).append(item)
    for some in by_name.values():
        rng.shuffle(some)
    found: list[str] = []
    while by_name:
        name = rng.choice(list(by_name))
        found.append(by_name[name].pop())
        if not by_name[name]:
            del by_name[name]
    return found


def _joined(questions: Sequence[str], lines: Sequence[str], count: int, rng: Random) -> list[str]:
    """About a quarter lines, at any place; more or fewer only where one of the two runs out."""
    many = min(int(count * _LINES + rng.random()), len(lines))
    many = max(many, min(count - len(questions), len(lines)))
    some = [*lines[:many], *questions[: count - many]]
    places = rng.sample(range(len(some)), len(some))
    return [some[place] for place in places]
