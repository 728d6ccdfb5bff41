"""Choose the known mistakes that a person would write.

Many known mistakes exist for the diagnosis: they make a strange effect with a strange line, for
example with `if False:`. A reader finds such a line without any thought about attention. So a
question or a bug hunt plants the other mistakes.

The rules compare texts. They parse nothing, because a quiz looks at more than a thousand mistakes
before its first question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainer.model.challenge import Mistake
from trainer.packs.mistakes import lines_of

_MOST_NEW_WORDS = 1  # a slip uses what is at hand; a contrived line brings its own tools
_MUCH_LONGER = 30  # columns
_WIDEST = 100  # columns

_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_DOCSTRING = re.compile(r'"""[\s\S]*?"""')
_COMMENT = re.compile(r"\s*#.*")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*|(?<=[A-Za-z_)\]]\.)[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.])")
_BOUND = re.compile(r"(?m)^\s*([A-Za-z_][\w., ]*?) = ")
_CONSTANT = r"(?:True|False|[01])"
_CONSTANT_CONDITION = re.compile(
    rf"\b(?:if|elif|while|and|or|not) {_CONSTANT}(?!\w|\.)(?! [<>=!])|\b{_CONSTANT} (?:and|or)\b"
)
_ZERO = r"0(?:\.0*)?(?![\w.])"
_UNIT = r"1(?:\.0*)?(?![\w.])"
_NO_OPERATION = re.compile(
    rf"(?<!\*)\* {_ZERO}"  # x * 0
    rf"|(?<![\w.]){_ZERO} [*+]"  # 0 * x, 0 + x
    rf"|(?<=[\w)\]]) [+-] {_ZERO}(?! [*/])"  # x + 0
    rf"|(?<!\*)[*] {_UNIT}|(?<!1 )/ {_UNIT}(?! [*/])"  # x * 1, x / 1
    rf"|(?m:^)\s*(\w+) = \1\s*(?m:$)"  # x = x
)
_TWICE = re.compile(r"( [*/@] [\w.]+)\1(?![\w.(])")  # x / y / y
_CAST = r"\.(?:to|float|double|half|bfloat16|int|long|type_as)\([\w.]*\)"
_CAST_BACK = re.compile(_CAST + _CAST)
_IN_PLACE = r"\.\w+_\("
_GIVEAWAY = re.compile(
    rf"__\w+__|\b(?:pass|break|continue|setdefault|getattr|lambda)\b|{_IN_PLACE}|(?m:^)\s*@"
)
_CASE = re.compile(r"\b(?:if|for|while|assert|and|or)\b|[<>=!]=|[<>]")
_ODD = (_CONSTANT_CONDITION, _NO_OPERATION, _TWICE, _CAST_BACK, _GIVEAWAY, _CASE)


@dataclass(frozen=True)
class _Known:
    """The names and numbers that a reference has."""

    words: frozenset[str]
    numbers: frozenset[str]


def likely_mistakes(source: str, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes that a person would write in this reference, in their order.

    Leave out a mistake if its new text

    - has a constant condition, arithmetic without effect, or the same factor twice;
    - changes a tensor in place, keeps a value for later calls, or leaves a block empty;
    - uses several names that the reference does not have, or binds such a name;
    - has more conditions or loops than the right text, or an unusual number;
    - has more lines than the right text, or a line that is much longer.

    Args:
        source: The text of the reference.
        mistakes: The mistakes of the challenge.
    """
    code = _code(_DOCSTRING.sub("", source))
    known = _Known(frozenset(_WORD.findall(code)), frozenset(_NUMBER.findall(code)))
    return [mistake for mistake in mistakes if _is_likely(source, known, mistake)]


def _is_likely(source: str, known: _Known, mistake: Mistake) -> bool:
    if source.count(mistake.was) != 1:
        return False
    was, now = _whole_lines(source, mistake)
    return not (
        now.count("\n") > was.count("\n")
        or _longest(now) > min(_WIDEST, _longest(was) + _MUCH_LONGER)
        or any(_count(pattern, now) > _count(pattern, was) for pattern in _ODD)
        or len(set(_WORD.findall(now)) - known.words) > _MOST_NEW_WORDS
        or not _bound_names(now) <= known.words
        or not all(map(_is_usual, set(_NUMBER.findall(now)) - known.numbers))
    )


def _whole_lines(source: str, mistake: Mistake) -> tuple[str, str]:
    """Return the lines of the reference that a mistake changes, and the changed lines.

    Both are without comments, strings and empty lines.
    """
    numbers = lines_of(source, mistake)
    was = "\n".join(source.splitlines()[numbers.start - 1 : numbers.stop - 1])
    return _code(was), _code(was.replace(mistake.was.rstrip("\n"), mistake.now.rstrip("\n")))


def _code(text: str) -> str:
    plain = (_COMMENT.sub("", _STRING.sub('""', line)).rstrip() for line in text.splitlines())
    return "\n".join(line for line in plain if line)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


def _bound_names(text: str) -> set[str]:
    """Return the names to which the lines of a text give a value."""
    return {name for targets in _BOUND.findall(text) for name in re.findall(r"\w+", targets)}


def _is_usual(number: str) -> bool:
    """Return whether people write this number: a small number, a half or a power of ten."""
    value = float(number)
    return (value <= 4 and (value * 2).is_integer()) or f"{value:e}".startswith("1.000000e")


def _longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)
