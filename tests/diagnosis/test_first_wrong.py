"""Tests of the search for the first wrong value."""

import pytest
import torch

from attn_drill.diagnosis._first_wrong import first_wrong, wrong_entries
from attn_drill.diagnosis._recorded_case import Matching, ReferenceIndex
from attn_drill.diagnosis._value_graph import ValueGraph
from tests.support.diagnosis import GraphBuilder

GENERATOR = torch.Generator().manual_seed(2)
QUERY, KEY = (torch.randn(4, 4, generator=GENERATOR) for _ in range(2))


def weights_of(step: str, *, is_wrong: bool = False) -> ValueGraph:
    """Return the graph of attention weights, with a step before the softmax on line 4."""
    builder = GraphBuilder()
    query, key = builder.add("input query", QUERY), builder.add("input key", KEY)
    value = QUERY @ KEY * (3 if is_wrong else 1)
    node = builder.add("mm", value, query, key, lines=(2,))
    if step:
        value = {"scale": value / 2, "tanh": value.tanh()}[step]
        node = builder.add({"scale": "div", "tanh": "tanh"}[step], value, node, lines=(3,))
    weights = builder.add("_softmax", value.softmax(-1), node, lines=(4,))
    return builder.graph(out=weights)


def matched(graph: ValueGraph, right: ValueGraph) -> Matching:
    """Match a graph with the graph of a right answer."""
    return Matching(graph, ReferenceIndex([right], {}))


@pytest.mark.parametrize("step", ["scale", "tanh"])
def test_missing_step_is_between_its_operand_and_the_next_step(step: str) -> None:
    """The product is right, but right answers do not use it in a softmax directly."""
    found = first_wrong(matched(weights_of(""), weights_of(step)), ["out"])
    assert found is not None
    assert (found.lines, found.is_early) == ((4,), True)
    assert [operand.line for operand in found.operands] == [2]


def test_step_that_right_answers_do_not_have_is_wrong_and_not_missing() -> None:
    """The first wrong value is the result of the step that was added."""
    found = first_wrong(matched(weights_of("tanh"), weights_of("")), ["out"])
    assert found is not None
    assert (found.node.operation, found.is_early) == ("tanh", False)


def test_first_wrong_value_has_right_operands() -> None:
    """Later wrong values follow from it. Inputs are no operands with a line."""
    matching = matched(weights_of("scale", is_wrong=True), weights_of("scale"))
    found = first_wrong(matching, ["out"])
    assert found is not None
    assert (found.lines, found.operands) == ((2,), ())
    assert wrong_entries(matching, ["out"]) == [found.node]
    assert first_wrong(matching, ["nothing"]) is None


def test_line_that_is_right_for_another_caller_is_not_blamed() -> None:
    """A function on line 9 doubles. It is right in the call on line 2, and wrong on line 3."""

    def doubled(*, second: bool) -> ValueGraph:
        builder = GraphBuilder()
        query, key = builder.add("input query", QUERY), builder.add("input key", KEY)
        first = builder.add("mul", 2 * QUERY, query, lines=(9, 2))
        other = builder.add("mul", 2 * KEY, key, lines=(9, 3)) if second else key
        value = 2 * KEY if second else KEY
        out = builder.add("mm", 2 * QUERY @ value, first, other, lines=(4,))
        return builder.graph(out=out)

    found = first_wrong(matched(doubled(second=True), doubled(second=False)), ["out"])
    assert found is not None
    assert found.lines == (3,)


def test_wrong_number_is_the_last_if_all_others_are_right() -> None:
    """A function of numbers that is one expression has no other line."""

    def product(*numbers: int) -> ValueGraph:
        builder = GraphBuilder()
        for number in numbers:
            builder.add("number", torch.tensor(number), lines=(2,))
        return builder.graph()

    found = first_wrong(matched(product(2, 3, 5), product(2, 3, 6)), ["out"])
    assert found is not None
    assert found.node.scalar == 5
    assert first_wrong(matched(product(2, 4, 5), product(2, 3, 6)), ["out"]) is None


def test_part_of_a_right_value_is_not_blamed() -> None:
    """A loop over a right value takes parts that the right answer does not have."""

    def summed(*, is_loop: bool) -> ValueGraph:
        builder = GraphBuilder()
        query = builder.add("input query", QUERY)
        part = builder.add("unbind", QUERY[0], query, lines=(2,)) if is_loop else query
        value = QUERY[0] * 3 if is_loop else QUERY.exp()
        return builder.graph(out=builder.add("mul", value, part, lines=(3,)))

    found = first_wrong(matched(summed(is_loop=True), summed(is_loop=False)), ["out"])
    assert found is not None
    assert found.lines == (3,)


def test_maker_of_an_opposite_mask_is_found() -> None:
    """Both notations of a mask are one value, so the output is compared with the right output."""
    mask = torch.eye(4, dtype=torch.bool)

    def masked(value: torch.Tensor) -> ValueGraph:
        builder = GraphBuilder()
        query = builder.add("input query", QUERY)
        made = builder.add("le", value, query, lines=(2,))
        return builder.graph(out=builder.add("expand", value, made, lines=(3,)))

    found = first_wrong(matched(masked(~mask), masked(mask)), ["out"])
    assert found is not None
    assert found.lines == (2,)
