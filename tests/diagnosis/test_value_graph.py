"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

from trainer.diagnosis.value_graph import graph_of, leading_to
from trainer.worker.protocol import RunReply, Step


def test_a_lying_trail_points_backwards() -> None:
    """Steps of a worker that point at later ones, or at tensors that are not there, are read without harm."""
    told = RunReply(
        steps=[Step([1], "mul", 7, [1, 0, -1, 5]), Step([2], "mul", -1, [0])], made_by={"out": 99}
    )
    graph = graph_of(told, [])
    first, second = graph.nodes
    assert (first.parents, second.parents) == ((), (first,))
    assert graph.outputs == {}
    assert leading_to([second]) == (first, second)
