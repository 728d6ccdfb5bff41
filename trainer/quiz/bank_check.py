"""Hold a pack's question bank to the rules: every number can be computed, every text is filled, every answer as shown is taken back as right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from trainer.packs import pack_reader
from trainer.packs.arithmetic import Value
from trainer.packs.question_bank import Question, read_bank, read_questions, read_topics
from trainer.quiz.drawn_questions import LETTERS, judge, with_values

_MOST_DRAWS = 400


def bank_troubles(root: Path, beside: Sequence[Path] = ()) -> list[str]:
    """What is wrong with the bank of a pack, a sentence each; [] where nothing is, or where it has none.

    Args:
        root: the pack.
        beside: other packs: their topics may be those of its challenges, and its questions may follow up their challenges.

    Raises:
        PackError: where a file cannot be read, or an entry lacks what its kind needs.
    """
    if not (topics := read_topics(root)):
        return []
    topics |= read_bank(beside).titles
    challenges = pack_reader.read_pack(root)
    found = [
        f"{one.folder / 'challenge.toml'}: no file of the question bank is called {one.topic}.toml."
        for one in challenges
        if one.topic not in topics
    ]
    known = {
        pack_reader.challenge_id(folder.name)
        for one in (root, *beside)
        for folder in pack_reader.challenge_folders(one)
    }
    for question in read_questions(root):
        found += question_troubles(question, known)
    return found


def question_troubles(question: Question, challenges: Collection[str]) -> list[str]:
    """What is wrong with one question, a sentence each; `challenges`: the ids that there are."""
    found = [
        f"question {question.id!r} follows up {one!r}, which the pack does not have."
        for one in question.challenges
        if one not in challenges
    ]
    if not 0 <= question.tolerance < 0.5:
        found.append(
            f"question {question.id!r} has the tolerance {question.tolerance:g}; it must be at least 0 and less than 0.5."
        )
    if question.kind == "choice":
        return found + (
            [f"question {question.id!r} has more than {len(LETTERS)} options."]
            if len(question.wrong) >= len(LETTERS)
            else []
        )
    for drawn in draws(question, _MOST_DRAWS):
        if trouble := _draw_trouble(question, drawn):
            return [
                *found,
                f"question {question.id!r} with {', '.join(f'{name} = {value}' for name, value in drawn.items())} {trouble}.",
            ]
    return found


def _draw_trouble(question: Question, drawn: Mapping[str, Value]) -> str:
    try:
        asked = with_values(question, drawn)
    except ValueError as error:
        return f"cannot be computed: {error}"
    if not math.isfinite(asked.value) or asked.value <= 0:
        return f"has the answer {asked.value:g}; it must be more than 0"
    for text in (asked.text, asked.explanation):
        if left := [
            name for name in (*drawn, *(question.derive or {}), "answer") if f"{{{name}}}" in text
        ]:
            return f"shows {{{left[0]}}} as it is"
    if not judge(asked, asked.answer).right:
        return f"refuses its own answer as it is shown, {asked.answer}"
    return ""


def draws(question: Question, most: int) -> Iterator[dict[str, Value]]:
    """All draws of a question; of more than `most`, as many, spread over all."""
    vary = question.vary or {}
    total = math.prod(len(values) for values in vary.values())
    every = itertools.product(*vary.values())
    step = max(1, -(-total // most))
    # A step that shares a factor with the number of values would never reach some of them.
    while step > 1 and any(math.gcd(step, len(values)) > 1 for values in vary.values()):
        step += 1
    for values in itertools.islice(every, 0, None, step):
        yield dict(zip(vary, values, strict=True))
