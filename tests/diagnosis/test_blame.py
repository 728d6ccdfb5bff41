"""Tests of the search for the first wrong line."""

import torch

from trainer.diagnosis.blame import Blamer
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import ValueGraph, graph_of
from trainer.worker.protocol import RunReply, Step


def test_wrong_scalar_is_followed_back_to_a_line_of_the_file() -> None:
    """The search goes back from the scalar of the known mistake to a node with right parents.

    The node without a line is skipped.
    """

    def graph(*steps: tuple[list[int], int, list[int]]) -> ValueGraph:
        run_reply = RunReply(
            steps=[
                Step(lines, "number", tensor_id, parents)
                for tensor_id, (lines, _, parents) in enumerate(steps)
            ]
        )
        return graph_of(run_reply, [torch.tensor(value) for _, value, _ in steps])

    right = graph(([1], 3001, []), ([2], 9004, [0]))
    wrong = graph(([1], 3001, []), ([2], 7007, [0]))
    submission = graph(([1], 3001, []), ([], 4444, [0]), ([3], 5555, [0]), ([4], 7007, [1, 2]))
    found = Blamer(Matching(submission, ReferenceIndex([right], {}), right, wrong)).divergence([])
    assert found is not None
    assert found.line == 3
