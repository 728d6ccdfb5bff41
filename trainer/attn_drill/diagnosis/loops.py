"""Find Python loops: lines that run more often if sizes grow, and by which ratio."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from attn_drill.diagnosis.value_graph import ValueGraph

# These are not counted, because one call may have many results.
_NOT_COUNTED = frozenset(
    "number return split split_with_sizes unsafe_split chunk unbind tensor_split".split()
)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
Place = tuple[tuple[int, ...], str]  # lines of the file, innermost first, and the operation


@dataclass(frozen=True)
class Growth:
    """The lines that run more often in a large case than in a small case."""

    # The first line that runs more often; None if there is none.
    line: int | None
    # Small count / large count of every place. The ratios show which size is looped over.
    ratios: frozenset[Fraction]


def growth(small: ValueGraph, large: ValueGraph) -> Growth:
    """Compare how often each operation runs on each line in a small and in a large case."""
    before, after = _counts(small), _counts(large)
    grown = {
        place: Fraction(before[place], count)
        for place, count in after.items()
        if 0 < before[place] < count
    }
    if not grown:
        return Growth(None, frozenset())
    lines = next(iter(grown))[0]
    # If all operations inside a call run more often, the loop is around the call.
    while len(lines) > 1:
        callers = lines[1:]
        inside = [place for place in after if place[0][-len(callers) :] == callers]
        if not all(place in grown for place in inside):
            break
        lines = callers
    return Growth(lines[0], frozenset(grown.values()))


def _counts(graph: ValueGraph) -> Counter[Place]:
    return Counter(
        (node.lines, node.operation)
        for node in graph.nodes
        if node.lines and node.operation not in _NOT_COUNTED
    )


def innermost_loop(source: str, line: int) -> int:
    """Return the line of the innermost loop or comprehension around a line, or the line itself."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return line
    loops = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, _LOOPS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(loops, default=line)
