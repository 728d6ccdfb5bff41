"""The line where the wrong number of a mistake appears."""

from typing import Any, cast

import pytest
import torch

from attn_drill.diagnosis._named_line import lines_of_number
from attn_drill.diagnosis._recorded_case import RecordedCase
from attn_drill.diagnosis._value_graph import Node, ValueGraph

SOURCE = """
class Core:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


core = Core(12**-0.5)
"""


def graph(*steps: tuple[str, tuple[int, ...], float]) -> ValueGraph:
    """Return a graph of numbers, and of operations with a number."""
    nodes = [
        Node(
            index=index,
            lines=lines,
            operation=operation,
            value=torch.tensor(number) if operation == "number" else torch.ones(3),
            parents=(),
            numbers=() if operation == "number" else (number,),
        )
        for index, (operation, lines, number) in enumerate(steps)
    ]
    return ValueGraph(tuple(nodes), {})


def line_in(own: ValueGraph, mistaken: ValueGraph, right: ValueGraph) -> int | None:
    """Return the line in the file; the changed line of the reference is line 5."""
    recorded = RecordedCase(0, cast(Any, None), own, [right], ("out",), is_right_alone=False)
    changed = [node for node in mistaken.nodes if node.line == 5]
    lines = lines_of_number(recorded, changed, SOURCE)
    return None if lines is None else lines[1]


RIGHT = graph(("div", (5,), 2.0))
WRONG = graph(("div", (5,), 12**0.5))
GIVEN = ("number", (3, 10), 12**-0.5)
STORED = ("number", (4, 10), 12**-0.5)
USED = ("mul", (7,), 12**-0.5)


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        pytest.param([GIVEN, STORED, USED], 10, id="the call that gives it"),
        pytest.param([STORED, USED], 4, id="the line that stores it"),
        pytest.param([USED], 7, id="the line that uses it"),
        pytest.param([GIVEN, STORED], None, id="a number that is not used"),
        pytest.param([("number", (3,), 12**-0.5), USED], None, id="a number of the case"),
        pytest.param([("mul", (7,), 3.0)], None, id="another number"),
    ],
)
def test_wrong_number_is_found_where_it_appears(
    steps: list[tuple[str, tuple[int, ...], float]], line: int | None
) -> None:
    """A factor is the reciprocal of a divisor."""
    assert line_in(graph(*steps), WRONG, RIGHT) == line


def test_number_of_right_answers_is_not_wrong() -> None:
    """The mistake changes another thing on the line."""
    assert line_in(graph(STORED, USED), WRONG, WRONG) is None
