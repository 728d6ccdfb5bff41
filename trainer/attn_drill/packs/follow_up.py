"""Read the follow-up questions of a prompt and their model answers.

The answers are in `solutions/<id>/follow_up.toml`. The questions are the last numbered list of the
prompt. The answers have the same order. They are hidden until the challenge is passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import msgspec

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import evaluate
from attn_drill.packs.toml import key_error, read_toml

_ITEM = re.compile(r"^(\d+)\. +(.*)$")
_IS_ABOVE_A_LIST = re.compile(r"\s*$|#|.*[:\uff1a]\s*$")  # blank, a heading, or ends with a colon
# A number that is no part of a name such as `v2` or `float32`.
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\d.]*\w*\()")
_LITERAL = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
_FIGURE = re.compile(r"^(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?) ?(%|[KMG]iB|[kMGT]?B|)$")
_UNITS = {
    **{"": 1.0, "%": 0.01, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    **{"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
}
# Numbers that need no formula: they count things that the sentence names.
_PLAIN = {0.0, 1.0, 2.0}


class Answer(pack_reader.Translated, forbid_unknown_fields=True, frozen=True):
    """The keys of one `[[answer]]`."""

    # Formulas by the number that the text shows: "64 MiB" = "2**26".
    figures: dict[str, str] = msgspec.field(default_factory=dict)
    # Sources of published numbers that no formula computes.
    given: dict[str, str] = msgspec.field(default_factory=dict)


class FollowUpFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `follow_up.toml`."""

    answer: tuple[Answer, ...] = ()


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question with its model answer."""

    challenge: str  # the id
    number: int  # of the question in the prompt, from 1
    question: str
    answer: str  # "" if the pack has none

    @property
    def item(self) -> str:
        """The name of the question in reviews."""
        return f"follow-up:{self.challenge}:{self.number}"


def questions_of(prompt: str) -> tuple[str, ...]:
    """Return the questions of a prompt, its last numbered list."""
    questions: list[str] = []
    for line in prompt.splitlines():
        if match := _ITEM.match(line):
            if match[1] == "1":
                questions = []
            questions.append(match[2].strip())
        elif questions and line.startswith("   "):
            questions[-1] += " " + line.strip()
    return tuple(questions)


def without_questions(prompt: str) -> str:
    """Return a prompt without its questions, and without the heading or line above them."""
    lines = prompt.splitlines(keepends=True)
    begin = max((index for index, line in enumerate(lines) if line.startswith("1. ")), default=None)
    if begin is None:
        return prompt
    end = begin
    while end < len(lines) and (_ITEM.match(lines[end]) or lines[end][:3].isspace()):
        end += 1
    while begin and _IS_ABOVE_A_LIST.match(lines[begin - 1]):
        begin -= 1
    return "".join([*lines[:begin], *lines[end:]])


def follow_ups(challenge: Challenge, language: str = "en") -> tuple[FollowUp, ...]:
    """Return the follow-up questions of a challenge in a language, or raise PackError."""
    questions = questions_of(pack_reader.prompt(challenge, language))
    answers: tuple[Answer, ...] = ()
    if answers_path(challenge).exists():
        answers = read_toml(answers_path(challenge), FollowUpFile, PackError).answer
    pairs = zip_longest(questions, answers[: len(questions)])
    return tuple(
        FollowUp(challenge.id, number, question, answer.text(language) if answer else "")
        for number, (question, answer) in enumerate(pairs, start=1)
    )


def answers_path(challenge: Challenge) -> Path:
    """Return the path of the file with the answers, which may be missing."""
    return challenge.solutions / "follow_up.toml"


def follow_up_problems(challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each problem of the answers of a challenge.

    Every question needs an answer, and every number of an answer needs a formula, except 0, 1 and
    2, numbers of the question or of a formula, and published numbers with their source.
    """
    path = answers_path(challenge)
    answers = read_toml(path, FollowUpFile, PackError).answer
    questions = questions_of(pack_reader.prompt(challenge))
    if questions and len(questions) != len(answers):
        yield (
            f"{path} has {len(answers)} answers, but prompt.md has {len(questions)} questions. "
            "Write one [[answer]] for each question, in their order."
        )
    for index, (question, answer) in enumerate(zip(questions, answers, strict=False)):
        for language in ("en", "zh"):
            for problem in _figure_problems(question, answer, answer.text(language)):
                yield str(key_error(path, ("answer", index), f"{problem}."))


def _figure_problems(question: str, answer: Answer, text: str) -> Iterator[str]:
    for key, numbers in (("figures", answer.figures), ("given", answer.given)):
        for shown in numbers:
            if shown not in text:
                yield f"`{key}` has {shown!r}, which the answer does not show. Remove it"
    for shown, formula in answer.figures.items():
        if problem := figure_problem(shown, formula):
            yield problem
    sources = (question, *answer.figures, *answer.figures.values(), *answer.given)
    literals = _LITERAL.findall(" ".join(sources).replace(",", ""))
    explained = _PLAIN | set(map(float, literals))
    for number in _NUMBER.findall(text):
        if float(number.replace(",", "").rstrip(".")) not in explained:
            yield f"{number} has no formula in `figures` and no source in `given`. Add one"


def figure_problem(shown: str, formula: str) -> str:
    """Return why a number is not the rounded value of a formula; "" if it is.

    >>> figure_problem("12.5 %", "1 / 8")
    ''
    >>> figure_problem("65 MiB", "2**26")
    '65 MiB is shown, but 2**26 is 64 in the same unit. Correct one'
    """
    match = _FIGURE.match(shown)
    if match is None:
        return f"{shown!r} is not a number with a unit. Correct it in `figures`"
    try:
        value = evaluate(formula, {}) / _UNITS[match[2]]
    except ValueError as error:
        return str(error)
    digits = match[1].replace(",", "")
    mantissa, exponent, _ = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if float(f"{value:.{decimals}{exponent or 'f'}}") == float(digits):
        return ""
    return f"{shown} is shown, but {formula} is {value:g} in the same unit. Correct one"


def read_follow_ups(
    challenges: tuple[Challenge, ...], language: str
) -> tuple[list[FollowUp], list[str]]:
    """Return the questions that have an answer, and a sentence for each file that is left out."""
    answered: list[FollowUp] = []
    troubles: list[str] = []
    for challenge in challenges:
        try:
            answered += [entry for entry in follow_ups(challenge, language) if entry.answer]
        except PackError as error:
            troubles.append(f"The answers of {challenge.id} are left out: {error}")
    return answered, troubles
