"""Tests of the graph of a recorded run."""

import torch

from attn_drill.diagnosis._value_graph import (
    comparable_parents,
    features,
    graph_of,
    have_same_value,
    leading_to,
)
from attn_drill.worker.protocol import RunReply, Step
from tests.support.diagnosis import SIZES, GraphBuilder


def test_invalid_steps_of_a_worker_are_ignored() -> None:
    """Parents that are later steps, and tensors that do not exist, do no harm."""
    run_reply = RunReply(
        steps=[Step([1], "mul", 7, [1, 0, -1, 5]), Step([2], "mul", -1, [0])], made_by={"out": 99}
    )
    graph = graph_of(run_reply, [])
    first, second = graph.nodes
    assert (first.parents, second.parents) == ((), (first,))
    assert graph.outputs == {}
    assert leading_to([second]) == (first, second)


def test_memory_that_nothing_has_written_has_no_value() -> None:
    """Its entries are those of an earlier tensor, so an equality with another value is chance."""
    tensors = [torch.ones(8), torch.ones(8)]
    run_reply = RunReply(
        steps=[Step([1], "new_empty_strided", 0, []), Step([2], "zeros", 1, [])], made_by={}
    )
    unwritten, written = graph_of(run_reply, tensors).nodes
    assert (unwritten.value, written.value is not None) == (None, True)


def test_empty_tensor_cannot_be_recognised() -> None:
    """So it is never the first wrong value."""
    assert features(torch.zeros(2, 0)) is None
    assert features(torch.zeros(0, dtype=torch.bool)) is None


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
