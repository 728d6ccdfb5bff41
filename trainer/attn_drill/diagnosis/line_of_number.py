"""Find the line where the wrong number of a named mistake first appears in a file."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Iterator

from attn_drill.diagnosis.recorded_case import RecordedCase
from attn_drill.diagnosis.value_graph import Node, ValueGraph


def line_of_number(
    recorded: RecordedCase, mistaken: ValueGraph, patched: Collection[int], source: str
) -> int | None:
    """Return the line that makes or passes on the wrong number of a mistake first; None if unknown.

    Example: a constructor stores a wrong scale, and another line multiplies by it.

    Args:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        patched: the lines that the mistake changed.
    """
    usual = {number for graph in recorded.right_graphs for number in _numbers(graph.nodes)}
    made = [node for node in mistaken.nodes if node.line in patched]
    changed = [number for number in _numbers(made) if not _is_one_of(number, usual)]
    wrong = {form for number in changed for form in _forms(number)}
    own = recorded.graph.nodes
    used = {
        number
        for node in own
        for number in node.numbers
        if _is_one_of(number, wrong) and not _is_one_of(number, usual)
    }
    functions = _function_lines(source)
    for node in own:
        if any(_is_one_of(number, used) for number in _numbers([node])):
            is_argument = node.is_number and node.line in functions
            calls = node.lines[1:] if is_argument else node.lines
            return calls[0] if calls else None  # the case gave the number
    return None


def _numbers(nodes: Iterable[Node]) -> Iterator[float]:
    """Yield Python scalars, and the numbers with which operations compute."""
    for node in nodes:
        yield from node.numbers
        if node.is_number and node.value is not None:
            yield float(node.value)


def _forms(number: float) -> Iterator[float]:
    """Yield the numbers that another notation of the same formula has."""
    yield from (number, -number)
    if number:
        yield 1 / number
    if number > 0:
        yield from (math.sqrt(number), 1 / math.sqrt(number))


def _is_one_of(number: float, others: Collection[float]) -> bool:
    return any(math.isclose(number, other, rel_tol=1e-6) for other in others)


def _function_lines(source: str) -> set[int]:
    """Return the lines at which the arguments of a function get their values."""
    return {
        min([node.lineno, *(found.lineno for found in node.decorator_list)])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }
