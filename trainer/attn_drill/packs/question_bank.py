"""Read the questions of a pack: its question bank, and the follow-up questions of its prompts.

The bank has a file `challenges/_questions/<topic>.toml` for each topic. The follow-up questions are
the last numbered list of a prompt. Their model answers are in `solutions/<id>/follow_up.toml`, in
the same order. They are hidden until the challenge is passed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.toml import key_error, read_toml

Value = float | int | str

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,  # `**` of large whole numbers would take for ever
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "bytes_of": {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}.__getitem__,
}

# "B" accepts bytes in any unit (KiB, MB ...), "FLOP" accepts GFLOP and so on.
Unit = Literal["", "B", "%", "x", "FLOP"]
_Values = Annotated[tuple[int | float | str, ...], Meta(min_length=1)]
_NAMED = re.compile(r"\{(\w+)\}")

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


def evaluate(formula: str, names: Mapping[str, Value]) -> float:
    """Return the value of a formula, or raise ValueError if it is not arithmetic over these names.

    >>> evaluate("2 * layers * bytes_of(dtype)", {"layers": 3, "dtype": "float16"})
    12
    """
    try:
        value = _value(ast.parse(formula, mode="eval").body, names)
    except (SyntaxError, KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{formula!r}: {type(error).__name__}: {error}") from None
    if isinstance(value, str):
        raise ValueError(f"{formula!r} gives the word {value!r}, not a number")
    return value


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as scalar):
            return scalar
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise ValueError(
        f"{ast.unparse(node)!r} is not arithmetic; use + - * / // % ** and {', '.join(_FUNCTIONS)}"
    )


class Question(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One question of the bank: the keys of one `[[question]]`."""

    id: str
    kind: Literal["number", "choice"]
    asks: str  # `{name}` is replaced by a drawn or derived value
    explains: str  # `{answer}` is replaced by the answer, other names as in `asks`
    challenges: tuple[str, ...] = ()  # ids; the question may be shown after these challenges
    code: str = ""  # text below the question, shown without replacements
    # Kind "number".
    answer: str = ""  # the formula of the answer
    unit: Unit = ""
    # The relative difference that is still right. Half a unit of the last digit that the learner
    # wrote is always allowed.
    tolerance: Annotated[float, Meta(ge=0, lt=0.5)] = 0.0
    vary: dict[str, _Values] = {}  # each name is drawn from its values
    derive: dict[str, str] = {}  # formulas for further names, computed in this order
    # Kind "choice".
    right: str = ""
    wrong: tuple[str, ...] = ()  # plausible answers

    topic: str = ""  # the name of the topic's file; the reader fills it in

    def __post_init__(self) -> None:
        """Raise ValueError if the question has a fault."""
        if self.kind == "choice":
            if len(self.wrong) < 2 or not self.right:
                raise self._fault("needs `right` and at least two answers in `wrong`")
            if len({self.right, *self.wrong}) <= len(self.wrong):
                raise self._fault("has the same answer twice; remove one")
            return
        if not self.answer:
            raise self._fault("needs `answer`")
        names = {*self.vary, *self.derive}
        for key, allowed in (("asks", names), ("explains", names | {"answer"})):
            if unknown := set(_NAMED.findall(getattr(self, key))) - allowed:
                name = min(unknown)
                raise self._fault(f"uses {{{name}}} in `{key}`; add it to `vary` or `derive`")
        try:
            solve(self.answer, {name: values[0] for name, values in self.vary.items()}, self.derive)
        except ValueError as error:
            raise self._fault(f"cannot be computed: {error}") from None

    def _fault(self, fault: str) -> ValueError:
        return ValueError(f"Question {self.id!r} {fault}.")


class Topic(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of one topic file."""

    title: str
    question: tuple[Question, ...]


def topic_files(root: Path) -> list[Path]:
    """Return the files of a pack's question bank, sorted by name."""
    return sorted((root / "challenges" / "_questions").glob("*.toml"))


def read_topic(path: Path) -> Topic:
    """Read one file of a question bank, or raise PackError."""
    topic = read_toml(path, Topic, PackError)
    for question in topic.question:
        msgspec.structs.force_setattr(question, "topic", path.stem)
    return topic


@dataclass(frozen=True)
class Bank:
    """The question banks of several packs, joined."""

    titles: Mapping[str, str]  # of each topic, by the topic's name
    questions: tuple[Question, ...]  # in the order of the packs
    troubles: tuple[str, ...] = ()  # a sentence for each file that is left out


def read_bank(roots: Iterable[Path]) -> Bank:
    """Return the joined banks of these packs, without the files that cannot be read.

    Questions and titles of an earlier pack hide those of the same id or topic.
    """
    titles: dict[str, str] = {}
    questions: dict[str, Question] = {}
    troubles: list[str] = []
    for path in (path for root in roots for path in topic_files(root)):
        try:
            topic = read_topic(path)
        except PackError as error:
            troubles.append(f"These questions are left out: {error}")
            continue
        titles.setdefault(path.stem, topic.title)
        for question in topic.question:
            questions.setdefault(question.id, question)
    return Bank(titles, tuple(questions.values()), tuple(troubles))


def solve(
    answer: str, drawn: Mapping[str, Value], derive: Mapping[str, str]
) -> tuple[float, dict[str, Value]]:
    """Return the value of the formula `answer`, and all drawn and derived values by name.

    >>> solve("4 * area", {"heads": 2}, {"width": "heads * 64", "area": "width * width"})
    (65536, {'heads': 2, 'width': 128, 'area': 16384})
    """
    names = dict(drawn)
    for name, formula in derive.items():
        names[name] = evaluate(formula, names)
    return evaluate(answer, names), names


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
