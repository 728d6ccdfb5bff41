"""Read the follow-up questions of a prompt and their model answers.

The answers are in `solutions/<id>/follow_up.toml`. The questions are the last numbered list of the
prompt. The answers have the same order. They are hidden until the challenge is passed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.arithmetic import evaluate
from trainer.packs.toml import read_toml

_ITEM = re.compile(r"^(\d+)\. +(.*)$")
_IS_ABOVE_A_LIST = re.compile(
    r"\s*$|#|.*[:\uff1a]\s*$"
)  # blank, a heading, or it ends with a colon
# A number that is no part of a name such as `v2` or `float32`.
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\d.]*\w*\()")
_LITERAL = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
_FIGURE = re.compile(r"^(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?) ?(%|[KMG]iB|[kMGT]B|B)?$")
_UNITS = {
    None: 1.0,
    "%": 0.01,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
}
# Numbers that need no formula: they count things that the sentence names.
_PLAIN = {0.0, 1.0, 2.0}


class AnswerEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of an answer.

    Attributes:
        en: the answer in English.
        zh: the answer in Chinese, or "".
        figures: formulas by the number that the text shows, e.g. `"64 MiB" = "2 * 2**25"`.
        given: published numbers that no formula computes, with their source.
    """

    en: str
    zh: str = ""
    figures: dict[str, str] = {}
    given: dict[str, str] = {}


class FollowUpFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `follow_up.toml`."""

    answer: tuple[AnswerEntry, ...] = ()


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question with its model answer.

    Attributes:
        challenge: the id of the challenge.
        number: the number of the question in the prompt, from 1.
        question: the question.
        answer: the model answer, or "" if the pack has none.
        figures: formulas by the number that the answer shows.
        given: sources of published numbers.
    """

    challenge: str
    number: int
    question: str
    answer: str
    figures: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def item(self) -> str:
        """The name of the question in reviews."""
        return f"follow-up:{self.challenge}:{self.number}"


def questions_of(prompt: str) -> tuple[str, ...]:
    """Return the questions of a prompt: its last numbered list, one string per question."""
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
    """Return the follow-up questions of a challenge in a language.

    An answer that is missing in the language is returned in English.

    Raises:
        PackError: if a file cannot be read.
    """
    questions = questions_of(pack_reader.prompt(challenge, language))
    path = answers_path(challenge)
    entries: tuple[AnswerEntry, ...] = ()
    if path.exists():
        data = read_toml(path, FollowUpFile, PackError)
        entries = data.answer
    found = []
    for number, question in enumerate(questions, start=1):
        entry = entries[number - 1] if number <= len(entries) else AnswerEntry("")
        answer = (entry.zh if language == "zh" else "") or entry.en
        found.append(
            FollowUp(challenge.id, number, question, answer.strip(), entry.figures, entry.given)
        )
    return tuple(found)


def answers_path(challenge: Challenge) -> Path:
    """Return the path of the file with the answers."""
    return challenge.solutions / "follow_up.toml"


def follow_up_troubles(challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each problem of the answers of a challenge.

    A challenge without the file has no problem. Every question needs an answer, and every number
    of an answer needs a formula, except 0, 1 and 2, numbers of the question or of a formula, and
    published numbers with their source.
    """
    path = answers_path(challenge)
    if not path.exists():
        return
    data = read_toml(path, FollowUpFile, PackError)
    for language in ("en", "zh"):
        count = len(questions_of(pack_reader.prompt(challenge, language)))
        if count != len(data.answer):
            yield (
                f"{path} has {len(data.answer)} answers, but the prompt ({language}) has "
                f"{count} questions."
            )
    for language in ("en", "zh"):
        for follow_up in follow_ups(challenge, language):
            if not follow_up.answer:
                yield f"{path}: answer {follow_up.number} is empty."
            for trouble in _figure_troubles(follow_up):
                yield f"{path}: answer {follow_up.number} ({language}): {trouble}"


def _figure_troubles(follow_up: FollowUp) -> Iterator[str]:
    known = set(_PLAIN)
    for text in (follow_up.question, *follow_up.figures.values()):
        known |= {float(number) for number in _LITERAL.findall(text.replace(",", ""))}
    for shown in follow_up.given:
        known |= {float(number) for number in _LITERAL.findall(shown.replace(",", ""))}
        if shown not in follow_up.answer:
            yield f"`given` has {shown!r}, which the answer does not show."
    for shown, formula in follow_up.figures.items():
        if shown not in follow_up.answer:
            yield f"`figures` has {shown!r}, which the answer does not show."
        try:
            right, wrong = is_figure(shown, formula)
        except ValueError as error:
            yield f"{error}."
            continue
        if not right:
            yield f"{shown} is shown, but {formula} is {wrong:g} in the same unit."
        known |= {float(number) for number in _LITERAL.findall(shown.replace(",", ""))}
    for number in _NUMBER.findall(follow_up.answer):
        if float(number.replace(",", "").rstrip(".")) not in known:
            yield f"the number {number} has no formula in `figures` and no source in `given`."


def is_figure(shown: str, formula: str) -> tuple[bool, float]:
    """Return whether a number is the rounded value of a formula, and this value in its unit.

    Args:
        shown: a number with a unit or without, e.g. `64 MiB`, `1,024`, `12.5 %`.
        formula: arithmetic without names.

    Raises:
        ValueError: if the text is no number, or the formula is no arithmetic.
    """
    match = _FIGURE.match(shown)
    if match is None:
        raise ValueError(f"{shown!r} is not a number with a unit")
    digits = match[1].replace(",", "")
    value = evaluate(formula, {}) / _UNITS[match[2]]
    mantissa, _, exponent = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    step = 10.0 ** (int(exponent or 0) - decimals)
    return math.isclose(value, float(digits), rel_tol=1e-9, abs_tol=0.5 * step + 1e-12), value


def read_follow_ups(
    challenges: tuple[Challenge, ...], language: str
) -> tuple[list[FollowUp], list[str]]:
    """Return the questions with an answer of several challenges, and a sentence per bad file."""
    found: list[FollowUp] = []
    troubles: list[str] = []
    for challenge in challenges:
        try:
            found += [entry for entry in follow_ups(challenge, language) if entry.answer]
        except PackError as error:
            troubles.append(f"The answers of {challenge.id} are left out: {error}")
    return found, troubles
