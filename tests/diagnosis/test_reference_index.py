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


def test_values_with_equal_figures_are_both_right(grader: Grader) -> None:
    """The first case of RoPE rotates unit vectors, whose even and odd features look alike."""
    challenge = CHALLENGES["rope_interleaved"]
    case_set = grader.case_set(challenge, SEED).select([0])
    graph = content_graph(case_set, pack_reader.solution(challenge), "solution.py")
    assert graph is not None
    even, odd = ([node for node in graph.nodes if node.name == name] for name in "ab")
    assert even[0].features == odd[0].features
    index = ReferenceIndex([graph], case_set.cases[0].sizes)
    assert index.has(even[0])
    assert index.has(odd[0])
