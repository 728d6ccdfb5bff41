"""Check a pack's question bank: every formula can be computed, every shown answer is right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.arithmetic import Value
from attn_drill.packs.question_bank import Question, read_topic, topic_files
from attn_drill.packs.toml import key_error
from attn_drill.quiz.drawn_questions import LETTERS, with_values

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
