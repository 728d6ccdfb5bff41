"""Find the statements that known mistakes change, and the mistakes that fit together."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from trainer.model.challenge import Mistake
from trainer.model.errors import PackError
from trainer.packs.mistakes import lines_of, patch_all


def statements_of(source: str, mistake: Mistake) -> frozenset[int]:
    """Return the first lines of the statements that a mistake changes.

    The head of a function, a class, a loop or a condition counts as a statement of its own.
    """
    wrong = set(lines_of(source, mistake))
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        if wrong & set(range(first, last + 1)):
            found.add(first)
    return frozenset(found)


def fit_together(source: str, mistakes: Sequence[Mistake]) -> bool:
    """Return whether the mistakes can be patched into the reference at the same time."""
    try:
        patch_all(source, mistakes, "")
    except PackError:
        return False
    return True


def pairs_of(source: str, mistakes: Sequence[Mistake]) -> Iterator[tuple[Mistake, Mistake]]:
    """Yield every pair of mistakes in different statements that fit together."""
    places = {mistake.id: statements_of(source, mistake) for mistake in mistakes}
    for first, second in combinations(mistakes, 2):
        if not places[first.id] & places[second.id] and fit_together(source, (first, second)):
            yield first, second
