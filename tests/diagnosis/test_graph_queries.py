"""Tests of questions about the graph of a run."""

import torch

from tests.support.diagnosis import SIZES
from tests.support.graphs import GraphBuilder
from trainer.diagnosis.graph_queries import (
    comparable_parents,
    have_same_value,
    kind_of,
)


def test_operations_of_a_kind_replace_each_other() -> None:
    """Matrix products are a kind. Other operations keep their own name."""
    assert kind_of("bmm") == kind_of("addmm") == "product"
    assert kind_of("tanh") == "tanh"


def test_ancestors_without_a_value_are_skipped() -> None:
    """The nearest comparable ancestor of a node is behind a node that was not sent."""
    builder = GraphBuilder()
    given = builder.add("input x", torch.randn(4, 3))
    missing = builder.add("exp", None, given)
    node = builder.add("neg", torch.randn(4, 3), missing)
    assert comparable_parents(node) == [given]


def test_nodes_have_the_same_value_in_another_layout() -> None:
    """Transposed heads are the same value. Doubled heads are another value."""
    builder = GraphBuilder()
    heads = torch.randn(2, 4, 7, 3)
    node = builder.add("mm", heads)
    transposed = builder.add("mm", heads.transpose(1, 2).reshape(2, 7, 12))
    doubled = builder.add("mm", 2 * heads)
    assert have_same_value(node, transposed, SIZES)
    assert not have_same_value(node, doubled, SIZES)
