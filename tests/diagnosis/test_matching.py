"""Tests of the decision which results of a submission are right."""

import torch

from attn_drill.diagnosis._recorded_case import Matching, ReferenceIndex
from attn_drill.diagnosis._value_graph import Node, ValueGraph
from tests.support.graphs import GraphBuilder

X = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
SCALED, DOUBLED = X.exp() / 3, X.exp() * 2


def run_of(result: torch.Tensor) -> tuple[ValueGraph, Node, Node]:
    """Return a graph of an exponential and a result, and both nodes."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    exponential = builder.add("exp", X.exp(), x, lines=(2,))
    last = builder.add("mul", result, exponential, lines=(3,))
    return builder.graph(out=last), exponential, last


def test_node_is_right_if_a_right_answer_has_its_value() -> None:
    """A value of the reference is right in any layout. Another value is wrong."""
    reference, _, _ = run_of(SCALED)
    graph, exponential, last = run_of(DOUBLED)
    matching = Matching(graph, ReferenceIndex([reference], {}))
    assert matching.is_right(exponential)
    assert not matching.is_right(last)
    assert not matching.is_known_wrong(last), "no mistake is known"


def test_wrong_node_of_a_known_mistake_is_recognised() -> None:
    """The mistake makes its value, and no right answer does."""
    reference, _, _ = run_of(SCALED)
    mistaken, _, _ = run_of(DOUBLED)
    graph, exponential, last = run_of(DOUBLED)
    matching = Matching(graph, ReferenceIndex([reference], {}), mistaken)
    assert matching.is_known_wrong(last)
    assert not matching.is_known_wrong(exponential)
