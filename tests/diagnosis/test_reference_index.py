"""Tests of the index of right values."""

from attn_drill.diagnosis._recorded_case import ReferenceIndex
from attn_drill.diagnosis._value_graph import ValueGraph, content_graph
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, SEED


def test_index_has_only_values_that_lead_to_outputs(grader: Grader) -> None:
    """A value that a right answer computes but does not use is not in the index."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED).select([0])
    wasteful = pack_reader.solution(CHALLENGES["sdpa"]).replace(
        "scores = q @", "unused = q.exp()\n    scores = q @"
    )
    graph = content_graph(case_set, wasteful, "solution.py")
    assert graph is not None
    (unused,) = [node for node in graph.nodes if node.name == "unused"]
    sizes = case_set.cases[0].sizes
    assert not ReferenceIndex([graph], sizes).has(unused)
    assert ReferenceIndex([ValueGraph(graph.nodes, {})], sizes).has(unused)
