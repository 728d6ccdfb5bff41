"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import ValueGraph, content_graph
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


def test_the_shelf_holds_what_led_to_outputs(grader: Grader) -> None:
    """What a right answer makes and throws away vouches for nothing."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED).only([0])
    wasteful = pack_reader.solution(CHALLENGES["sdpa"]).replace(
        "scores = q @", "thrown_away = q.exp()\n    scores = q @"
    )
    graph = content_graph(case_set, wasteful, "solution.py")
    assert graph is not None
    (thrown,) = [node for node in graph.nodes if node.name == "thrown_away"]
    sizes = case_set.cases[0].sizes
    assert not ReferenceIndex([graph], sizes).has(thrown)
    assert ReferenceIndex([ValueGraph(graph.nodes, {})], sizes).has(thrown)
