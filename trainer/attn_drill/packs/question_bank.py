"""Read the question bank of a pack: one file `challenges/_questions/<topic>.toml` per topic."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from attn_drill.model.errors import PackError
from attn_drill.packs.toml import read_toml

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


# "B" accepts bytes in any unit (KiB, MB ...), "FLOP" accepts GFLOP and so on.
Unit = Literal["", "B", "%", "x", "FLOP"]
_Values = Annotated[tuple[int | float | str, ...], Meta(min_length=1)]
_NAMED = re.compile(r"\{(\w+)\}")


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
