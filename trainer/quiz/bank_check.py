"""Check that a pack's question bank follows the rules.

Every formula can be computed, every text has all its values, and every answer is judged right if
it is typed as shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from trainer.packs import pack_reader
from trainer.packs.arithmetic import Value
from trainer.packs.question_bank import Question, read_bank, read_questions, read_topics
from trainer.quiz.drawn_questions import LETTERS, with_values

_MOST_DRAWS = 400


def bank_troubles(root: Path, other_packs: Sequence[Path] = ()) -> list[str]:
    """Return a sentence for each problem in the question bank of a pack.

    The list is empty if there is no problem or no question bank.

    Args:
        root: The folder of the pack.
        other_packs: The folders of other packs. The challenges of the pack may belong to the
            topics of these packs, and its questions may follow up the challenges of these packs.

    Raises:
        PackError: If a file cannot be read, or an entry lacks a key that its kind needs.
    """
    if not (topics := read_topics(root)):
        return []
    topics |= read_bank(other_packs).titles
    challenges = pack_reader.read_pack(root)
    troubles = [
        f"{challenge.folder / 'challenge.toml'}: no file of the question bank is called "
        f"{challenge.topic}.toml."
        for challenge in challenges
        if challenge.topic not in topics
    ]
    known = {
        pack_reader.challenge_id(folder.name)
        for pack in (root, *other_packs)
        for folder in pack_reader.challenge_folders(pack)
    }
    for question in read_questions(root):
        troubles += question_troubles(question, known)
    return troubles


def question_troubles(question: Question, challenges: Collection[str]) -> list[str]:
    """Return a sentence for each problem in a question.

    Args:
        question: The question.
        challenges: The ids of all known challenges.
    """
    troubles = [
        f"question {question.id!r} follows up {challenge_id!r}, which the pack does not have."
        for challenge_id in question.challenges
        if challenge_id not in challenges
    ]
    if not 0 <= question.tolerance < 0.5:
        troubles.append(
            f"question {question.id!r} has the tolerance {question.tolerance:g}; "
            "it must be at least 0 and less than 0.5."
        )
    if question.kind == "choice":
        return troubles + (
            [f"question {question.id!r} has more than {len(LETTERS)} options."]
            if len(question.wrong) >= len(LETTERS)
            else []
        )
    for drawn in draws(question, _MOST_DRAWS):
        if trouble := _draw_trouble(question, drawn):
            values = ", ".join(f"{name} = {value}" for name, value in drawn.items())
            return [*troubles, f"question {question.id!r} with {values} {trouble}."]
    return troubles


def _draw_trouble(question: Question, values: Mapping[str, Value]) -> str:
    try:
        drawn = with_values(question, values)
    except ValueError as error:
        return f"cannot be computed: {error}"
    if not math.isfinite(drawn.value) or drawn.value <= 0:
        return f"has the answer {drawn.value:g}; it must be more than 0"
    for text in (drawn.text, drawn.explanation):
        if unfilled := [
            name for name in (*values, *(question.derive or {}), "answer") if f"{{{name}}}" in text
        ]:
            return f"shows the placeholder {{{unfilled[0]}}}"
    if not drawn.judge(drawn.answer).right:
        return f"judges its own answer {drawn.answer} wrong"
    return ""


def draws(question: Question, most: int) -> Iterator[dict[str, Value]]:
    """Yield the possible draws of a question, at most `most` of them.

    If there are more, yield a part that is spread over all draws.
    """
    vary = question.vary or {}
    total = math.prod(len(values) for values in vary.values())
    every = itertools.product(*vary.values())
    step = max(1, -(-total // most))
    # A step that shares a factor with the number of values would never reach some of them.
    while step > 1 and any(math.gcd(step, len(values)) > 1 for values in vary.values()):
        step += 1
    for values in itertools.islice(every, 0, None, step):
        yield dict(zip(vary, values, strict=True))
