"""Questions as they are asked: drawn anew each time, and judged. Pure; chance is passed in.

Three kinds: a number to compute, an answer to choose, and a line to find in a reference with a known mistake in it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from trainer.hunt.planted_mistakes import broken, fair, told, what_it_is
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.packs.arithmetic import Value
from trainer.packs.mistakes import read_mistakes
from trainer.packs.question_bank import Question, Unit, solve
from trainer.quiz import units

LETTERS = "abcdefgh"
_NAMED = re.compile(r"\{(\w+)\}")
_MOST_REFERENCE = 3  # lines of the reference in an explanation
_MOST_LINES = 26  # of a text that is shown whole, so that it fits a small terminal


@dataclass(frozen=True)
class DrawnQuestion:
    """One question as it is put.

    item          under which it is reviewed: `question:ID` or `line:CHALLENGE:MISTAKE`
    code          shown below the text, or ""; kind "line": to be shown with its lines numbered from 1
    options       kind "choice": the answers in the order of their letters
    answer        the right answer in words
    explanation   why, shown after an answer
    value, unit, tolerance   kind "number": what is right, in the base unit, and the relative difference that still is
    lines         kind "line": the numbers that are right
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
    """What an answer was worth. `right` is None where it was not understood: then `message` says in a sentence what can be typed."""

    right: bool | None
    message: str = ""


def question_item(question: Question) -> str:
    """The item under which a question is reviewed."""
    return f"question:{question.id}"


def line_item(challenge: Challenge, mistake: Mistake) -> str:
    """The item under which the line of a mistake is reviewed."""
    return f"line:{challenge.id}:{mistake.id}"


def draw(question: Question, rng: Random) -> DrawnQuestion:
    """A question with new numbers, or with its options in a new order."""
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
    """A question of kind "number" with these values.

    Raises:
        ValueError: where its formulas cannot be computed with them.
    """
    value, names = solve(question.answer, drawn, question.derive or {})
    answer = units.shown(value, question.unit)
    words = {
        name: one if isinstance(one, str) else units.number(one) for name, one in names.items()
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


def lines(challenges: Sequence[Challenge], rng: Random) -> DrawnQuestion:
    """A line to find, in one of these challenges; each is as likely as another, however many mistakes it has."""
    challenge = rng.choice(challenges)
    mistakes = read_mistakes(challenge)
    return line_question(challenge, rng.choice(fair(mistakes) or list(mistakes)))


def line_question(challenge: Challenge, mistake: Mistake) -> DrawnQuestion:
    """The reference with this mistake in it; of a long one the function or method that holds it. Which line is wrong?

    The text has no comments, as in a bug hunt. Any line is right that differs from the reference; where lines are missing, those beside the gap.
    """
    source, where = pack_reader.solution(challenge), str(challenge.solutions / "mistakes.toml")
    found = broken(source, (mistake,), where)
    numbers = _excerpt(found.source, found.changed)
    text = found.source.splitlines()
    shown = [text[number - 1] if number else "" for number in numbers]
    right = tuple(index for index, number in enumerate(numbers, start=1) if number in found.changed)
    reference = [
        line.strip()
        for change in told(source, mistake, where)
        for line in change.was
        if line.strip()
    ]
    many = (
        f"line {right[0]}"
        if len(right) == 1
        else f"line {', '.join(map(str, right[:-1]))} or {right[-1]}"
    )
    return DrawnQuestion(
        line_item(challenge, mistake),
        challenge.topic,
        "line",
        f"{challenge.id}: {what_it_is(found.source)}\n\nThere is one mistake in this. Which line is wrong? Where a line is missing, name one beside the gap.",
        many + (", beside which something is missing" if found.missing else ""),
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


def _excerpt(source: str, changed: Sequence[int]) -> list[int]:
    """The numbers of the lines to show; 0 for an empty line between the head of a class and a method."""
    tree = ast.parse(source)
    defined = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    whole = list(range(_lines_of(defined[0]).start if defined else 1, len(source.splitlines()) + 1))
    if len(whole) <= _MOST_LINES:
        return whole
    parts: list[tuple[range, list[int]]] = []
    for node in defined:
        if isinstance(node, ast.FunctionDef):
            parts.append((_lines_of(node), []))
            continue
        methods = [_lines_of(one) for one in node.body if isinstance(one, ast.FunctionDef)]
        opening = range(
            _lines_of(node).start,
            (node.body[0].end_lineno or 0) + 1
            if ast.get_docstring(node) is not None
            else node.lineno + 1,
        )
        parts += [(method, [*opening, 0]) for method in methods]
    part, head = max(
        parts, key=lambda one: sum(number in one[0] for number in changed), default=(range(0), [])
    )
    return [*head, *part] if set(part) & set(changed) else whole


def _lines_of(node: ast.ClassDef | ast.FunctionDef) -> range:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def judge(asked: DrawnQuestion, given: str) -> Judged:
    """Whether an answer is right. `?` is one that is not known, and wrong."""
    text = " ".join(given.split())
    if text == "?":
        return Judged(False)
    match asked.kind:
        case "number":
            return _number(asked, text)
        case "choice":
            return _choice(asked, text)
        case "line":
            return _line(asked, text)


def _number(asked: DrawnQuestion, text: str) -> Judged:
    try:
        amount = units.parse(text, asked.unit)
    except units.NotAnAmountError as error:
        return Judged(None, str(error))
    if amount.is_right(asked.value, asked.tolerance):
        return Judged(True)
    read = units.shown(amount.value, asked.unit)
    if asked.unit == "%" and units.Amount(100 * amount.value).is_right(
        asked.value, asked.tolerance
    ):
        return Judged(False, f"That is read as {read}, not as a share of 1.")
    if amount.value <= 0:
        return Judged(False)
    times = amount.value / asked.value
    if not 1e-4 <= times <= 1e4 or math.isclose(times, 1, rel_tol=0.05):
        return Judged(False)
    return Judged(
        False,
        f"{read} is {units.number(times)} times the answer."
        if times > 1
        else f"The answer is {units.number(1 / times)} times {read}.",
    )


def _choice(asked: DrawnQuestion, text: str) -> Judged:
    letters = LETTERS[: len(asked.options)]
    word = text.lower().strip("().")
    plain = [" ".join(option.split()).lower() for option in asked.options]
    # An option may itself be a number: then the text goes before the place.
    if len(word) == 1 and word in letters:
        index = letters.index(word)
    elif text.lower() in plain:
        index = plain.index(text.lower())
    elif word.isdecimal() and 1 <= int(word) <= len(letters):
        index = int(word) - 1
    else:
        return Judged(None, f"Answer with a letter, {letters[0]} to {letters[-1]}.")
    return Judged(asked.answer.startswith(f"{letters[index]}) "))


def _line(asked: DrawnQuestion, text: str) -> Judged:
    most = asked.code.count("\n") + 1
    match = re.fullmatch(r"(?:line|l)?\s*(\d{1,4})\.?", text.lower())
    if match is None or not 1 <= int(match[1]) <= most:
        return Judged(None, f"Answer with the number of a line, 1 to {most}.")
    return Judged(int(match[1]) in asked.lines)
