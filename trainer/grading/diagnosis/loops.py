"""Python loops: which lines run more often when sizes grow, and how much more."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from trainer.grading.diagnosis.trail import Trail

# One call may have many results.
_NOT_COUNTED = frozenset(
    "number return split split_with_sizes unsafe_split chunk unbind tensor_split".split()
)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
Place = tuple[tuple[int, ...], str]  # the file's lines, innermost first, and the operation


@dataclass(frozen=True)
class Grown:
    """What runs more often in a large case than in a small one: the first line of it, and small count / large count of all of it.

    The ratios tell which size is looped over.
    """

    line: int | None
    ratios: frozenset[Fraction]


def growth(small: Trail, large: Trail) -> Grown:
    """Compare how often each operation runs on each line."""
    before, after = _counts(small), _counts(large)
    grown = {
        place: Fraction(before[place], count)
        for place, count in after.items()
        if 0 < before[place] < count
    }
    if not grown:
        return Grown(None, frozenset())
    lines = next(iter(grown))[0]
    # Where all that a call does runs more often, the loop is around the call.
    while len(lines) > 1 and all(
        place in grown for place in after if place[0][-len(lines) + 1 :] == lines[1:]
    ):
        lines = lines[1:]
    return Grown(lines[0], frozenset(grown.values()))


def _counts(trail: Trail) -> Counter[Place]:
    return Counter(
        (step.lines, step.operation)
        for step in trail.steps
        if step.lines and step.operation not in _NOT_COUNTED
    )


def around(source: str, line: int) -> int:
    """The line of the innermost loop or comprehension around a line; the line itself where there is none."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return line
    loops = [
        node
        for node in nodes
        if isinstance(node, _LOOPS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max((node.lineno for node in loops), default=line)
