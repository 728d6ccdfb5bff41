"""Tests of the graph of a recorded run."""

import torch

from trainer.diagnosis.value_graph import graph_of, leading_to
from trainer.worker.protocol import RunReply, Step


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
