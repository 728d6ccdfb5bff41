"""Choose the questions to ask and their order, and check the question bank of a pack."""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attn_drill.exercises.planted_mistakes import fair_mistakes
from attn_drill.exercises.questions import (
    LETTERS,
    DrawnQuestion,
    draw,
    line_item,
    line_question,
    question_item,
    with_values,
)
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import Question, Value, read_topic, topic_files
from attn_drill.packs.toml import key_error
from attn_drill.practice.schedule import ScheduledItem

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


_MOST_DRAWS = 400


def bank_problems(root: Path, other_packs: Sequence[Path] = ()) -> list[str]:
    """Return a sentence for each problem in the question bank of a pack."""
    # Its questions may also follow up the challenges of other packs.
    challenges = {
        pack_reader.challenge_id(folder.name)
        for pack in (root, *other_packs)
        for folder in pack_reader.challenge_folders(pack)
    }
    problems: list[str] = []
    ids: dict[str, Path] = {}
    for path in topic_files(root):
        try:
            questions = read_topic(path).question
        except PackError as error:
            problems.append(str(error))
            continue
        for index, question in enumerate(questions):
            faults = question_faults(question, challenges)
            if question.id in ids:
                faults.append(f"has the id of a question in {ids[question.id].name}. Rename one")
            ids[question.id] = path
            problems += [
                str(key_error(path, ("question", index), f"question {question.id!r} {fault}."))
                for fault in faults
            ]
    return problems


def question_faults(question: Question, challenges: Collection[str]) -> list[str]:
    """Return the end of a sentence for each fault of a question, without full stop."""
    faults = [
        f"follows up {challenge!r}, which no pack has. Correct `challenges`"
        for challenge in question.challenges
        if challenge not in challenges
    ]
    if question.kind == "choice" and len(question.wrong) >= len(LETTERS):
        faults.append(f"has more than {len(LETTERS)} options. Remove some of `wrong`")
    for drawn in draws(question, _MOST_DRAWS) if question.kind == "number" else ():
        if fault := _fault_of_draw(question, drawn):
            values = ", ".join(f"{name} = {value}" for name, value in drawn.items())
            return [*faults, f"with {values} {fault}" if values else fault]
    return faults


def _fault_of_draw(question: Question, values: Mapping[str, Value]) -> str:
    try:
        drawn = with_values(question, values)
    except ValueError as error:
        return f"cannot be computed: {error}"
    if not math.isfinite(drawn.value) or drawn.value <= 0:
        return f"has the answer {drawn.value:g}. Change a formula so that it is more than 0"
    if not drawn.judge(drawn.answer).right:
        return f"judges its own answer {drawn.answer} wrong. Correct `tolerance` or `unit`"
    return ""


def draws(question: Question, most: int) -> Iterator[dict[str, Value]]:
    """Yield at most `most` of the possible draws of a question, spread over all of them."""
    counts = [len(values) for values in question.vary.values()]
    total = math.prod(counts)
    step = max(1, math.ceil(total / most))
    # A step that shares a factor with the number of values would never reach some of them.
    while step > 1 and math.gcd(step, total) > 1:
        step += 1
    every = itertools.product(*question.vary.values())
    for values in itertools.islice(every, 0, None, step):
        yield dict(zip(question.vary, values, strict=True))
