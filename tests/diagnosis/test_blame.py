"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import torch

from trainer.diagnosis.blame import Blamer
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import ValueGraph, graph_of
from trainer.worker.protocol import RunReply, Step


def test_a_number_is_followed_back_to_a_line_of_the_file() -> None:
    """Where an output is no tensor: back from what the known mistake makes to the first step whose parents are right; what has no line is passed over."""

    def graph(*steps: tuple[list[int], int, list[int]]) -> ValueGraph:
        told = RunReply(
            steps=[
                Step(lines, "number", place, parents)
                for place, (lines, _, parents) in enumerate(steps)
            ]
        )
        return graph_of(told, [torch.tensor(value) for _, value, _ in steps])

    right = graph(([1], 3001, []), ([2], 9004, [0]))
    wrong = graph(([1], 3001, []), ([2], 7007, [0]))
    mine = graph(([1], 3001, []), ([], 4444, [0]), ([3], 5555, [0]), ([4], 7007, [1, 2]))
    found = Blamer(Matching(mine, ReferenceIndex([right], {}), right, wrong)).divergence([])
    assert found is not None
    assert found.line == 3
