"""The line of a mistake that changes which lines run."""

import pytest
import torch

from attn_drill.diagnosis._named_line import line_of_condition
from tests.support.graphs import GraphBuilder

CONDITION = "def f(x, past, flag):\n    if past and flag:\n        x = join(x)\n    return x * 2\n"
LOOP = "def f(x):\n    for i in range(3):\n        x = x + i\n    return x * 2\n"
DIRECT = """
def f(x, past, flag):
    if past is not None and flag:
        x = join(x)
    return x * 2
"""
STORED = """
def f(x, past, flag):
    kept = past if flag else None
    if kept is not None:
        x = join(x)
    return x * 2
"""
LOOPED = """
def f(x):
    for i in range(2):
        x = x + i
    return x * 2
"""


@pytest.mark.parametrize(
    ("wrong", "patched", "source", "calls", "line"),
    [
        pytest.param(CONDITION, {2}, DIRECT, (5,), 3, id="a branch that does not run"),
        pytest.param(CONDITION, {2}, STORED, (6,), 3, id="the variable that a branch tests"),
        pytest.param(CONDITION, {2}, LOOPED, (5,), None, id="no branch"),
        pytest.param(CONDITION, {2}, "@f\ndef g(): pass\n", (1,), None, id="a decorator"),
        pytest.param(CONDITION, {2, 3}, DIRECT, (5,), None, id="a mistake that computes too"),
        pytest.param(LOOP, {2}, LOOPED, (4,), 3, id="the loop around a line"),
        pytest.param(LOOP, {2}, LOOPED, (5,), 3, id="the loop before a line"),
        pytest.param(LOOP, {2}, DIRECT, (5,), None, id="no loop"),
    ],
)
def test_line_that_decides_which_lines_run(
    wrong: str, patched: set[int], source: str, calls: tuple[int, ...], line: int | None
) -> None:
    """The first wrong value is made by the first of these calls, from a value on line 4."""
    builder = GraphBuilder()
    before = builder.add("add", torch.ones(2), lines=(4,) if "for" in source else (2,))
    made = builder.add("mul", torch.ones(2), before, lines=calls)
    graph = builder.graph(out=made)
    assert line_of_condition(wrong, patched, source, graph, made) == line
