"""Tests of the search for Python loops."""

from fractions import Fraction

import torch

from attn_drill.diagnosis._source_lines import growth, innermost_loop
from attn_drill.diagnosis._value_graph import ValueGraph
from tests.support.diagnosis import GraphBuilder

VALUE = torch.ones(2)


def graph_of_calls(*calls: tuple[str, tuple[int, ...]]) -> ValueGraph:
    """Return a graph of operations with their lines."""
    builder = GraphBuilder()
    for operation, lines in calls:
        builder.add(operation, VALUE, lines=lines)
    return builder.graph()


def test_line_that_runs_more_often_is_found() -> None:
    """The ratio is the count in the small case divided by the count in the large case."""
    once = ("mm", (4,))
    small = graph_of_calls(once, *[("add", (6,))] * 2)
    large = graph_of_calls(once, *[("add", (6,))] * 6)
    found = growth([small, large])
    assert (found.line, found.ratios) == (6, {Fraction(1, 3)})


def test_loop_around_a_call_is_at_the_calling_line() -> None:
    """If all operations inside a call run more often, the loop is at the line of the call."""
    call = [("mm", (2, 9)), ("exp", (3, 9))]
    found = growth([graph_of_calls(*call), graph_of_calls(*call * 3)])
    assert found.line == 9


def test_number_of_parts_of_a_split_is_no_loop() -> None:
    """A single call of `unbind` has more results in a larger case."""
    small, large = graph_of_calls(("unbind", (2,))), graph_of_calls(*[("unbind", (2,))] * 4)
    assert growth([small, large]).line is None


def test_innermost_loop_around_a_line() -> None:
    """Nested loops give the inner loop. A line outside loops gives itself."""
    source = "for i in a:\n    for j in b:\n        f(i, j)\nx = 1\ny = [f(i)\n     for i in a]\n"
    assert innermost_loop(source, 3) == 2
    assert innermost_loop(source, 4) == 4
    assert innermost_loop(source, 6) == 5
