"""Draw questions anew each time they are asked, and judge the answers.

The functions are pure: the caller passes the random number generator. There are three kinds of
question: a number to compute, an answer to choose, and a line to find in a reference with a known
mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from trainer.hunt.planted_mistakes import (
    fair_mistakes,
    first_paragraph,
    plant_mistakes,
    reference_changes,
)
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.packs.arithmetic import Value
from trainer.packs.mistakes import read_mistakes
from trainer.packs.question_bank import Question, Unit, solve
from trainer.quiz import units
from trainer.quiz.excerpt import excerpt

LETTERS = "abcdefgh"
_NAMED = re.compile(r"\{(\w+)\}")
_MOST_REFERENCE = 3  # lines of the reference in an explanation


@dataclass(frozen=True)
class DrawnQuestion:
    """A question with all its values drawn.

    Attributes:
        item: The name of the item in reviews: `question:ID` or `line:CHALLENGE:MISTAKE`.
        topic: The topic of the question.
        kind: The kind of the question.
        text: The question itself.
        answer: The right answer in words.
        explanation: The reason, shown after an answer.
        code: Code below the text, or "". In kind "line", its lines are numbered from 1.
        options: In kind "choice", the answers in the order of their letters.
        value: In kind "number", the right value in the base unit.
        unit: In kind "number", the unit of the answer.
        tolerance: In kind "number", the relative difference that is still right.
        lines: In kind "line", the line numbers that are right.
    """

    item: str
    topic: str
    kind: Literal["number", "choice", "line"]
    text: str
    answer: str
    explanation: str
    code: str = ""
    options: tuple[str, ...] = ()
    value: float = 0.0
    unit: Unit = ""
    tolerance: float = 0.0
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judged:
    """The judgement of an answer.

    Attributes:
        right: True if the answer is right, or None if the answer was not understood.
        message: A comment on the answer, or "". If the answer was not understood, a sentence that
            says what to type.
    """

    right: bool | None
    message: str = ""


def question_item(question: Question) -> str:
    """Return the name of the item under which a question is reviewed."""
    return f"question:{question.id}"


def line_item(challenge: Challenge, mistake: Mistake) -> str:
    """Return the name of the item under which the line of a mistake is reviewed."""
    return f"line:{challenge.id}:{mistake.id}"


def draw(question: Question, rng: Random) -> DrawnQuestion:
    """Return a question with new numbers, or with its options in a new order."""
    if question.kind == "number":
        return with_values(
            question, {name: rng.choice(values) for name, values in (question.vary or {}).items()}
        )
    options = [question.right, *question.wrong]
    rng.shuffle(options)
    letter = LETTERS[options.index(question.right)]
    return DrawnQuestion(
        question_item(question),
        question.topic,
        "choice",
        question.asks,
        f"{letter}) {question.right}",
        question.explains,
        question.code.strip("\n"),
        tuple(options),
    )


def with_values(question: Question, drawn: Mapping[str, Value]) -> DrawnQuestion:
    """Return a question of kind "number" with these values.

    Raises:
        ValueError: If the formulas of the question cannot be computed with these values.
    """
    value, names = solve(question.answer, drawn, question.derive or {})
    answer = units.format_amount(value, question.unit)
    words = {
        name: named if isinstance(named, str) else units.format_number(named)
        for name, named in names.items()
    }
    return DrawnQuestion(
        question_item(question),
        question.topic,
        "number",
        _filled(question.asks, words),
        answer,
        _filled(question.explains, {**words, "answer": answer}),
        question.code.strip("\n"),
        value=value,
        unit=question.unit,
        tolerance=question.tolerance,
    )


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda match: words.get(match[1], match[0]), text)


def draw_line_question(challenges: Sequence[Challenge], rng: Random) -> DrawnQuestion:
    """Return a question that asks for a wrong line in a reference.

    Each challenge is equally likely, however many mistakes it has.
    """
    challenge = rng.choice(challenges)
    mistakes = read_mistakes(challenge)
    fair = fair_mistakes(mistakes, pack_reader.solution(challenge))
    return line_question(challenge, rng.choice(fair or list(mistakes)))


def line_question(challenge: Challenge, mistake: Mistake) -> DrawnQuestion:
    """Return a question that shows a reference with a mistake and asks which line is wrong.

    A long reference is cut to the function or method with the mistake. As in a bug hunt, the code
    has no comments. Every line that differs from the reference is a right answer. If lines are
    missing, the lines next to the gap are right.
    """
    source, where = pack_reader.solution(challenge), str(challenge.solutions / "mistakes.toml")
    planted = plant_mistakes(source, (mistake,), where)
    line_numbers = excerpt(planted.source, planted.changed)
    text = planted.source.splitlines()
    shown = [text[line_number - 1] if line_number else "" for line_number in line_numbers]
    right = tuple(
        index
        for index, line_number in enumerate(line_numbers, start=1)
        if line_number in planted.changed
    )
    reference = [
        line.strip()
        for change in reference_changes(source, mistake, where)
        for line in change.was
        if line.strip()
    ]
    answer = (
        f"line {right[0]}"
        if len(right) == 1
        else f"line {', '.join(map(str, right[:-1]))} or {right[-1]}"
    )
    return DrawnQuestion(
        line_item(challenge, mistake),
        challenge.topic,
        "line",
        f"{challenge.id}: {first_paragraph(planted.source)}\n\n"
        "There is one mistake in this code. Which line is wrong? "
        "If a line is missing, name a line next to the gap.",
        answer + (" (next to a missing line)" if planted.missing else ""),
        "\n".join(
            [
                mistake.says,
                *(
                    f"The reference has: {line}"
                    for line in reference
                    if len(reference) <= _MOST_REFERENCE
                ),
            ]
        ),
        "\n".join(shown),
        lines=right,
    )


def is_not_known(given: str) -> bool:
    """Return whether the learner says that the answer is not known."""
    return given.strip() == "?"


def judge(question: DrawnQuestion, given: str) -> Judged:
    """Return whether an answer is right. The answer `?` means "not known" and is wrong.

    Args:
        question: The question that was asked.
        given: The text that the learner typed.
    """
    if is_not_known(given):
        return Judged(False)
    text = " ".join(given.split())
    match question.kind:
        case "number":
            return _number(question, text)
        case "choice":
            return _choice(question, text)
        case "line":
            return _line(question, text)


def _number(question: DrawnQuestion, text: str) -> Judged:
    try:
        amount = units.parse_amount(text, question.unit)
    except units.NotAnAmountError as error:
        return Judged(None, str(error))
    if amount.is_right(question.value, question.tolerance):
        return Judged(True)
    read = units.format_amount(amount.value, question.unit)
    if question.unit == "%" and units.Amount(100 * amount.value).is_right(
        question.value, question.tolerance
    ):
        return Judged(False, f"Your answer is read as {read}, not as a share of 1.")
    if amount.value <= 0:
        return Judged(False)
    times = amount.value / question.value
    if not 1e-4 <= times <= 1e4 or math.isclose(times, 1, rel_tol=0.05):
        return Judged(False)
    return Judged(
        False,
        f"{read} is {units.format_number(times)} times the answer."
        if times > 1
        else f"The answer is {units.format_number(1 / times)} times {read}.",
    )


def _choice(question: DrawnQuestion, text: str) -> Judged:
    letters = LETTERS[: len(question.options)]
    word = text.lower().strip("().")
    plain = [" ".join(option.split()).lower() for option in question.options]
    # The text of an option is tried before its position, because an option may be a number.
    if len(word) == 1 and word in letters:
        index = letters.index(word)
    elif text.lower() in plain:
        index = plain.index(text.lower())
    elif word.isdecimal() and 1 <= int(word) <= len(letters):
        index = int(word) - 1
    else:
        return Judged(None, f"Answer with a letter, {letters[0]} to {letters[-1]}.")
    return Judged(question.answer.startswith(f"{letters[index]}) "))


def _line(question: DrawnQuestion, text: str) -> Judged:
    most = question.code.count("\n") + 1
    match = re.fullmatch(r"(?:line|l)?\s*(\d{1,4})\.?", text.lower())
    if match is None or not 1 <= int(match[1]) <= most:
        return Judged(None, f"Answer with the number of a line, 1 to {most}.")
    return Judged(int(match[1]) in question.lines)
