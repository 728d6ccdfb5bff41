"""Leave gaps in a reference where learners make mistakes, and fill them with the learner's code."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from random import Random

from attn_drill.exercises.planted_mistakes import fair_mistakes, reference_changes, strip_comments
from attn_drill.exercises.questions import excerpt
from attn_drill.model.challenge import Mistake

FEWEST, MOST = 3, 5
_LONGEST = 60  # characters of an expression that a learner can write from memory
# Other places that are hidden because they show the answer of a gap.
_MOST_HIDDEN = 3
# Smaller expressions, such as names and numbers, say too little about the learner.
_WORTH_ASKING = (ast.Call, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript)
# The names of variables and of attributes of `self`, but not of functions and of keywords.
_NAME = re.compile(r"(?<![\w.])(?:self\.\w+|[A-Za-z_]\w*(?![\w(=]))")


@dataclass(frozen=True)
class Gap:
    """An expression of a reference on one line."""

    right: str  # the code of the reference
    line: int  # from 1
    start: int  # the first byte of the expression in the line
    end: int  # the byte after the expression

    def filled(self, source: str, code: str) -> str:
        """Return the reference with other code in this gap."""
        lines = source.split("\n")
        line = lines[self.line - 1].encode()
        lines[self.line - 1] = (line[: self.start] + code.encode() + line[self.end :]).decode()
        return "\n".join(lines)


@dataclass(frozen=True)
class GapExercise:
    """A reference with gaps."""

    # The functions and methods with gaps, without comments. The gaps are called `____1`, `____2`
    # and so on. A gap `____` hides code that is like the answer of another gap.
    code: str
    source: str  # the whole reference
    gaps: tuple[Gap, ...]  # in the order of the code


def gap_exercise(source: str, mistakes: Sequence[Mistake], rng: Random) -> GapExercise | None:
    """Return a reference with gaps, or None if it has too few places for gaps.

    A gap is the expression that a known mistake changes. No line has two gaps.
    """
    places = list(_places(source))
    count = rng.randint(FEWEST, MOST)
    chosen: list[Gap] = []
    hidden: list[Gap] = []
    fair = fair_mistakes(mistakes)
    for mistake in rng.sample(fair, len(fair)):
        if len(chosen) == count:
            break
        gap = _changed(places, source, mistake)
        if gap is None:
            continue
        # These places would show the answer.
        pattern = _pattern(gap.right)
        alike = [place for place in places if place != gap and _pattern(place.right) == pattern]
        lines = [place.line for place in (gap, *alike, *chosen, *hidden)]
        if len(alike) <= _MOST_HIDDEN and len(set(lines)) == len(lines):
            chosen.append(gap)
            hidden += alike
    if len(chosen) < FEWEST:
        return None
    chosen.sort(key=lambda gap: gap.line)
    text = source
    for number, gap in enumerate(chosen, start=1):
        text = gap.filled(text, f"____{number}")
    for gap in hidden:
        text = gap.filled(text, "____")
    stripped = strip_comments(text)
    rows = ["", *stripped.splitlines()]
    with_gaps = [number for number, row in enumerate(rows) if "____" in row]
    code = "\n".join(rows[number] for number in excerpt(stripped, with_gaps))
    return GapExercise(code.strip("\n"), source, tuple(chosen))


def typed_expression(text: str) -> str | None:
    """Return the expression that a learner typed, or the value of a statement; None if none.

    >>> typed_expression("scores = q @ k")
    '(q @ k)'
    """
    try:
        with warnings.catch_warnings():  # Python warns of odd code such as `1()`
            warnings.simplefilter("ignore")
            (statement,) = ast.parse(text.strip().strip("`").strip()).body
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return) and statement.value:
            # In one line and in parentheses, it cannot end the expression around it.
            return f"({ast.unparse(statement.value)})"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return None


def rating(right: int, count: int) -> int:
    """Return 3 (good), 2 (hard) or 1 (again), never 4 (easy).

    >>> [rating(right, 4) for right in (4, 3, 2, 0)]
    [3, 2, 1, 1]
    """
    return max(1, 3 - (count - right))


def _places(source: str) -> Iterator[Gap]:
    """Yield the expressions that may become gaps or show the answer of a gap."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_refusal = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        if isinstance(node, ast.FunctionDef):
            skipped |= set(ast.walk(node.args))  # the stub shows them
        # A refusal says little about the learner. Python 3.11 does not know the positions in an
        # f-string.
        elif is_refusal or isinstance(node, ast.JoinedStr):
            skipped |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped or not isinstance(node, _WORTH_ASKING):
            continue
        is_target = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if node.lineno == node.end_lineno and not is_target:
            right = ast.get_source_segment(source, node) or ""
            yield Gap(right, node.lineno, node.col_offset, node.end_col_offset or 0)


def _changed(places: Sequence[Gap], source: str, mistake: Mistake) -> Gap | None:
    """Return the smallest expression that contains the change of a mistake."""
    changes = reference_changes(source, mistake, "mistakes.toml")
    if len(changes) != 1 or len(changes[0].was) != 1:
        return None
    line, was = changes[0].first, changes[0].was[0].encode()
    now = "\n".join(changes[0].now).encode()
    start = _common_start(was, now)
    end = len(was) - _common_start(was[start:][::-1], now[start:][::-1])
    gaps = [place for place in places if place.line == line and len(place.right) <= _LONGEST]
    around = [gap for gap in gaps if gap.start <= start and end <= gap.end]
    if around:
        return min(around, key=lambda gap: gap.end - gap.start)
    # For example, the line is missing. Then the longest expression of the line is the gap.
    return max(gaps, key=lambda gap: gap.end - gap.start, default=None)


def _common_start(first: bytes, second: bytes) -> int:
    """Return the number of equal bytes at the beginning."""
    return sum(takewhile(bool, map(operator.eq, first, second)))


def _pattern(code: str) -> str:
    """Return code without the names of its variables."""
    # Without names, `a * b` would be like any product.
    return _NAME.sub("_", code) if set("([") & set(code) else code
